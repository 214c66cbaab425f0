"""Which value counts where several places name one: flag > recipe > the model file > localspec."""

from collections.abc import Mapping
from dataclasses import fields
from secrets import randbits

from localspec.params import SamplingParams
from localspec.recipe import SamplingDefaults

_IN_FILE = {
    "temperature": "temp",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "repeat_penalty": "penalty_repeat",
}
"""Our names -> the names under general.sampling in a GGUF."""


def sampling_params(
    asked: Mapping[str, float | None],
    recipe: SamplingDefaults | None,
    in_file: Mapping[str, float],
) -> SamplingParams:
    """The sampling of an answer.

    Args:
        asked: what the command line gives, by the names of `SamplingParams`; None where it is silent.
        recipe: the recipe's defaults.
        in_file: `Header.sampling` of the target.

    Returns:
        Parameters with every field decided; a seed that was not asked for is drawn.
    """
    values: dict[str, float] = {"seed": randbits(32)}
    for field in fields(SamplingParams):
        found = asked.get(field.name)
        if found is None and recipe is not None:
            found = getattr(recipe, field.name, None)
        if found is None:
            found = in_file.get(_IN_FILE.get(field.name, ""))
        if found is not None:
            values[field.name] = found
    for whole in ("top_k", "seed"):
        if whole in values:
            values[whole] = int(values[whole])
    return SamplingParams(**values)  # type: ignore[arg-type]
