"""The plain truth for `kernels.folded_tokens`: fold first, then take the tokens."""

from __future__ import annotations

from kernels.reference.fold import fold
from kernels.reference.tokens import token_hash, tokens


def folded_token_hashes(text: str) -> list[int]:
    """The hashes of the tokens of the folded text."""
    return [token_hash(token) for token in tokens(fold(text))]
