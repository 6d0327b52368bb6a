"""Cutting a table into boxes, top down: which cuts of a part are best.

Sizes: n items, q attributes, p parts, b cuts kept for a part, m nodes of all attributes together, h bars of a
histogram of sensitive values. An item is a distinct combination of quasi-identifiers with its weight, or a single row.
A part is an interval low..high of positions in `lists`: list a holds the items of each part in ascending order of
attribute a, ties in ascending order of items; list q holds them in ascending order of items. Once all items of a part
agree on an attribute, its list is left as it is: whatever stands there has that same value.

A cut (a, first, last) sends the items that stand at first..last - 1 in list a to one side, the others to the other.
Cuts lie between values, either with everything below on one side, or with all that lies below a node of a tree (or has
one single value) on one side; where ties may be divided, also in the middle of the list.

A cut is good if the rows lose little afterwards: the smallest sum of (rows * square root of loss) over both sides wins.
The square root prefers a side that loses nothing beside one that loses much to two that lose half each (on Adult the
final loss is 1 to 4 % lower than with the loss itself).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import inline_kernel, kernel
from sfumato.kernels.classes.conditions import holds

RANGE, SET, TREE = range(3)  # what a part publishes of an attribute, and so what it loses
BEST, WIDEST, BALANCED = range(3)  # which cut comes first: least loss; widest attribute, then halves; halves

NODE, VALUES, MEASURE, BY_NODE = range(4)  # columns of `Table.attribute`
# Rows of `Desk.reach`: attributes on which a part differs, and those still to be counted; then for each attribute the
# part's lowest and highest code and number of values; the same of what is counted; values that occur nowhere else.
ACTIVE, PENDING, PART_LOW, PART_HIGH, PART_VALUES, LOW, HIGH, DISTINCT, ONLY_HERE = range(9)
SEEN, IN_PART, SO_FAR = range(3)  # rows of `Desk.tally`
WHOLE, LEFT, RIGHT = range(3)  # rows of `Desk.histogram`
NEVER = 2**31 - 1  # above every code


class Table(NamedTuple):
    """What is cut. The nodes of an attribute stand side by side: its codes first, then the inner nodes of its tree.

    Before them is a place that is no node, whose value is the attribute's weight.

    A RANGE has each of its codes twice, where it begins and where it ends: a code may be a band of several values.
    """

    codes: NDArray[np.int32]  # (n, q)
    weight: NDArray[np.int64]  # (n,)
    share_start: NDArray[np.int64]  # (n + 1,): item i adds shares[share_start[i]:share_start[i + 1]] to a histogram
    shares: NDArray[np.int64]  # (s, 2): a bar, and how much
    attribute: NDArray[np.int64]  # (q, 4): first node; number of values; RANGE, SET or TREE; 1 if nodes can be cut off
    node: NDArray[np.int64]  # (m, 3): first code, last code, parent (-1: none)
    # (m,): RANGE: where a code begins and ends in 0..1, missing 1 above all others; TREE: loss of a node
    value: NDArray[np.float64]
    divide_ties: bool


class Desk(NamedTuple):
    """Space to work in, one for each thread. d exceeds the values of any attribute, r is the largest part to follow."""

    reach: NDArray[np.int64]  # (9, q)
    loss: NDArray[np.float64]  # (q,): what the part loses on each attribute
    tally: NDArray[np.int64]  # (3, m): when a value was last counted; items with it in the part, and counted so far
    begin: NDArray[np.int64]  # (2, d): position and code where each value begins
    # (5, d, q): lowest and highest code before a value begins, and from there on; values there
    around: NDArray[np.int32]
    histogram: NDArray[np.int64]  # (3, h)
    side: NDArray[np.bool_]  # (n,)
    clock: NDArray[np.int64]  # (1,)
    lists: NDArray[np.int32]  # (q + 1, r): the lists of a part that is followed
    stack: NDArray[np.int64]  # (r + 1, 2): the parts of it that are still open


def make_desk(table: Table, bars: int, largest: int) -> Desk:
    """Return space to work in; `bars` of a histogram, and `largest` parts to follow."""
    n, q = table.codes.shape
    d = int(table.attribute[:, VALUES].max(initial=0)) + 3
    return Desk(
        reach=np.zeros((9, q), np.int64),
        loss=np.zeros(q, np.float64),
        tally=np.zeros((3, table.value.size), np.int64),
        begin=np.zeros((2, d), np.int64),
        around=np.zeros((5, d, q), np.int32),
        histogram=np.zeros((3, bars), np.int64),
        side=np.zeros(n, np.bool_),
        clock=np.zeros(1, np.int64),
        lists=np.zeros((q + 1, largest), np.int32),
        stack=np.zeros((largest + 1, 2), np.int64),
    )


@kernel
def loss_of(attribute, node, value, low, high, distinct):
    """Return what an attribute (4,) loses when codes reach from `low` to `high` and `distinct` of them occur."""
    weight = value[attribute[NODE] - 1]
    if attribute[MEASURE] == SET:
        return weight * ((distinct - 1) / (attribute[VALUES] - 1))
    at = attribute[NODE] + low
    if attribute[MEASURE] == RANGE:
        return weight * min(value[attribute[NODE] + attribute[VALUES] + high] - value[at], 1.0)
    while node[at, 1] < high:
        at = node[at, 2]
    return weight * value[at]


@kernel
def survey(codes, attributes, node, value, lists, low, high, reach, loss, tally):
    """Return on how many attributes a part differs; note which, their extent, and what is lost on each."""
    n_active = np.int64(0)
    for a in range(attributes.shape[0]):
        lowest = np.int64(codes[lists[a, low], a])
        highest = np.int64(codes[lists[a, high - 1], a])
        if lowest == highest:
            loss[a] = loss_of(attributes[a], node, value, lowest, highest, 1)  # that of a band
            continue
        reach[ACTIVE, n_active] = a
        n_active += 1
        reach[PART_LOW, a] = lowest
        reach[PART_HIGH, a] = highest
        distinct = np.int64(0)
        if attributes[a, MEASURE] == SET:
            of_code = np.int64(-1)
            for at in range(low, high):
                other = attributes[a, NODE] + codes[lists[a, at], a]
                if other != of_code:
                    of_code = other
                    distinct += 1
                    tally[IN_PART, of_code] = 0
                tally[IN_PART, of_code] += 1
            reach[PART_VALUES, a] = distinct
        loss[a] = loss_of(attributes[a], node, value, lowest, highest, distinct)
    return n_active


@kernel
def list_values(codes, attributes, members, low, high, a, middle, begin, around, reach, tally, clock, n_active):
    """Return how many values of attribute a occur; note where each begins, and how far the items from there on reach.

    The middle of the list, where ties may be divided, counts as the beginning of a value; else middle is `low`.
    """
    values = np.int64(0)
    code = np.int64(-1)
    for at in range(low, high):
        if codes[members[at], a] != code or (at == middle and at != low):
            code = np.int64(codes[members[at], a])
            begin[0, values] = at
            begin[1, values] = code
            values += 1
    begin[0, values] = high
    begin[1, values] = NEVER
    for i in range(n_active):
        other = reach[ACTIVE, i]
        around[0, 0, other] = NEVER
        around[1, 0, other] = -1
        lowest = np.int64(NEVER)
        highest = np.int64(-1)
        distinct = np.int64(0)
        is_set = attributes[other, MEASURE] == SET
        full = False  # nothing new can come
        for value in range(values - 1, 0, -1):
            if not full:
                for at in range(begin[0, value], begin[0, value + 1]):
                    code = np.int64(codes[members[at], other])
                    if is_set:
                        code += attributes[other, NODE]
                        if tally[SEEN, code] != clock:
                            tally[SEEN, code] = clock
                            distinct += 1
                    else:
                        if code < lowest:
                            lowest = code
                        if code > highest:
                            highest = code
                if is_set:
                    full = distinct == reach[PART_VALUES, other]
                else:
                    full = lowest == reach[PART_LOW, other] and highest == reach[PART_HIGH, other]
            around[2, value, other] = lowest
            around[3, value, other] = highest
            around[4, value, other] = distinct
    return values


@inline_kernel
def forget(reach, n_active):
    """Begin to count anew."""
    for i in range(n_active):
        other = reach[ACTIVE, i]
        reach[PENDING, i] = other
        reach[LOW, other] = NEVER
        reach[HIGH, other] = -1
        reach[DISTINCT, other] = 0
        reach[ONLY_HERE, other] = 0


@kernel
def weigh(weights, share_start, shares, members, first, last, histogram):
    """Return the weight of the items at first..last - 1 of a list, and add them to a histogram."""
    weight = np.int64(0)
    for at in range(first, last):
        item = members[at]
        weight += weights[item]
        for share in range(share_start[item], share_start[item + 1]):
            histogram[shares[share, 0]] += shares[share, 1]
    return weight


@kernel
def count(codes, attributes, members, first, last, reach, tally, clock, n_pending, from_first):
    """Count the items at first..last - 1 of a list: how far they reach, and which values they have.

    Unless counting began with the first item (`from_first`), also note which values occur nowhere else in the part.
    Return on how many attributes there is more to count: one is done with when nothing new can come.
    """
    for at in range(first, last):
        item = members[at]
        kept = np.int64(0)
        for i in range(n_pending):
            other = reach[PENDING, i]
            code = np.int64(codes[item, other])
            full = False
            if attributes[other, MEASURE] != SET:
                if code < reach[LOW, other]:
                    reach[LOW, other] = code
                if code > reach[HIGH, other]:
                    reach[HIGH, other] = code
                full = reach[LOW, other] == reach[PART_LOW, other] and reach[HIGH, other] == reach[PART_HIGH, other]
            else:
                code += attributes[other, NODE]
                if tally[SEEN, code] != clock:
                    tally[SEEN, code] = clock
                    tally[SO_FAR, code] = 0
                    reach[DISTINCT, other] += 1
                    full = from_first and reach[DISTINCT, other] == reach[PART_VALUES, other]
                tally[SO_FAR, code] += 1
                if tally[SO_FAR, code] == tally[IN_PART, code]:
                    reach[ONLY_HERE, other] += 1
            reach[PENDING, kept] = other
            if not full:
                kept += 1
        n_pending = kept
    return n_pending


@inline_kernel
def goodness(attributes, node, value, reach, around, n_active, fixed, first, last, left, weight):
    """Return how good it is to cut off the items counted, of weight `left`: values first..last - 1 of a list.

    `fixed` is what is lost on attributes on which the part does not differ.
    """
    left_loss = fixed
    right_loss = fixed
    for i in range(n_active):
        a = reach[ACTIVE, i]
        low = reach[LOW, a]
        high = reach[HIGH, a]
        left_loss += loss_of(attributes[a], node, value, low, high, reach[DISTINCT, a])
        low = np.int64(min(around[0, first, a], around[2, last, a]))
        high = np.int64(max(around[1, first, a], around[3, last, a]))
        distinct = np.int64(around[4, last, a]) if first == 0 else reach[PART_VALUES, a] - reach[ONLY_HERE, a]
        right_loss += loss_of(attributes[a], node, value, low, high, distinct)
    return -(left * math.sqrt(left_loss) + (weight - left) * math.sqrt(right_loss))


@inline_kernel
def count_wider(loss, reach, n_active, number):
    """Return how many attributes of a part lose more than one of them; of equal ones the first counts as wider."""
    own = loss[reach[ACTIVE, number]]
    wider = 0
    for i in range(n_active):
        other = loss[reach[ACTIVE, i]]
        if other > own or (other == own and i < number):
            wider += 1
    return wider


@inline_kernel
def place_among(scores, found, score):
    """Return the place of a cut among those found so far, best first, after equal ones."""
    place = found
    while place > 0 and scores[place - 1] < score:
        place -= 1
    return place


@inline_kernel
def both_hold(conditions, histogram, left, weight):
    """Return whether both sides of a cut pass, given the part's histogram and that of one side."""
    if conditions.table.size == 0:
        return True
    for bar in range(histogram.shape[1]):
        histogram[RIGHT, bar] = histogram[WHOLE, bar] - histogram[LEFT, bar]
    return holds(conditions, histogram[LEFT], left) and holds(conditions, histogram[RIGHT], weight - left)


@inline_kernel
def put_in(scores, cuts, found, place, score):
    """Make room for a cut at its place; the last of all goes when there is no room for more."""
    for lower in range(found - 1, place, -1):
        scores[lower] = scores[lower - 1]
        for i in range(3):
            cuts[lower, i] = cuts[lower - 1, i]
    scores[place] = score


@kernel
def best_cuts(table, conditions, lists, low, high, chosen, rule, desk, scores, cuts):
    """Return how many allowed cuts are found, b at most, and the part's weight * loss.  -> (b,), (b, 3) in place.

    Best first; of equal ones the first attribute, then the first place. `chosen` is the attribute to cut, -1 for any.
    """
    k = conditions.k
    codes, attributes, node = table.codes, table.attribute, table.node
    begin, reach, histogram = desk.begin, desk.reach, desk.histogram
    middle = (low + high) // 2 if table.divide_ties else low
    n_active = survey(codes, attributes, node, table.value, lists, low, high, reach, desk.loss, desk.tally)
    histogram[WHOLE] = 0
    members = lists[lists.shape[0] - 1]  # in which every part is up to date
    weight = weigh(table.weight, table.share_start, table.shares, members, low, high, histogram[WHOLE])
    loss = 0.0
    fixed = 0.0
    active = 0
    for a in range(attributes.shape[0]):
        if active < n_active and reach[ACTIVE, active] == a:
            loss += desk.loss[a]
            active += 1
        else:
            fixed += desk.loss[a]
    loss += fixed
    found = np.int64(0)
    if weight < 2 * k:
        return found, weight * loss
    counted = n_active if rule == BEST else np.int64(0)
    for number in range(n_active):
        a = reach[ACTIVE, number]
        if chosen >= 0 and a != chosen:
            continue
        wider = count_wider(desk.loss, reach, n_active, number) if rule == WIDEST else 0
        desk.clock[0] += 1
        values = list_values(
            codes, attributes, lists[a], low, high, a, middle,
            begin, desk.around, reach, desk.tally, desk.clock[0], counted,
        )  # fmt: skip
        # One side is a run of values. From the first value on, every run is tried; from another value on, those that
        # are all there is below a node, unless they reach the end: that leaves a run from the first value on.
        for first in range(values - 1 if attributes[a, BY_NODE] == 1 else min(values - 1, 1)):
            forget(reach, counted)
            histogram[LEFT] = 0
            desk.clock[0] += 1
            left = np.int64(0)
            pending = counted
            above = attributes[a, NODE] + begin[1, first]
            for last in range(first + 1, values):
                if first > 0:
                    while above >= 0 and node[above, 1] < begin[1, last - 1]:
                        above = node[above, 2]
                    if above < 0 or node[above, 0] <= begin[1, first - 1]:
                        break
                begins, ends = begin[0, last - 1], begin[0, last]
                left += weigh(table.weight, table.share_start, table.shares, lists[a], begins, ends, histogram[LEFT])
                pending = count(
                    codes, attributes, lists[a], begins, ends, reach, desk.tally, desk.clock[0], pending, first == 0
                )
                if first == 0:
                    for i in range(counted):
                        other = reach[ACTIVE, i]
                        desk.around[0, last, other] = reach[LOW, other]
                        desk.around[1, last, other] = reach[HIGH, other]
                elif node[above, 1] >= begin[1, last]:
                    continue
                if left < k or weight - left < k:
                    continue
                if rule == BEST:
                    score = goodness(
                        attributes, node, table.value, reach, desk.around, counted, fixed, first, last, left, weight
                    )
                else:
                    score = min(left, weight - left) / weight - wider
                place = place_among(scores, found, score)
                if place < scores.size and both_hold(conditions, histogram, left, weight):
                    found = min(found + 1, scores.size)
                    put_in(scores, cuts, found, place, score)
                    cuts[place, 0] = a
                    cuts[place, 1] = begin[0, first]
                    cuts[place, 2] = begin[0, last]
    return found, weight * loss
