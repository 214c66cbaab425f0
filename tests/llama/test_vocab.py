"""Text to ids and back, with the library's own tokenizer."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localspec.llama.model import LlamaModel
from tests.tiny import TinyModels


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text())
def test_any_text_survives(tiny: TinyModels, text: str) -> None:
    """Half characters, control characters, lone surrogates: bytes in, the same bytes out."""
    with LlamaModel(tiny("llama"), use_extra_bufts=False) as model:
        vocab = model.vocab
        ids = vocab.tokenize(text, add_bos=False, parse_special=False)
        data = b"".join(vocab.piece(token) for token in ids)
        assert data == text.encode("utf-8", errors="replace")


def test_markers_are_tokens_only_where_wanted(tiny: TinyModels) -> None:
    with LlamaModel(tiny("llama"), use_extra_bufts=False) as model:
        vocab = model.vocab
        marker = "<|im_end|>"
        assert len(vocab.tokenize(marker, add_bos=False, parse_special=True)) == 1
        assert len(vocab.tokenize(marker, add_bos=False, parse_special=False)) == len(marker)
        assert vocab.eos in vocab.ends
        assert vocab.text(vocab.eos) == marker
        assert vocab.text(-1) == ""
