"""Every small set of items that a record holds, and how many records hold it: the loops behind audits of sets.

The sets of one class are looked at one after the other, each with the records that hold all of it, and grow by one
further item at a time, items in rising order. A set that too few records hold is not grown: with more known it only
gets worse.

These loops belong to audits alone: what makes a release must not help to judge it. They are written to be read.

Sizes: n rows held, v items.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.data.dataset import CodedSets
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.closed_sets import largest_share
from sfumato.models.judging.weights import Integers, row_weights, rows_in

CAP = 1000  # failing sets after which the audit need not go on


class Sets(NamedTuple):
    """The records of a table."""

    start: Integers  # (n + 1,): record r holds items[start[r]:start[r + 1]], ascending
    items: Integers
    weight: Integers  # (n,)
    known: NDArray[np.bool_]  # (v,): which items somebody may know
    secret: NDArray[np.bool_]  # (v,): which ones nobody may be too sure of


class Question(NamedTuple):
    """What is asked of each set of `least` to m known items that occurs."""

    k: int  # records that hold it at least
    least: int  # 0: the class alone may be known, and no item
    m: int
    a: int  # of these at most a share a / b holds the same sensitive item
    b: int
    cap: int


class Tally(NamedTuple):
    """What was found so far, each but the last with one number."""

    judged: Integers
    failing: Integers
    fewest: Integers  # records that hold a set, -1 before the first
    hits: Integers  # of the set whose records share a sensitive item most
    support: Integers
    size: Integers  # of the first set that fails, -1: none does
    in_failing: NDArray[np.bool_]  # (n,): rows that hold a failing set


@kernel
def _most_shared(group, sets, count):
    """Return how many records of a group hold the sensitive item that most of them do."""
    most = 0
    for record in group:
        for place in range(sets.start[record], sets.start[record + 1]):
            if sets.secret[sets.items[place]]:
                count[sets.items[place]] += sets.weight[record]
                most = max(most, count[sets.items[place]])
    if most == 0:
        return 0
    for record in group:
        for place in range(sets.start[record], sets.start[record + 1]):
            count[sets.items[place]] = 0
    return most


@kernel
def _judge(group, size, sets, question, so_far, count):
    """Judge the set that a group of records holds; return whether enough records hold it."""
    support = 0
    for record in group:
        support += sets.weight[record]
    hits = 0
    if question.a < question.b:
        hits = _most_shared(group, sets, count)
    so_far.judged[0] += 1
    if so_far.fewest[0] < 0 or support < so_far.fewest[0]:
        so_far.fewest[0] = support
    if hits * so_far.support[0] > so_far.hits[0] * support:
        so_far.hits[0], so_far.support[0] = hits, support
    if support < question.k or hits * question.b > question.a * support:
        so_far.failing[0] += 1
        if so_far.size[0] < 0:
            so_far.size[0] = size
        for record in group:
            so_far.in_failing[record] = True
    return support >= question.k


@kernel
def _search(members, sets, question, so_far, count):
    """Judge the sets of a class; return whether to stop."""
    n_records = sets.weight.size
    waiting = [(members, -1, 0)]  # to do: the records that hold a set, its last item, its size
    while len(waiting) > 0:
        group, last, size = waiting.pop()
        if size >= question.least and not _judge(group, size, sets, question, so_far, count):
            if so_far.failing[0] >= question.cap:
                return True
            continue
        if size == question.m:
            continue
        total = 0
        for record in group:
            total += sets.start[record + 1] - sets.start[record]
        pairs = np.empty(total, dtype=np.int64)
        n_pairs = 0
        for record in group:
            for place in range(sets.start[record], sets.start[record + 1]):
                item = sets.items[place]
                if item > last and sets.known[item]:
                    pairs[n_pairs] = item * n_records + record
                    n_pairs += 1
        pairs = np.sort(pairs[:n_pairs])
        end = n_pairs
        for first in range(n_pairs - 1, -1, -1):
            item = pairs[first] // n_records
            if first == 0 or pairs[first - 1] // n_records != item:
                waiting.append((pairs[first:end] - item * n_records, item, size + 1))
                end = first
    return so_far.failing[0] >= question.cap


class Found(NamedTuple):
    """What a search came across."""

    judged: int  # sets that occur, without those that hold a failing one
    failing: int
    complete: bool  # False: stopped early, with more than enough failing sets
    fewest: int | None  # records that hold a set, None: there is no set
    share: Fraction  # of the records that hold a set, the highest that has the same sensitive item
    failing_rows: int
    size: int | None  # of the first set that fails, None: none does


def search_sets(
    release: Release,
    column: CodedSets,
    *,
    k: int,
    m: int,
    known: NDArray[np.bool_],
    secret: NDArray[np.bool_],
    share: Fraction = Fraction(1),
    within_classes: bool,
) -> Found:
    """Judge every set of up to m known items that occurs in a class, or in the table as a whole.

    Where quasi-identifiers tell classes apart, a class is also judged as a whole: by the set of no items.
    """
    n_rows = column.start.size - 1
    tells_apart = any(each.role is Role.QUASI_IDENTIFIER for each in release.columns.values())
    least = 0 if within_classes and tells_apart and n_rows else 1
    weights = row_weights(release)
    bound = largest_share(share, max(release.total, 1))
    sets = Sets(
        start=column.start.astype(np.int64),
        items=column.items.astype(np.int64),
        weight=np.ones(n_rows, dtype=np.int64) if weights is None else weights,
        known=known,
        secret=secret,
    )
    question = Question(k, least, m, bound.numerator, bound.denominator, CAP)
    judged, failing, fewest, hits, support, size = (np.full(1, first, dtype=np.int64) for first in (0, 0, -1, 0, 1, -1))
    so_far = Tally(judged, failing, fewest, hits, support, size, np.zeros(n_rows, dtype=np.bool_))
    class_of = classes_of(release).class_of if within_classes else np.zeros(n_rows, dtype=np.int64)
    order = np.argsort(class_of, kind="stable")
    ends = np.flatnonzero(np.diff(class_of[order])) + 1
    count = np.zeros(len(column.labels), dtype=np.int64)
    complete = True
    for members in np.split(order, ends):
        if _search(members, sets, question, so_far, count):
            complete = False
            break
    return Found(
        judged=int(judged[0]),
        failing=int(failing[0]),
        complete=complete,
        fewest=int(fewest[0]) if fewest[0] >= 0 else None,
        share=Fraction(int(hits[0]), int(support[0])),
        failing_rows=rows_in(so_far.in_failing, weights),
        size=int(size[0]) if size[0] >= 0 else None,
    )
