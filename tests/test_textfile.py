"""Files that users name: read whole, or refused with a reason."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.bench.compare import load_report
from localspec.bench.suite import load_suite
from localspec.bench.trace import read_trace
from localspec.errors import LocalspecError
from localspec.textfile import read_text


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path) == "a\r\nb"


def test_no_more_is_read_than_may_be(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 11)
    assert read_text(path, 11) == "x" * 11
    with pytest.raises(OSError, match="larger than"):
        read_text(path, 10)


@pytest.mark.skipif(sys.platform == "win32", reason="no device without an end there")
@pytest.mark.parametrize("read", [load_report, read_trace, lambda path: load_suite(str(path))])
def test_a_file_without_an_end_is_refused(
    read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("textfile._MOST_BYTES", "bench.trace._MOST_BYTES"):
        monkeypatch.setattr(f"localspec.{place}", 1000)
    with pytest.raises(LocalspecError, match="larger than"):
        read(Path("/dev/zero"))
