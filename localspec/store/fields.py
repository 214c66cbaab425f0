"""Typed access to the key-value pairs of a GGUF: a key of the wrong type is damage, not a crash."""

from dataclasses import dataclass

from localspec.store.gguf_reader import Array, Damage, Value

MAX_SHORT = 512
"""Arrays up to this length (one entry a layer; llama.cpp has at most 512) count as small values."""

Small = int | float | bool | str | tuple[int | float | bool | str, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """The pairs of one file. A key that is not there reads as None.

    Every reader raises `Damage` if the value has another type than it should.
    """

    values: dict[str, Value]

    def integer(self, key: str) -> int | None:
        """A whole number, not negative."""
        value = self.values.get(key)
        if value is None:
            return None
        if type(value) is not int:
            raise Damage(f"{key} is not a whole number")
        if value < 0:
            raise Damage(f"{key} is negative")
        return value

    def number(self, key: str) -> float | None:
        """Any number."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Damage(f"{key} is not a number")
        return value

    def flag(self, key: str) -> bool | None:
        """True or False."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise Damage(f"{key} is neither true nor false")

    def text(self, key: str) -> str | None:
        """A text."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        raise Damage(f"{key} is not a text")

    def array(self, key: str) -> Array | None:
        """An array."""
        value = self.values.get(key)
        if value is None or isinstance(value, Array):
            return value
        raise Damage(f"{key} is not a list")

    def per_layer(self, key: str) -> int | tuple[int, ...] | None:
        """One whole number for all layers, or one for each."""
        value = self.values.get(key)
        if not isinstance(value, Array):
            return self.integer(key)
        if value.of_strings or value.count > MAX_SHORT:
            raise Damage(f"{key} is not a number for each layer")
        numbers = value.numbers()
        if any(isinstance(number, float) or number < 0 for number in numbers):
            raise Damage(f"{key} is not a whole number for each layer")
        return tuple(int(number) for number in numbers)

    def small(self) -> dict[str, Small]:
        """All pairs but long arrays, with short arrays as tuples."""
        small: dict[str, Small] = {}
        for key, value in self.values.items():
            if not isinstance(value, Array):
                small[key] = value
            elif value.count <= MAX_SHORT and value.of_strings:
                small[key] = tuple(text.decode(errors="replace") for text in value.strings())
            elif value.count <= MAX_SHORT:
                small[key] = value.numbers()
        return small
