"""Arms: what can be asked for, and who drafts under each."""

import pytest

from localspec.bench.arm_names import default_arms, parse_arms
from localspec.bench.arms import open_arms
from localspec.engine.depth import FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.margin import MarginDepth
from localspec.errors import UsageError
from localspec.pair import choose, located
from localspec.runtime import Runtime, Wishes
from tests.tiny import TinyModels, Variant


def opened(tiny: TinyModels, drafter: str | None = None, name: str = "llama") -> Runtime:
    drafter = drafter or str(tiny("llama", Variant(eps=0.05)))
    pair = located(choose(str(tiny(name)), drafter))
    return Runtime(pair, Wishes(n_ctx=256, n_threads=1, profile=False))


def names(text: str) -> list[str]:
    return [spec.name for spec in parse_arms(text)]


def test_names() -> None:
    assert names("auto, fixed:04,THRESHOLD:0.50,auto") == [
        "plain",
        "auto",
        "fixed:4",
        "threshold:0.5",
    ]
    assert names("lookup,plain,none") == ["lookup", "plain", "none"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("atuo", "Did you mean auto"),
        ("fixd:4", "Did you mean fixed:4"),
        ("fixed", "Did you mean fixed:4"),
        ("fixed:-1", "fixed:4"),
        ("fixed:65", "fixed:4"),
        ("fixed:x", "fixed:4"),
        ("threshold:2", "threshold:0.5"),
        ("threshold:nan", "threshold:0.5"),
        ("threshold:0.\u0665", "threshold:0.5"),
        ("auto:3", "Arms: plain"),
        (" , ", "Arms: plain"),
    ],
)
def test_unknown_arms(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arms(text)
    assert said in str(caught.value.hint)


def test_who_drafts_and_who_decides(tiny: TinyModels) -> None:
    specs = parse_arms("plain,auto,lookup,none,fixed:3,threshold:0.5")
    with opened(tiny) as runtime:
        arms = open_arms(specs, runtime)
        assert [arm.kind for arm in arms] == [
            "none",
            "draft-model",
            "lookup",
            "draft-model",
            "draft-model",
            "draft-model",
        ]
        kinds = [NoDraft, MarginDepth, MarginDepth, NoDraft, FixedDepth, ThresholdDepth]
        assert [type(arm.policy) for arm in arms] == kinds
        auto, lookup = arms[1], arms[2]
        assert auto.policy is not lookup.policy
        lookup.take_over(runtime)
        assert [d.kind for d in runtime.engine.drafters] == ["grammar", "lookup"]
        assert runtime.engine.drafters[1] is lookup.lookup
        auto.take_over(runtime)
        assert [d.kind for d in runtime.engine.drafters] == ["grammar", "lookup", "draft-model"]
        assert runtime.engine.drafters[1] is auto.lookup


def test_without_a_drafter_file_the_text_drafts(tiny: TinyModels) -> None:
    with opened(tiny, "none") as runtime:
        assert [spec.name for spec in default_arms(runtime.kind)] == ["plain"]
        assert [a.kind for a in open_arms(parse_arms("auto,fixed:2"), runtime)] == [
            "none",
            "lookup",
            "lookup",
        ]
    assert "lookup" not in [spec.name for spec in default_arms("lookup")], "that is auto already"


def test_what_cannot_run_is_refused(tiny: TinyModels) -> None:
    with opened(tiny) as runtime, pytest.raises(UsageError, match="deeper than the 16"):
        open_arms(parse_arms("fixed:17"), runtime)


def test_numbers_with_zeros_before_them() -> None:
    assert [s.name for s in parse_arms("fixed:" + "0" * 5000 + "4,fixed:00")] == [
        "plain",
        "fixed:4",
        "fixed:0",
    ]
    for word in ("fixed:000099", "fixed:" + "9" * 5000, "fixed:", "fixed:٤", "fixed:0x1"):
        with pytest.raises(UsageError):
            parse_arms(word)
