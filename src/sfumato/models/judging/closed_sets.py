"""Every rule `antecedent -> sensitive item` of a table of sets, by closed antecedents: the loops behind an audit.

Fix a sensitive item e. Whatever an intruder knows of a record with e, the intersection of all records that hold it
together with e is known just as well, occurs as often with e and at most as often without: so its confidence is the
highest. Only such intersections are looked at, each once, whatever the length of records (closed sets, listed by
prefix-preserving extension after Uno et al., 2004).

These loops belong to the audit alone: what makes a release must not help to judge it. They are written to be read.

Sizes: d distinct records, v items, n records with their weights.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.data.dataset import CodedSets, as_numpy, starts_of
from sfumato.data.sets import repeat_sets
from sfumato.errors import DataError
from sfumato.models.judging.weights import Integers, tally

NEVER = 2**62  # more than there can be records
MOST_RECORDS = 2**31  # products of two counts stay far below 2**63
PATIENCE = 2_000_000  # closed sets after which one unsafe rule is enough of an answer


class Records(NamedTuple):
    """Distinct records with their weights, and where each item occurs."""

    start: Integers  # (d + 1,): record r holds items[start[r]:start[r + 1]], ascending
    items: Integers
    weight: Integers  # (d,)
    holders_start: Integers  # (v + 1,): holders[holders_start[i]:holders_start[i + 1]] hold item i, ascending
    holders: Integers


class Question(NamedTuple):
    """What is asked of the rules: confidences of at most a / b."""

    sensitive: NDArray[np.bool_]  # (v,)
    a: int
    b: int
    n_records: int
    empty_antecedent: bool
    cap: int  # unsafe rules after which to stop
    patience: int  # rules after which to stop if one was unsafe


class Tally(NamedTuple):
    """What was found so far, to be changed by the search: each array but the last has one number."""

    rules: Integers  # closed rules judged
    unsafe: Integers
    hits: Integers  # records with the antecedent and the sensitive item of the worst rule
    support: Integers  # records with its antecedent
    item: Integers  # its sensitive item, -1 when there is no rule
    size: Integers  # of its antecedent
    antecedent: Integers


@kernel
def _items_of(record, records):
    return records.items[records.start[record] : records.start[record + 1]]


@kernel
def _holders_of(item, records):
    return records.holders[records.holders_start[item] : records.holders_start[item + 1]]


@kernel
def _holds(items, wanted):
    """Whether one item is among the items, which are ascending."""
    place = 0
    while place < items.size and items[place] < wanted:
        place += 1
    return place < items.size and items[place] == wanted


@kernel
def _contains(items, wanted):
    """Whether all wanted items are among the items; both are ascending."""
    place = 0
    for item in wanted:
        while place < items.size and items[place] < item:
            place += 1
        if place == items.size or items[place] != item:
            return False
    return True


@kernel
def _count_without(e, wanted, records, enough):
    """Return how many records hold all wanted items but not e; counting ends when there are enough."""
    rarest = wanted[0]
    for item in wanted:
        if _holders_of(item, records).size < _holders_of(rarest, records).size:
            rarest = item
    found = 0
    for record in _holders_of(rarest, records):
        if found >= enough:
            break
        items = _items_of(record, records)
        if _contains(items, wanted) and not _holds(items, e):
            found += records.weight[record]
    return found


@kernel
def _shared(members, e, records):
    """Return the items that all member records hold, without e; ascending."""
    first = _items_of(members[0], records)
    shared = np.empty(first.size, dtype=np.int64)
    size = 0
    for item in first:
        if item != e:
            shared[size] = item
            size += 1
    for record in members[1:]:
        items = _items_of(record, records)
        place, kept = 0, 0
        for item in shared[:size]:
            while place < items.size and items[place] < item:
                place += 1
            if place < items.size and items[place] == item:
                shared[kept] = item
                kept += 1
        size = kept
    return shared[:size]


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
def _items_beyond(core, closed, members, e, records):
    """Return item * d + record for each item of a member that comes after core and is neither e nor closed; ascending.

    So the members that hold an item stand side by side.
    """
    n_distinct = records.weight.size
    room = 0
    for record in members:
        room += _items_of(record, records).size
    pairs = np.empty(room, dtype=np.int64)
    size = 0
    for record in members:
        for item in _items_of(record, records):
            if item > core and item != e and not _holds(closed, item):
                pairs[size] = item * n_distinct + record
                size += 1
    _sort(pairs[:size])
    return pairs[:size]


@kernel
def _fewest(hits, a, b):
    """Return of how many records at least `hits` are a share of at most a / b."""
    return (hits * b + a - 1) // a if a > 0 else NEVER


@kernel
def _judge(closed, members, e, records, question, so_far):
    """Count the rule `closed -> e`, where the members are the records with all of it; return whether to stop."""
    hits = 0
    for record in members:
        hits += records.weight[record]
    # With so many records that hold the antecedent, the rule is safe and no worse than the worst so far.
    enough = max(_fewest(hits, question.a, question.b), _fewest(hits, so_far.hits[0], so_far.support[0]))
    support = question.n_records
    if closed.size > 0:
        support = hits + _count_without(e, closed, records, enough - hits)
    so_far.rules[0] += 1
    if hits * question.b > question.a * support:
        so_far.unsafe[0] += 1
    if hits * so_far.support[0] > so_far.hits[0] * support:
        so_far.hits[0], so_far.support[0], so_far.item[0], so_far.size[0] = hits, support, e, closed.size
        for at in range(closed.size):
            so_far.antecedent[at] = closed[at]
    return so_far.unsafe[0] >= question.cap or (so_far.unsafe[0] > 0 and so_far.rules[0] >= question.patience)


@kernel
def _found_before(closed, known, core):
    """Whether a closed set has an item before `core` that `known` lacks: it was found when `known` got that one."""
    size = 0
    while size < closed.size and closed[size] < core:
        size += 1
    return not _contains(known, closed[:size])


@kernel
def _search(e, records, question, so_far):
    """Judge the closed rules that lead to e; return whether to stop."""
    n_distinct = records.weight.size
    # To do: the records with e that hold a closed set and an item, the core, together; that set; the core.
    waiting = [(_holders_of(e, records), np.empty(0, dtype=np.int64), -1)]
    while len(waiting) > 0:
        members, known, core = waiting.pop()
        closed = _shared(members, e, records)
        if _found_before(closed, known, core):
            continue
        if (closed.size > 0 or question.empty_antecedent) and _judge(closed, members, e, records, question, so_far):
            return True
        if members.size == 1:
            continue
        pairs = _items_beyond(core, closed, members, e, records)
        last = pairs.size
        for first in range(pairs.size - 1, -1, -1):
            item = pairs[first] // n_distinct
            if first > 0 and pairs[first - 1] // n_distinct == item:
                continue
            waiting.append((pairs[first:last] - item * n_distinct, closed, item))
            last = first
    return False


@kernel
def _count_hopeless(records, question):
    """Return how many records surely give a sensitive item away to those who know all the rest, up to the cap."""
    unsafe = 0
    alone = np.empty(1, dtype=np.int64)
    for record in range(records.weight.size):
        alone[0] = record
        for e in _items_of(record, records):
            if question.sensitive[e]:
                rest = _shared(alone, e, records)
                if rest.size > 0 and _count_without(e, rest, records, 1) == 0:
                    unsafe += 1
                    if unsafe >= question.cap:
                        return unsafe
    return unsafe


def distinct_records(column: CodedSets, weights: Integers | None) -> Records:
    """Return the records of a column once each, in the order of their first."""
    n_rows = column.start.size - 1
    items = np.ascontiguousarray(column.items)
    cells = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), n_rows, [None, pa.py_buffer(column.start * items.itemsize), pa.py_buffer(items)]
    ).dictionary_encode()
    record_of, n_distinct = as_numpy(cells.indices), len(cells.dictionary)
    first = np.full(n_distinct, n_rows, dtype=np.int64)
    np.minimum.at(first, record_of, np.arange(n_rows))
    kept, start = repeat_sets(items, column.start, first)
    record = np.repeat(np.arange(n_distinct), np.diff(start))
    return Records(
        start=start,
        items=kept.astype(np.int64),
        weight=tally(record_of, n_distinct, weights),
        holders_start=starts_of(np.bincount(kept, minlength=len(column.labels))),
        holders=record[np.argsort(kept, kind="stable")],
    )


def largest_share(rho: Fraction, n_records: int) -> Fraction:
    """Return the largest share of at most n records that does not exceed rho: no other share lies between the two.

    So whole numbers of 64 bits decide, whatever the digits of rho.

    >>> largest_share(Fraction(2, 3), 10), largest_share(Fraction("0.29999999999999999999"), 10)
    (Fraction(2, 3), Fraction(2, 7))
    """
    near = rho.limit_denominator(n_records)
    if near <= rho:
        return near
    # The neighbour below c / d among fractions of denominators up to n is a / b with c * b - d * a = 1, b the largest.
    c, d = near.numerator, near.denominator
    inverse = pow(c, -1, d)
    b = inverse + (n_records - inverse) // d * d
    return Fraction((c * b - 1) // d, b)


class Found(NamedTuple):
    """What a search came across. The worst rule has the highest confidence, and is the first such one."""

    rules: int  # closed rules judged
    unsafe: int
    complete: bool  # False: stopped early, with more than enough unsafe rules
    hits: int  # records with the antecedent and the sensitive item of the worst rule
    support: int  # records with its antecedent; 0 when there is no rule
    item: int  # its sensitive item
    antecedent: Integers


def search_rules(
    records: Records, sensitive: NDArray[np.bool_], rho: Fraction, *, empty_antecedent: bool, cap: int
) -> Found:
    """Judge every closed rule, or stop once `cap` unsafe ones were found.

    A table that was never treated is told at once: most of its records give something away to who knows the rest.
    """
    n_records = int(records.weight.sum())
    if n_records >= MOST_RECORDS:
        raise DataError(
            f"Rules were to be judged in {n_records:,} records; whole numbers decide up to {MOST_RECORDS:,}.\n"
            "Publish parts, each judged by itself: what holds in every part holds in all."
        )
    bound = largest_share(rho, max(n_records, 1))
    question = Question(sensitive, bound.numerator, bound.denominator, n_records, empty_antecedent, cap, PATIENCE)
    hopeless = _count_hopeless(records, question)
    if hopeless >= cap:
        question = question._replace(patience=0)
    longest = int(np.diff(records.start).max(initial=0))
    rules, unsafe, hits, support, item, size = (np.full(1, first, dtype=np.int64) for first in (0, 0, 0, 1, -1, 0))
    so_far = Tally(rules, unsafe, hits, support, item, size, np.empty(longest, dtype=np.int64))
    complete = True
    for e in np.flatnonzero(sensitive).tolist():
        if records.holders_start[e] < records.holders_start[e + 1] and _search(e, records, question, so_far):
            complete = False
            break
    n_unsafe = int(unsafe[0]) if complete else max(int(unsafe[0]), hopeless)
    return Found(
        rules=max(int(rules[0]), n_unsafe),
        unsafe=n_unsafe,
        complete=complete,
        hits=int(hits[0]),
        support=int(support[0]) if hits[0] else 0,
        item=int(item[0]),
        antecedent=so_far.antecedent[: size[0]],
    )
