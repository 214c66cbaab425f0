"""Members of an object or arguments of a call, those that are not required left out at will."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from localspec.grammar.lark import Rules, quoted

_MAX_REFS = 32
"""References to references; more are a circle."""
_MOST_STATES = 256
"""Rules for members in any order."""


@dataclass(frozen=True, slots=True)
class Member:
    """One of them: the body that writes it, its key included."""

    body: str
    required: bool


def in_order(rules: Rules, name: str, members: Sequence[Member], separator: str) -> str:
    """The body of these members with a separator between each two that are there.

    Args:
        rules: gets the rules that this takes.
        name: what their names begin with.
        members: in order.
        separator: a text.
    """
    first, rest = '""', '""'
    for i in reversed(range(len(members))):
        body, required = members[i].body, members[i].required
        there = rules.add(f"{name}_m{i}", body)
        begun = f"{there} {rest}"
        first = rules.add(f"{name}_f{i}", begun if required else f"{begun} | {first}")
        further = f"{quoted(separator)} {begun}"
        rest = rules.add(f"{name}_r{i}", further if required else f"({further} | {rest})")
    return first


def in_any_order(rules: Rules, name: str, members: Sequence[Member]) -> str:
    """The body of these members without a separator: each required one once, and as many others as there are.

    A rule for each set of required ones that are to come and each number of others; where that are too many,
    all of them in order.
    """
    there = [rules.add(f"{name}_m{i}", member.body) for i, member in enumerate(members)]
    needed = [i for i, member in enumerate(members) if member.required]
    optional = [there[i] for i, member in enumerate(members) if not member.required]
    if (len(optional) + 1) << len(needed) > _MOST_STATES:
        return " ".join(there[i] if m.required else f"{there[i]}?" for i, m in enumerate(members))
    for missing, left in product(range(1 << len(needed)), range(len(optional) + 1)):
        ways = [f"{one} {name}_s{missing}_{left - 1}" for one in optional if left]
        ways += [
            f"{there[i]} {name}_s{missing & ~(1 << k)}_{left}"
            for k, i in enumerate(needed)
            if missing & (1 << k)
        ]
        rules.add(f"{name}_s{missing}_{left}", " | ".join(ways if missing else ['""', *ways]))
    return f"{name}_s{(1 << len(needed)) - 1}_{len(optional)}"


def properties(schema: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """The schemas of an object's members, by key."""
    found = schema.get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {str(key): one if isinstance(one, Mapping) else {} for key, one in found.items()}


def required_keys(schema: Mapping[str, object]) -> frozenset[str]:
    """The keys that must be there."""
    found = schema.get("required")
    return frozenset(map(str, found)) if isinstance(found, Sequence) else frozenset()


def resolved(schema: Mapping[str, object], root: Mapping[str, object]) -> Mapping[str, object]:
    """The schema that a local `$ref` names; the schema itself where it is none."""
    for _ in range(_MAX_REFS):
        ref = schema.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#"):
            return schema
        found: object = root
        for key in ref.lstrip("#/").split("/") if ref.strip("#/") else ():
            key = key.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return {}
        schema = found
    return {}


def with_definitions(
    schema: Mapping[str, object], root: Mapping[str, object]
) -> Mapping[str, object]:
    """A part of a schema that brings the definitions it may refer to."""
    shared = {key: root[key] for key in ("$defs", "definitions") if key in root}
    return {**schema, **shared}
