"""The merges of byte-pair encoding that a sentencepiece model implies.

sentencepiece merges the two neighbours whose joint piece has the highest score, the first of equal
ones (Kudo and Richardson 2018, arXiv:1808.06226, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import inf


def ranked_merges(scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """All merges, the first in rank first, as programs need them that have no scores."""
    found = []
    for piece in sorted(scores, key=scores.__getitem__, reverse=True):
        cuts = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
        found += [(left, right) for left, right in cuts if left in scores and right in scores]
    return found


def merged_through(pieces: Iterable[str], scores: Mapping[str, float]) -> set[str]:
    """The pieces that come up while some pieces are put together, with these.

    Text is split into these pieces as before if a vocabulary has no others: merges within a piece
    do not depend on the text around it.
    """
    found: set[str] = set()
    for piece in pieces:
        parts = list(piece)
        found.update(parts)
        while len(parts) > 1:
            joint = [left + right for left, right in pairwise(parts)]
            ranks = [scores.get(one, -inf) for one in joint]
            first = ranks.index(max(ranks))
            if joint[first] not in scores:
                break
            parts[first : first + 2] = [joint[first]]
            found.add(joint[first])
    return {piece for piece in found if piece in scores}
