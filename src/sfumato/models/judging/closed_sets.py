"""Every rule `antecedent -> sensitive item` of a table of sets, by closed antecedents: the loops behind an audit.

Fix a sensitive item e. Whatever an intruder knows of a record with e, the intersection of all records that hold it
together with e is known just as well, occurs as often with e and at most as often without: so its confidence is the
highest. Only such intersections are looked at, each once, whatever the length of records (closed sets, listed by
prefix-preserving extension after Uno et al., 2004).

These loops belong to the audit alone: what makes a release must not help to judge it.

Sizes: d distinct records, v items, n records. Record r holds items[start[r]:start[r + 1]], ascending, weight[r] times;
tids[tid_start[i]:tid_start[i + 1]] are the records with item i. Of s records that hold an antecedent, most[s] may hold
the sensitive item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

_PATIENCE = 2_000_000  # closed sets after which one unsafe rule is enough of an answer


class Records(NamedTuple):
    """Distinct records with their weights, and where each item occurs."""

    start: NDArray[np.int64]  # (d + 1,)
    items: NDArray[np.int32]
    weight: NDArray[np.int64]  # (d,)
    tid_start: NDArray[np.int64]  # (v + 1,)
    tids: NDArray[np.int32]


class Found(NamedTuple):
    """What a search came across. The worst rule has the highest confidence, and is the first such one."""

    rules: int  # closed rules judged
    unsafe: int
    complete: bool  # False: stopped early, with more than enough unsafe rules
    hits: int  # records with the antecedent and the sensitive item of the worst rule
    support: int  # records with its antecedent; 0 when there is no rule
    item: int  # its sensitive item
    antecedent: NDArray[np.int32]


class _Desk(NamedTuple):
    """Room for the search. A level has a closed set, candidates (items that lead further) and the members of each."""

    held: NDArray[np.int64]  # (v,): by how many members each item is held; 0 between levels
    place: NDArray[np.int64]  # (v,)
    closed: NDArray[np.int32]
    in_set: NDArray[np.bool_]  # (v,): False between levels
    sets: NDArray[np.int32]
    candidates: NDArray[np.int32]
    member_start: NDArray[np.int64]
    members: NDArray[np.int32]
    level: NDArray[np.int64]  # (4, levels): where each begins in these, and which candidate is next


SETS, CANDIDATES, MEMBERS, FOLLOWING = 0, 1, 2, 3  # rows of `level`
RULES, UNSAFE, WORST_HITS, WORST_SUPPORT, WORST_ITEM, WORST_SIZE = 0, 1, 2, 3, 4, 5  # places in a tally


@kernel
def _occurrences(wanted, e, records, enough_hits, enough_support, most, hits):
    """Return how many records hold all `wanted` items but not e, given that `hits` hold e as well.

    Stops as soon as the confidence can neither be unsafe nor beat enough_hits / enough_support.
    """
    start, items, weight, tid_start, tids = records
    rarest = wanted[0]
    for item in wanted:
        if tid_start[item + 1] - tid_start[item] < tid_start[rarest + 1] - tid_start[rarest]:
            rarest = item
    others = 0
    for at in range(tid_start[rarest], tid_start[rarest + 1]):
        record = tids[at]
        place, end = start[record], start[record + 1]
        if end - place < wanted.size:
            continue
        found, has_e = 0, False
        while place < end:
            item = items[place]
            if found < wanted.size:
                if item == wanted[found]:
                    found += 1
                elif item > wanted[found]:
                    break
            elif item > e:
                break
            if item == e:
                has_e = True
            place += 1
        if found < wanted.size:
            continue
        if not has_e:
            others += weight[record]
            support = hits + others
            if hits <= most[support] and hits * enough_support <= enough_hits * support:
                break
    return others


@kernel
def _hopeless(records, sensitive, most, cap):
    """Return how many records surely give a sensitive item away to those who know all the rest of them, up to `cap`."""
    start, items = records.start, records.items
    unsafe = 0
    rest = np.empty(items.size, dtype=np.int32)
    for record in range(start.size - 1):
        size = start[record + 1] - start[record]
        if size < 2:
            continue
        for at in range(start[record], start[record + 1]):
            e = items[at]
            if not sensitive[e]:
                continue
            place = 0
            for other in range(start[record], start[record + 1]):
                if other != at:
                    rest[place] = items[other]
                    place += 1
            if _occurrences(rest[:place], e, records, 0, 1, most, 0) == 0:
                unsafe += 1
                if unsafe >= cap:
                    return unsafe
    return unsafe


@kernel
def _sort(values):
    """Sort in place; NumPy's sorts take seconds to compile."""
    gap = values.size // 2
    while gap:
        for at in range(gap, values.size):
            value = values[at]
            hole = at
            while hole >= gap and values[hole - gap] > value:
                values[hole] = values[hole - gap]
                hole -= gap
            values[hole] = value
        gap = 1 if gap == 2 else gap * 5 // 11


@kernel
def _closure(members, e, start, items, found):
    """Put the items that all member records share, without e, into `found`; return how many."""
    size = 0
    first = members[0]
    for at in range(start[first], start[first + 1]):
        if items[at] != e:
            found[size] = items[at]
            size += 1
    for index in range(1, members.size):
        place, end = start[members[index]], start[members[index] + 1]
        kept = 0
        for at in range(size):
            while place < end and items[place] < found[at]:
                place += 1
            if place < end and items[place] == found[at]:
                found[kept] = found[at]
                kept += 1
        size = kept
    return size


@kernel
def _search(records, sensitive, most, n_records, empty_antecedent, cap, patience, first_item, tally, worst, desk):
    """Judge the closed rules of all sensitive items from `first_item` on, and keep the tally.

    Returns the item to begin with again when the desk is too small for it, -1 when all is done, -2 after stopping
    early. worst: room for the antecedent of the worst rule.
    """
    start, items, weight, tid_start, tids = records
    held, place, closed, in_set, sets, candidates, member_start, members, level = desk
    for e in range(first_item, tid_start.size - 1):
        if not sensitive[e] or tid_start[e] == tid_start[e + 1]:
            continue
        rules, unsafe = tally[RULES], tally[UNSAFE]
        depth, core = -1, -1
        new_members = tids[tid_start[e] : tid_start[e + 1]]
        while True:
            # `new_members`, found by extending the set on top with `core`, become a level of their own if their closure
            # holds nothing before `core` that the set on top does not.
            size = _closure(new_members, e, start, items, closed)
            fresh = True
            if depth >= 0:
                for at in range(level[SETS, depth], level[SETS, depth + 1]):
                    in_set[sets[at]] = True
                for at in range(size):
                    if closed[at] < core and not in_set[closed[at]]:
                        fresh = False
                        break
                for at in range(level[SETS, depth], level[SETS, depth + 1]):
                    in_set[sets[at]] = False
            if fresh and (size > 0 or empty_antecedent):
                hits = 0
                for record in new_members:
                    hits += weight[record]
                rules += 1
                others = n_records - hits
                if size > 0:
                    others = _occurrences(
                        closed[:size], e, records, tally[WORST_HITS], tally[WORST_SUPPORT], most, hits
                    )
                support = hits + others
                if hits > most[support]:
                    unsafe += 1
                if hits * tally[WORST_SUPPORT] > tally[WORST_HITS] * support:
                    tally[WORST_HITS], tally[WORST_SUPPORT] = hits, support
                    tally[WORST_ITEM], tally[WORST_SIZE] = e, size
                    for at in range(size):
                        worst[at] = closed[at]
                if unsafe >= cap or (unsafe > 0 and rules >= patience):
                    tally[RULES], tally[UNSAFE] = rules, unsafe
                    return -2
            if fresh and new_members.size > 1:
                depth += 1
                offset = level[SETS, depth]
                if offset + size > sets.size:
                    return e
                for at in range(size):
                    sets[offset + at] = closed[at]
                    in_set[closed[at]] = True
                level[SETS, depth + 1] = offset + size
                # Candidates in ascending order, with the members that hold each.
                first = level[CANDIDATES, depth]
                n_candidates, total = 0, 0
                for record in new_members:
                    for at in range(start[record], start[record + 1]):
                        item = items[at]
                        if item > core and item != e and not in_set[item]:
                            if held[item] == 0 and first + n_candidates < candidates.size:
                                candidates[first + n_candidates] = item
                                n_candidates += 1
                            held[item] += 1
                            total += 1
                offset = level[MEMBERS, depth]
                if first + n_candidates + depth + 2 > candidates.size or offset + total > members.size:
                    for item in range(held.size):
                        held[item] = 0
                        in_set[item] = False
                    return e
                _sort(candidates[first : first + n_candidates])
                for at in range(first, first + n_candidates):
                    item = candidates[at]
                    member_start[at + depth] = offset
                    place[item] = offset
                    offset += held[item]
                    held[item] = 0
                member_start[first + n_candidates + depth] = offset
                for record in new_members:
                    for at in range(start[record], start[record + 1]):
                        item = items[at]
                        if item > core and item != e and not in_set[item]:
                            members[place[item]] = record
                            place[item] += 1
                for at in range(size):
                    in_set[closed[at]] = False
                level[CANDIDATES, depth + 1] = first + n_candidates
                level[MEMBERS, depth + 1] = offset
                level[FOLLOWING, depth] = first
            while depth >= 0 and level[FOLLOWING, depth] == level[CANDIDATES, depth + 1]:
                depth -= 1
            if depth < 0:
                break
            at = level[FOLLOWING, depth]
            level[FOLLOWING, depth] += 1
            core = candidates[at]
            new_members = members[member_start[at + depth] : member_start[at + depth + 1]]
        tally[RULES], tally[UNSAFE] = rules, unsafe
    return -1


def search_rules(
    records: Records,
    sensitive: NDArray[np.bool_],
    most: NDArray[np.int64],
    *,
    n_records: int,
    empty_antecedent: bool,
    cap: int,
) -> Found:
    """Judge every closed rule, or stop once `cap` unsafe ones were found.

    A table that was never treated is told at once: most of its records give something away to who knows the rest.
    """
    hopeless = _hopeless(records, sensitive, most, cap)
    patience = 0 if hopeless >= cap else _PATIENCE
    longest = int(np.diff(records.start).max(initial=0))
    tally = np.array([0, 0, 0, 1, -1, 0], dtype=np.int64)
    worst = np.empty(longest, dtype=np.int32)
    room, item = 1 << 16, 0
    while item >= 0:
        desk = _make_desk(sensitive.size, longest, room)
        item = _search(records, sensitive, most, n_records, empty_antecedent, cap, patience, item, tally, worst, desk)
        room *= 4
    complete = item == -1
    rules, unsafe, hits, support, worst_item, size = (int(number) for number in tally)
    if not complete:
        unsafe = max(unsafe, hopeless)
    return Found(max(rules, unsafe), unsafe, complete, hits, support if hits else 0, worst_item, worst[:size])


def _make_desk(n_items: int, longest: int, room: int) -> _Desk:
    return _Desk(
        held=np.zeros(n_items, dtype=np.int64),
        place=np.zeros(n_items, dtype=np.int64),
        closed=np.empty(longest, dtype=np.int32),
        in_set=np.zeros(n_items, dtype=np.bool_),
        sets=np.empty(room, dtype=np.int32),
        candidates=np.empty(room, dtype=np.int32),
        member_start=np.empty(room, dtype=np.int64),
        members=np.empty(4 * room, dtype=np.int32),
        level=np.zeros((4, longest + 3), dtype=np.int64),
    )
