"""A margin against who knows that no more is removed than needed: some groups, drawn by a key, are made safer.

Without it, a group that would still be safe with one term more has lost none, and everybody can tell which groups these
are. With it, such a group may be one of those that were drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.term_suppression.merging import Solve
from sfumato.anonymizers.term_suppression.records import Ints
from sfumato.anonymizers.term_suppression.search import UNREACHABLE, Found, groups_as_ranges
from sfumato.data.keystream import Keystream

_WORD = 1 << 32


def drawn(n_groups: int, share: float, key: bytes) -> NDArray[np.bool_]:
    """Return which groups are drawn, (g,), each by itself with the same chance; only the key tells."""
    words = Keystream(key, max(n_groups, 1)).words(max(n_groups, 1))[:n_groups]
    return np.asarray(words < np.uint64(share * _WORD))


def add_margin(
    found: Found, rows: Ints, group_at: Ints, chosen: NDArray[np.bool_], solve: Solve
) -> tuple[Found, NDArray[np.bool_]]:
    """Return answers in which chosen groups are solved by `solve`, a stricter search, where that has an answer.

    rows[i] is in group group_at[i]. Also returns which groups got such an answer, (g,).
    """
    numbers = np.flatnonzero(chosen & (found.status != UNREACHABLE))
    place = np.full(chosen.size, -1, dtype=np.int64)
    place[numbers] = np.arange(numbers.size)
    inside = np.flatnonzero(place[group_at] >= 0)
    safer = np.zeros(chosen.size, dtype=np.bool_)
    if not inside.size:
        return found, safer
    order, start = groups_as_ranges(place[group_at[inside]], numbers.size)
    fresh = solve(rows[inside[order]], start)
    good = fresh.status != UNREACHABLE
    merged: list[Any] = [column.copy() for column in found]
    later: list[Any] = list(fresh)
    for column, new in zip(merged[1:], later[1:], strict=True):
        column[numbers[good]] = new[good]
    changed = rows[inside[good[place[group_at[inside]]]]]
    merged[0][changed] = fresh.kept_bits[changed]
    safer[numbers[good]] = True
    return Found(*merged), safer
