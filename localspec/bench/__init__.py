"""The benchmark: arms × prompts, interleaved, against plain decoding. Knows no terminal."""
