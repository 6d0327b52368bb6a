"""Show labels of items in crowds: whoever knows a few labels of a record finds at least k records that show them.

Every record starts with nothing shown, which is safe. A seat is a label in a group of records: `place` shows the label
in all records at once that have something below it and are safe with it, so that labels that are rare by themselves get
in together. `lower` does the same with a label that takes the place of the one above it, as long as the records that
go on showing that one are safe without the others. So the table is safe after every step.

Sizes: n records, o occurrences, v labels, s seats. Record r has the occurrences start[r]:start[r + 1], ascending; as
many labels fit into it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
WITHHELD = -1


class Table(NamedTuple):
    """Records with what they hold, and which labels stand for it."""

    start: Integers  # (n + 1,)
    leaf: Codes  # (o,): ascending in each record; those below a label are next to one another
    first: Codes  # (v,): the lowest leaf below a label
    last: Codes  # (v,): the highest
    secret_start: Integers  # (n + 1,)
    secret: Codes  # sensitive items that each record shows, whatever is decided


class Shown(NamedTuple):
    """What is shown so far."""

    size: Codes  # (n,): labels that each record shows
    label: Codes  # (o,): those of record r are label[start[r] : start[r] + size[r]]
    stands: Codes  # (o,): the label that stands for an occurrence, -1 where it is withheld


class Promise(NamedTuple):
    """What must hold for up to m labels that are known of a record."""

    k: int  # records that show them at least
    m: int
    a: int  # no sensitive item is in more than a share a / b of these; 1 / 1: any may
    b: int


class Scratch(NamedTuple):
    """Room for counts, all zero between two uses."""

    labels: Integers  # (v,)
    secrets: Integers  # (sensitive items,)
    bad: NDArray[np.bool_]  # (n,)
    waits: NDArray[np.bool_]  # (n,): records that a label might be added to
    moves: NDArray[np.bool_]  # (n,): those of them that would no longer show the label above


@kernel
def _shows(record, label, table, shown):
    shows = False
    for place in range(table.start[record], table.start[record] + shown.size[record]):
        shows |= shown.label[place] == label
    return shows


@kernel
def _count_below(record, label, stands, table, shown):
    """Return how many occurrences of a record lie below a label while another one, or none, stands for them."""
    found = 0
    for place in range(table.start[record], table.start[record + 1]):
        if table.leaf[place] > table.last[label]:
            break
        if table.leaf[place] >= table.first[label] and shown.stands[place] == stands:
            found += 1
    return found


@kernel
def _most_shared(members, table, scratch):
    """Return how many members show the sensitive item that most of them do."""
    most = 0
    for record in members:
        for place in range(table.secret_start[record], table.secret_start[record + 1]):
            scratch.secrets[table.secret[place]] += 1
            most = max(most, scratch.secrets[table.secret[place]])
    for record in members:
        for place in range(table.secret_start[record], table.secret_start[record + 1]):
            scratch.secrets[table.secret[place]] = 0
    return most


@kernel
def _mark_given_away(members, table, promise, scratch):
    """Mark waiting members with a sensitive item that too many of the members have; return whether there are some."""
    if _most_shared(members, table, scratch) * promise.b <= promise.a * members.size:
        return False
    marked = False
    for record in members:
        for place in range(table.secret_start[record], table.secret_start[record + 1]):
            scratch.secrets[table.secret[place]] += 1
    for record in members:
        if scratch.waits[record] and not scratch.bad[record]:
            for place in range(table.secret_start[record], table.secret_start[record + 1]):
                if scratch.secrets[table.secret[place]] * promise.b > promise.a * members.size:
                    scratch.bad[record] = marked = True
    for record in members:
        for place in range(table.secret_start[record], table.secret_start[record + 1]):
            scratch.secrets[table.secret[place]] = 0
    return marked


@kernel
def _by_label(members, beyond, but, gone, table, shown, scratch):
    """Return the labels beyond one that members show, where the members of each begin, and those members.

    Label `but` is left out, and `gone` in records that would no longer show it.
    """
    n_labels, total = 0, 0
    found = np.empty(0, dtype=np.int64)
    for turn in range(2):  # first how many there are, then which
        if turn == 1:
            found = np.empty(n_labels, dtype=np.int64)
            n_labels = 0
        for record in members:
            first = table.start[record]
            for place in range(first, first + shown.size[record]):
                label = shown.label[place]
                if label > beyond and label != but and not (label == gone and scratch.moves[record]):
                    if turn == 0:
                        n_labels += scratch.labels[label] == 0
                        scratch.labels[label] += 1
                        total += 1
                    elif scratch.labels[label] > 0:
                        found[n_labels] = label
                        n_labels += 1
                        scratch.labels[label] = -scratch.labels[label]
    begin = np.zeros(found.size + 1, dtype=np.int64)
    for number in range(found.size):
        begin[number + 1] = begin[number] - scratch.labels[found[number]]
        scratch.labels[found[number]] = begin[number]
    holders = np.empty(total, dtype=np.int64)
    for record in members:
        first = table.start[record]
        for place in range(first, first + shown.size[record]):
            label = shown.label[place]
            if label > beyond and label != but and not (label == gone and scratch.moves[record]):
                holders[scratch.labels[label]] = record
                scratch.labels[label] += 1
    for label in found:
        scratch.labels[label] = 0
    return found, begin, holders


@kernel
def _mark(members, label, gone, most, table, shown, promise, scratch):
    """Mark the waiting members that would break the promise if all of them showed a label; whether there are some.

    Up to `most` further labels may be known. Those that move do not show `gone` any more.
    """
    marked = False
    # To do: the records that show, or wait for, a set of labels; the highest of these; how many more may be known.
    waiting = [(members, -1, most)]
    while len(waiting) > 0:
        group, beyond, left = waiting.pop()
        if promise.a < promise.b and _mark_given_away(group, table, promise, scratch):
            marked = True
        if left == 0:
            continue
        found, begin, holders = _by_label(group, beyond, label, gone, table, shown, scratch)
        for number in range(found.size):
            part = holders[begin[number] : begin[number + 1]]
            if part.size < promise.k:
                for record in part:
                    if scratch.waits[record] and not scratch.bad[record]:
                        scratch.bad[record] = marked = True
            elif (left > 1 or promise.a < promise.b) and scratch.waits[part].any():
                waiting.append((part, found[number], left - 1))
    return marked


@kernel
def _mark_left(members, label, table, shown, promise, scratch):
    """Mark members that must not move, or else too few that show a label would be left; whether there are some."""
    marked = False
    waiting = [(members, -1, promise.m)]
    while len(waiting) > 0:
        group, beyond, left = waiting.pop()
        n_moving = 0
        for record in group:
            n_moving += scratch.moves[record]
        n_staying = group.size - n_moving
        if n_moving == 0 or n_staying == 0:
            continue
        lacking = promise.k - n_staying
        if lacking <= 0 and promise.a < promise.b:
            staying = group[~scratch.moves[group]]
            if _most_shared(staying, table, scratch) * promise.b > promise.a * staying.size:
                lacking = n_moving
        if lacking > 0:
            for record in group:
                if lacking > 0 and scratch.moves[record] and not scratch.bad[record]:
                    scratch.bad[record] = marked = True
                    lacking -= 1
        elif left > 1:
            found, begin, holders = _by_label(group, beyond, label, WITHHELD, table, shown, scratch)
            for number in range(found.size):
                waiting.append((holders[begin[number] : begin[number + 1]], found[number], left - 1))
    return marked


@kernel
def _without_bad(members, scratch):
    """Return the members without those that are marked, and take the marks away."""
    kept = 0
    for record in members:
        if scratch.bad[record]:
            scratch.bad[record] = scratch.waits[record] = scratch.moves[record] = False
        else:
            members[kept] = record
            kept += 1
    return members[:kept]


@kernel
def _settle(members, label, gone, table, shown, promise, scratch):
    """Return the members that are safe with a label, when all of them show it."""
    most = min(1, promise.m - 1)  # few known labels send most away, at little cost
    while members.size >= promise.k and scratch.waits[members].any():
        if _mark(members, label, gone, most, table, shown, promise, scratch):
            members = _without_bad(members, scratch)
        elif most < promise.m - 1:
            most += 1
        else:
            return members
    scratch.waits[members] = False
    scratch.moves[members] = False
    return members[:0]


@kernel
def place(label, records, table, shown, promise, scratch):
    """Show a label in as many of these records as are safe with it; return how many occurrences it now stands for."""
    members = np.empty(records.size, dtype=np.int64)
    size = 0
    for record in records:
        waits = not _shows(record, label, table, shown)
        if not waits or _count_below(record, label, WITHHELD, table, shown) > 0:
            scratch.waits[record] = waits
            members[size] = record
            size += 1
    gained = 0
    for record in _settle(members[:size], label, WITHHELD, table, shown, promise, scratch):
        if scratch.waits[record]:
            scratch.waits[record] = False
            gained += _show(record, label, WITHHELD, table, shown)
    return gained


@kernel
def lower(label, above, records, records_above, table, shown, promise, scratch):
    """Show a label in place of the one above it where that is safe; return how many occurrences it now stands for."""
    members = np.empty(records.size, dtype=np.int64)
    size = 0
    for record in records:
        ready = _count_below(record, label, above, table, shown)
        if ready > 0 or _shows(record, label, table, shown):
            scratch.waits[record] = ready > 0
            scratch.moves[record] = ready > 0 and ready == _count_below(record, above, above, table, shown)
            members[size] = record
            size += 1
    members = members[:size]
    others = np.empty(records_above.size, dtype=np.int64)
    size = 0
    for record in records_above:
        if _shows(record, above, table, shown):
            others[size] = record
            size += 1
    while True:
        members = _settle(members, label, above, table, shown, promise, scratch)
        if members.size == 0 or not _mark_left(others[:size], above, table, shown, promise, scratch):
            break
        members = _without_bad(members, scratch)
    gained = 0
    for record in members:
        if scratch.waits[record]:
            if scratch.moves[record]:  # first, as there may be no room for both
                _hide(record, above, table, shown)
            gained += _show(record, label, above, table, shown)
        scratch.waits[record] = scratch.moves[record] = False
    return gained


@kernel
def _show(record, label, instead, table, shown):
    """Let a label stand for what lies below it and `instead` stood for; return for how many occurrences."""
    if not _shows(record, label, table, shown):
        shown.label[table.start[record] + shown.size[record]] = label
        shown.size[record] += 1
    gained = 0
    for place in range(table.start[record], table.start[record + 1]):
        if table.first[label] <= table.leaf[place] <= table.last[label] and shown.stands[place] == instead:
            shown.stands[place] = label
            gained += 1
    return gained


@kernel
def _hide(record, label, table, shown):
    """Let a record no longer show a label."""
    last = table.start[record] + shown.size[record] - 1
    for place in range(table.start[record], last):
        if shown.label[place] == label:
            shown.label[place] = shown.label[last]
    shown.size[record] -= 1


@kernel
def fill(seats, label_of, begin, records, table, shown, promise, scratch):
    """Place the labels of some seats, one after the other; return how many occurrences they now stand for."""
    gained = 0
    for seat in seats:
        gained += place(label_of[seat], records[begin[seat] : begin[seat + 1]], table, shown, promise, scratch)
    return gained


@kernel
def refine(seats, seat_above, label_of, begin, records, table, shown, promise, scratch):
    """Lower labels to those of some seats, one after the other; return how many occurrences they now stand for."""
    gained = 0
    for seat in seats:
        above = seat_above[seat]
        gained += lower(
            label_of[seat],
            label_of[above],
            records[begin[seat] : begin[seat + 1]],
            records[begin[above] : begin[above + 1]],
            table,
            shown,
            promise,
            scratch,
        )
    return gained


def make_scratch(n_records: int, n_labels: int, n_secrets: int) -> Scratch:
    """Return room for counts."""
    return Scratch(
        np.zeros(n_labels, dtype=np.int64),
        np.zeros(n_secrets, dtype=np.int64),
        np.zeros(n_records, dtype=np.bool_),
        np.zeros(n_records, dtype=np.bool_),
        np.zeros(n_records, dtype=np.bool_),
    )
