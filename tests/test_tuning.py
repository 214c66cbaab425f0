"""Tuning: what it measures, chooses, keeps, and when it does not."""

import io
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from localspec import load, paths
from localspec.engine.margin import MarginDepth
from localspec.load import OtherLoad
from localspec.pair import LocalPair, choose, located
from localspec.params import Threads
from localspec.runtime import Runtime, Wishes
from localspec.tuned import Tuned
from localspec.tuning import Tuner, _fewest, depth_costs
from localspec.ui.tuned import draw_tuned
from tests.tiny import TinyModels, Variant


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing else ran here: tests share their machine."""
    monkeypatch.setattr(OtherLoad, "share", lambda self: 0.05)


def pair(tiny: TinyModels, name: str = "llama") -> LocalPair:
    return located(choose(str(tiny(name)), str(tiny("llama", Variant(eps=0.05)))))


def tuned(files: LocalPair, budget_s: float = 1.0) -> Tuned:
    tuner = Tuner(files, Wishes(n_ctx=512), budget_s)
    steps = list(tuner.run())
    assert [s.fraction for s in steps] == sorted(s.fraction for s in steps)
    return tuner.report


def kept() -> list[Path]:
    return list((paths.state_dir() / "profiles").glob("*.json"))


@pytest.mark.usefixtures("quiet")
def test_the_next_start_uses_what_was_found(tiny: TinyModels) -> None:
    files = pair(tiny)
    found = tuned(files)
    assert found.stored
    assert len(kept()) == 2
    assert list(found.passes_s) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
    assert {found.chosen.decode, found.chosen.verify} <= found.decode_s.keys()
    assert found.level_s is not None
    assert found.level_s > 0
    assert found.n_turns >= 1
    assert [d.depth for d in found.depths] == list(range(1, 17))
    with Runtime(files, Wishes(n_ctx=512)) as runtime:
        assert runtime.threads == found.chosen
        policy = runtime.engine.depth
        assert isinstance(policy, MarginDepth)
        # of two widths the wider one is never held to be the cheaper one
        assert policy.cost.pass_s(17) == pytest.approx(found.passes_s[17])
        assert policy.cost.pass_s(1) == pytest.approx(min(found.passes_s.values()), rel=1e-6)
        assert policy.cost.level_s("draft-model", 1.0) == pytest.approx(found.level_s)


def test_a_busy_machine_is_measured_and_nothing_is_kept(
    tiny: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OtherLoad, "share", lambda self: 0.5)
    found = tuned(pair(tiny))
    assert not found.stored
    assert not kept()
    assert "other programs used 50 % of the processor" in drawn(found)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", ["lfm2", "falcon-h1"])
def test_a_target_with_state_is_tuned_alike(tiny: TinyModels, name: str) -> None:
    found = tuned(pair(tiny, name))
    assert found.stored
    assert list(found.passes_s) == list(range(1, 18))
    assert found.level_s is not None


def test_break_even_is_where_a_round_brings_what_it_costs() -> None:
    one, two, three = depth_costs({1: 10.0, 2: 15.0, 3: 19.0, 4: 100.0}, 2.5)
    assert one.cost == pytest.approx(1.75)
    assert one.break_even == pytest.approx(0.75)
    assert two.break_even is not None
    assert 1 + two.break_even + two.break_even**2 == pytest.approx(two.cost) == pytest.approx(2.4)
    assert three.break_even is None


def test_fewer_threads_win_a_draw() -> None:
    assert _fewest({1: 3.0, 2: 1.01, 4: 1.0}) == 2
    assert _fewest({1: 3.0, 2: 1.1, 4: 1.0}) == 4


def test_load_of_others_is_seen_and_ones_own_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten seconds on four cores we had 12, others 8, and the rest was idle."""
    clock = {"idle": 100.0, "all": 1000.0, "own": 5.0}
    monkeypatch.setattr(load, "_machine_times", lambda: (clock["idle"], clock["all"]))
    monkeypatch.setattr(load, "_own_time", lambda: clock["own"])
    since = OtherLoad()
    assert since.share() == 0.0
    clock.update(idle=120.0, all=1040.0, own=17.0)
    assert since.share() == pytest.approx(0.2)


def test_the_clocks_of_load_run() -> None:
    idle, everything = load._machine_times()
    own, began = load._own_time(), time.process_time()
    while time.process_time() < began + 0.3:
        pass
    later_idle, later_everything = load._machine_times()
    assert later_everything - everything > later_idle - idle >= 0
    assert load._own_time() - own == pytest.approx(0.3, abs=0.2)


def test_the_command_prints_json_and_only_json(tiny: TinyModels, tmp_path: Path) -> None:
    target, drafter = str(tiny("llama")), str(tiny("llama", Variant(eps=0.05)))
    command = [sys.executable, "-m", "localspec", "tune", "-m", target, "-d", drafter]
    done = subprocess.run(
        [*command, "--budget", "1", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["version"] == 1
    assert found["chosen"].keys() == {"decode", "verify"}
    assert found["gain"]["decode"] > 0
    assert done.stderr == ""


def drawn(found: Tuned) -> str:
    out = io.StringIO()
    draw_tuned(found, Console(file=out, width=80))
    return out.getvalue()


def test_what_was_found_is_said_in_words() -> None:
    passes = {1: 0.100, 2: 0.110, 3: 0.4}
    found = Tuned(
        model="M",
        drafter="d.gguf",
        numerics="exact",
        n_cells=256,
        usual=Threads(4, 4),
        chosen=Threads(2, 4),
        decode_s={2: 0.1, 4: 0.125},
        verify_s={2: 0.3, 4: 0.2},
        verify_rows=3,
        passes_s=passes,
        level_s=0.05,
        reading_s=0.01,
        depths=depth_costs(passes, 0.05),
        alternatives=[],
        n_turns=3,
        others=0.0,
        stored=True,
    )
    text = drawn(found)
    assert "chance" not in text
    assert "--no-profile" in text
    assert "Timed once only" in drawn(replace(found, n_turns=1))
    noisy = drawn(replace(found, others=0.5, stored=False))
    assert "faster" not in noisy
    assert "--no-profile" not in noisy
    assert "Threads chosen: 2 to decode, 4 to verify (25 % faster to decode)" in text
    assert "0.50 of a plain pass" in text
    assert "The easiest depth to pay is 1: its tokens must be accepted in 60 % of cases." in text
    assert "never" in text
    assert max(map(len, text.splitlines())) <= 80
