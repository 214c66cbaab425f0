"""The vocabulary of the tiny models: one token a byte, three specials, unused filler."""

from dataclasses import dataclass

import gguf

N_BYTES = 256
IM_START, IM_END, MASK = 256, 257, 258
NORMAL, CONTROL, UNUSED = 1, 3, 5

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def printable_bytes() -> list[str]:
    """The character that stands for each byte in GPT-2's byte-level BPE, by byte value."""
    kept = {*range(33, 127), *range(161, 173), *range(174, 256)}
    shifted = iter(range(256, 512))
    return [chr(byte) if byte in kept else chr(next(shifted)) for byte in range(N_BYTES)]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a tiny model's tokenizer says; the defaults are what all models share.

    Attributes:
        size: number of tokens, at least 259.
        replaced: (id, text) pairs put in place of the tokens that would stand there.
        bos: id of the beginning-of-sequence token.
        eos: id of the end-of-sequence token.
        add_bos: put `bos` before every text; None leaves the key out.
        add_eos: put `eos` after every text; None leaves the key out.
        type: `tokenizer.ggml.model`: "gpt2", "llama", …
        pre: `tokenizer.ggml.pre`.
    """

    size: int = 288
    replaced: tuple[tuple[int, str], ...] = ()
    bos: int = IM_START
    eos: int = IM_END
    add_bos: bool | None = False
    add_eos: bool | None = None
    type: str = "gpt2"
    pre: str = "gpt-2"

    def tokens(self) -> list[str]:
        """The text of every token, by id."""
        texts = [*printable_bytes(), "<|im_start|>", "<|im_end|>", "<|mask|>"]
        texts += [f"<|fill{token}|>" for token in range(len(texts), self.size)]
        for token, text in self.replaced:
            texts[token] = text
        return texts

    def add_to(self, writer: gguf.GGUFWriter) -> None:
        """Write the tokenizer's keys."""
        n_fill = self.size - N_BYTES - 3
        writer.add_tokenizer_model(self.type)
        writer.add_tokenizer_pre(self.pre)
        writer.add_token_list(self.tokens())
        writer.add_token_types([NORMAL] * N_BYTES + [CONTROL] * 3 + [UNUSED] * n_fill)
        # llama.cpp insists on a merge list; this one can never apply, its result is no token
        writer.add_token_merges(["<|im_start|> <|im_end|>"])
        writer.add_bos_token_id(self.bos)
        writer.add_eos_token_id(self.eos)
        writer.add_mask_token_id(MASK)
        if self.add_bos is not None:
            writer.add_add_bos_token(self.add_bos)
        if self.add_eos is not None:
            writer.add_add_eos_token(self.add_eos)


BYTES = Vocabulary()
