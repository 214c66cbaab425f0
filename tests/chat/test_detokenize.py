"""Characters that are spread over tokens come out whole, and once."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.detokenize import Utf8Stream


def test_half_a_character_waits_for_the_rest() -> None:
    stream, data = Utf8Stream(), "é😀".encode()
    assert [stream.feed(data[i : i + 1]) for i in range(len(data))] == ["", "é", "", "", "", "😀"]
    assert stream.finish() == ""


def test_what_is_no_utf8_is_replaced_and_the_rest_goes_on() -> None:
    stream = Utf8Stream()
    assert stream.feed(b"a\xffb") == "a\ufffdb"
    assert stream.feed(b"\xf0\x9f") + stream.feed(b"c") == "\ufffdc"
    assert stream.feed(b"\xe2\x82") + stream.finish() == "\ufffd"


@given(data=st.binary(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=8))
def test_cutting_the_bytes_anywhere_changes_nothing(data: bytes, cuts: list[int]) -> None:
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    stream = Utf8Stream()
    text = "".join(stream.feed(data[a:b]) for a, b in itertools.pairwise(places))
    assert text + stream.finish() == data.decode("utf-8", errors="replace")
