"""The plain truth for `kernels.spots`, one document at a time."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.reference.shingles import mix, polynomial

CONTENT, ANTECEDENT = 0, 2


def chains_of(
    tokens: Sequence[int], roles: Sequence[int], length: int, distance: int
) -> list[list[int]]:
    """The antecedent and its chain, as tokens, for each spot."""
    spots = []
    for place, role in enumerate(roles):
        if role == ANTECEDENT:
            following = [
                token
                for token, is_a in zip(tokens[place:], roles[place:], strict=True)
                if is_a == CONTENT
            ]
            chain = following[distance - 1 :: distance][:length]
            if len(chain) == length:
                spots.append([tokens[place], *chain])
    return spots


def spot_signatures(
    tokens: Sequence[int], roles: Sequence[int], length: int, distance: int
) -> list[int]:
    """A number for each spot."""
    return [mix(polynomial(spot)) for spot in chains_of(tokens, roles, length, distance)]
