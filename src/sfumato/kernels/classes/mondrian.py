"""Cutting a table into boxes, top down: what becomes of the best cuts, and dividing parts along them.

Small parts are looked at further ahead: each of their best cuts is followed to the end, and what is lost then decides
(on Adult the final loss is another 12 to 15 % lower). Sizes, parts, lists and cuts are those of `cuts.py`.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.classes.cuts import BEST, best_cuts


@kernel
def divide_list(members, low, high, side, spare):
    """Put the items of the first side before the others, keeping their order; return where the others begin."""
    at = low
    behind = 0
    for position in range(low, high):
        item = members[position]
        if side[item]:
            members[at] = item
            at += 1
        else:
            spare[behind] = item
            behind += 1
    for position in range(behind):
        members[at + position] = spare[position]
    return at


@kernel
def divide_part(codes, lists, low, high, cut, side, spare):
    """Divide the lists of a part along a cut (3,); return where the second side begins.

    side (n,) and spare (high - low,) are space to work in.
    """
    q = codes.shape[1]
    for at in range(low, high):
        side[lists[cut[0], at]] = cut[1] <= at < cut[2]
    for a in range(q):
        if codes[lists[a, low], a] != codes[lists[a, high - 1], a]:
            divide_list(lists[a], low, high, side, spare)
    return divide_list(lists[q], low, high, side, spare)


@kernel
def propose(table, conditions, lists, parts, chosen, rule, follow, desk, scores, cuts, found, first, step):
    """Find the best cuts of every `step`-th part.  (p, 2), (p,) -> (p, b), (p, b, 3), (p,) in place.

    Each cut of a part of at most `follow` items is followed to the end, taking the best cut from there on: the cuts
    then stand in the order of what is lost in the end.
    """
    n_parts, b = scores.shape
    q = table.attribute.shape[0]
    score = np.zeros(1, np.float64)
    cut = np.zeros((1, 3), np.int64)
    outcome = np.zeros(b, np.float64)
    spare = np.zeros(follow, np.int32)
    for part in range(first, n_parts, step):
        low, high = parts[part, 0], parts[part, 1]
        found[part], loss = best_cuts(
            table, conditions, lists, low, high, chosen[part], rule, desk, scores[part], cuts[part]
        )
        if found[part] < 2 or high - low > follow or rule != BEST:
            continue
        least = np.inf
        for i in range(found[part]):
            for a in range(q + 1):
                for at in range(high - low):
                    desk.lists[a, at] = lists[a, low + at]
            desk.stack[0, 0] = 0
            desk.stack[0, 1] = high - low
            cut[0, 0] = cuts[part, i, 0]
            cut[0, 1] = cuts[part, i, 1] - low
            cut[0, 2] = cuts[part, i, 2] - low
            more = np.int64(1)  # `cut` is what the part on top of the stack is divided by
            open_parts = 1
            outcome[i] = 0.0
            while open_parts > 0 and outcome[i] <= least:
                begin, end = desk.stack[open_parts - 1, 0], desk.stack[open_parts - 1, 1]
                if more == 0:
                    more, loss = best_cuts(
                        table, conditions, desk.lists, begin, end, np.int64(-1), rule, desk, score, cut
                    )
                if more == 0:
                    outcome[i] += loss
                    open_parts -= 1
                    continue
                middle = divide_part(table.codes, desk.lists, begin, end, cut[0], desk.side, spare)
                desk.stack[open_parts - 1, 1] = middle
                desk.stack[open_parts, 0] = middle
                desk.stack[open_parts, 1] = end
                open_parts += 1
                more = np.int64(0)
            least = min(least, outcome[i])
        for i in range(1, found[part]):
            for j in range(i, 0, -1):
                if outcome[j] < outcome[j - 1]:
                    outcome[j], outcome[j - 1] = outcome[j - 1], outcome[j]
                    scores[part, j], scores[part, j - 1] = scores[part, j - 1], scores[part, j]
                    for x in range(3):
                        cuts[part, j, x], cuts[part, j - 1, x] = cuts[part, j - 1, x], cuts[part, j, x]


@kernel
def divide(codes, lists, parts, cuts, side, spare, middle, first, step):
    """Divide every `step`-th part along its cut.  (p, 2), (p, 3) -> lists (q + 1, n) and middle (p,) in place."""
    for part in range(first, parts.shape[0], step):
        low, high = parts[part, 0], parts[part, 1]
        middle[part] = divide_part(codes, lists, low, high, cuts[part], side, spare[low:high])
