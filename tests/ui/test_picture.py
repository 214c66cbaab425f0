"""The picture of a run shows its events, and refuses what is none."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

from localspec.cli.records import event_record
from tests.ui.screen import finished, streamed

SCRIPT = Path(__file__).parents[2] / "scripts" / "picture"


def picture(events: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script on lines of events."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], input=events, capture_output=True, text=True,
        encoding="utf-8", check=False, timeout=30,
    )  # fmt: skip


def test_picture_of_a_run(tmp_path: Path) -> None:
    """Guards the answer, the colour of its drafts, and the figures."""
    target = tmp_path / "run.svg"
    events = [*streamed("Hello [bold]world"), finished()]
    lines = "".join(json.dumps(event_record(event)) + "\n" for event in events)
    done = picture(lines, "Say hello.", str(target))
    assert done.returncode == 0, done.stderr
    text = unescape(re.sub("<[^>]*>", "", target.read_text(encoding="utf-8"))).replace("\xa0", " ")
    assert "Say hello." in text
    assert re.sub(r"\s", "", "Hello [bold]world") in re.sub(r"\s", "", text)
    assert "23.4 tokens/s · 1.85 × plain · 87 % accepted" in text
    styles = set(re.findall(r"-r\d+ { fill: (#\w+)", target.read_text(encoding="utf-8")))
    assert len(styles) >= 3


def test_what_is_no_run(tmp_path: Path) -> None:
    """Guards against a traceback, and against a picture of nothing."""
    target = tmp_path / "run.svg"
    for events, arguments in [("", ()), ("", ("x", str(target))), ("no json", ("x", str(target)))]:
        done = picture(events, *arguments)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "localspec run --jsonl" in done.stderr
    assert not target.exists()
