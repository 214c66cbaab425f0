"""The room on a disk is asked for once, for all files that go there."""

from pathlib import Path

import pytest

from localspec.errors import OutOfResourcesError
from localspec.store import disk


def test_free_space_of_a_folder_that_will_be_made(tmp_path: Path) -> None:
    assert disk.free_bytes(tmp_path / "not" / "yet" / "there") > 0


def test_files_of_one_disk_are_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a pair may fit, and the two not."""
    monkeypatch.setattr(disk, "free_bytes", lambda folder: disk.MARGIN + 100)
    disk.check_space([(tmp_path / "a", 100)])
    with pytest.raises(OutOfResourcesError) as caught:
        disk.check_space([(tmp_path / "a", 60), (tmp_path / "b", 60)])
    assert caught.value.exit_code == 5
    assert "HF_HOME" in str(caught.value.hint)


def test_nothing_to_fetch_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda folder: 0)
    disk.check_space([(tmp_path, 0)])
