from itertools import pairwise
from math import isclose, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.classes import cuts as cut_loops
from sfumato.kernels.classes import mondrian
from sfumato.kernels.classes.conditions import DISTINCT, Condition, make_conditions
from sfumato.kernels.classes.cuts import BALANCED, BEST, RANGE, SET, TREE, WIDEST, Table, make_desk

# Attribute 0 is a number whose last value is missing, 1 is published as a set, 2 as a node of a tree over 0..4:
# node 5 = {0, 1}, node 6 = {2, 3}, node 7 = {0, 1, 2, 3}, node 8 = everything.
POSITION = [0.0, 0.25, 0.5, 1.0, 2.0]
END = [0.0, 0.375, 0.75, 1.0, 2.0]  # a code may be a band of several numbers
FIRST, LAST, PARENT = [0, 1, 2, 3, 4, 0, 2, 0, 0], [0, 1, 2, 3, 4, 1, 3, 3, 4], [5, 5, 6, 6, 8, 7, 7, 8, -1]
VALUES = 5
HELPERS = [
    (module, name)
    for module in (cut_loops, mondrian)
    for name, value in vars(module).items()
    if hasattr(value, "py_func") and name != "holds"
]


NONE = (-1, -1, -1)  # where a weight stands
WEIGHTS = (1.0, 1.5, 0.5)


@pytest.fixture(params=["compiled", "plain"], scope="module")
def kernels(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "plain":
            for module, name in HELPERS:
                patch.setattr(module, name, getattr(module, name).py_func)
        yield SimpleNamespace(**{name: getattr(module, name) for module, name in HELPERS})


def table_of(rows, *, divide_ties=False, by_node=True):
    """Rows of (number, set, tree, sensitive value) as a table; equal rows are one item unless ties are divided."""
    codes = [row[:3] for row in rows]
    items = sorted(codes) if divide_ties else sorted(set(codes))
    secrets = {}
    for row in sorted(rows):
        secrets.setdefault(row[:3], []).append(row[3])
    shares = [[secrets[item].pop(0)] if divide_ties else secrets[item] for item in items]
    single = [(code, code, -1) for code in range(VALUES)]
    tree = [(*node[:2], node[2] + 18 if node[2] >= 0 else -1) for node in zip(FIRST, LAST, PARENT, strict=True)]
    losses = [(last - first) / (VALUES - 1) for first, last in zip(FIRST, LAST, strict=True)]
    return Table(
        codes=np.array(items, dtype=np.int32),
        weight=np.array([len(share) for share in shares], dtype=np.int64),
        share_start=np.concatenate([[0], np.cumsum([len(share) for share in shares])]).astype(np.int64),
        shares=np.array([(value, 1) for share in shares for value in share], dtype=np.int64),
        attribute=np.array(
            [(1, VALUES, RANGE, 0), (12, VALUES, SET, by_node), (18, VALUES, TREE, by_node)], dtype=np.int64
        ),
        node=np.array([NONE, *single, *single, NONE, *single, NONE, *tree], dtype=np.int64),
        value=np.array([WEIGHTS[0], *POSITION, *END, WEIGHTS[1], *[0.0] * VALUES, WEIGHTS[2], *losses]),
        divide_ties=divide_ties,
    )


def conditions_of(rows, k, l=1):
    counts = np.bincount([row[3] for row in rows], minlength=3)
    return make_conditions(k, len(rows), [counts], [Condition(DISTINCT, 0, l)] if l > 1 else [])


def sorted_lists(table):
    orders = [np.argsort(table.codes[:, a], kind="stable") for a in range(3)]
    return np.array([*orders, np.arange(len(table.codes))], dtype=np.int32)


def slow_loss(table, items):
    """What some items lose, straight from the definitions."""
    numbers, in_set, in_tree = ({int(table.codes[item, a]) for item in items} for a in range(3))
    mixed = 4 in numbers and len(numbers) > 1  # missing and others
    number_loss = 1.0 if mixed else END[max(numbers)] - POSITION[min(numbers)]
    covering = [(LAST[n] - FIRST[n]) / 4 for n in range(9) if FIRST[n] <= min(in_tree) and max(in_tree) <= LAST[n]]
    return WEIGHTS[0] * number_loss + WEIGHTS[1] * (len(in_set) - 1) / 4 + WEIGHTS[2] * min(covering)


def slow_weight(table, items):
    return int(sum(table.weight[item] for item in items))


def slow_cuts(table, conditions, items, rule):
    """Every allowed cut of a part, {(attribute, items of one side): score}."""
    found = {}
    widths = [
        slow_loss(table, items) - slow_loss(table._replace(codes=np.where(np.arange(3) == a, 0, table.codes)), items)
        for a in range(3)
    ]
    differing = [a for a in range(3) if len({int(table.codes[item, a]) for item in items}) > 1]
    for a in differing:
        ordered = sorted(items, key=lambda item: (table.codes[item, a], item))
        present = sorted({int(table.codes[item, a]) for item in items})
        sides = [[item for item in ordered if table.codes[item, a] <= last] for last in present[:-1]]
        if table.divide_ties:
            sides.append(ordered[: len(ordered) // 2])
        if table.attribute[a, 3]:
            nodes = [(code, code) for code in range(5)] + (list(zip(FIRST, LAST, strict=True)) if a == 2 else [])
            for first, last in nodes:
                below = [code for code in present if first <= code <= last]
                if below and below[0] != present[0] and below[-1] != present[-1]:
                    sides.append([item for item in ordered if first <= table.codes[item, a] <= last])
        for side in sides:
            rest = [item for item in items if item not in side]
            if not all(slow_holds(table, conditions, half) for half in (side, rest)):
                continue
            left, right = slow_weight(table, side), slow_weight(table, rest)
            if rule == BEST:
                score = -(left * sqrt(slow_loss(table, side)) + right * sqrt(slow_loss(table, rest)))
            else:
                score = min(left, right) / (left + right)
                if rule == WIDEST:
                    score -= sum((-widths[b], b) < (-widths[a], a) for b in differing)
            found[a, tuple(side)] = score
    return found


def slow_holds(table, conditions, items):
    values = {
        int(value) for item in items for value, _ in table.shares[table.share_start[item] : table.share_start[item + 1]]
    }
    needed = int(conditions.table[0, 3]) if len(conditions.table) else 1
    return slow_weight(table, items) >= conditions.k and len(values) >= needed


rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=14
)
asked = {"k": st.integers(1, 4), "l": st.integers(1, 2)}


@settings(max_examples=60, deadline=None)
@given(items=st.sets(st.tuples(*[st.integers(0, 4)] * 3), min_size=1))
def test_losses_follow_their_definitions(items):
    table = table_of([(*item, 0) for item in items])
    parts = [
        (table.attribute[a], table.node, table.value, int(codes.min()), int(codes.max()), len(set(codes.tolist())))
        for a, codes in enumerate(table.codes.T)
    ]
    for loss_of in (cut_loops.loss_of, cut_loops.loss_of.py_func):
        assert isclose(sum(loss_of(*part) for part in parts), slow_loss(table, range(len(items))), abs_tol=1e-12)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    rows=rows,
    **asked,
    b=st.integers(1, 9),
    rule=st.sampled_from([BEST, WIDEST, BALANCED]),
    divide_ties=st.booleans(),
    by_node=st.booleans(),
)
def test_the_best_cuts_are_those_of_a_slow_search(kernels, rows, k, l, b, rule, divide_ties, by_node):
    table, conditions = table_of(rows, divide_ties=divide_ties, by_node=by_node), conditions_of(rows, k, l)
    lists, n = sorted_lists(table), len(table.codes)
    scores, cuts = np.zeros(b), np.zeros((b, 3), dtype=np.int64)

    found, loss = kernels.best_cuts(
        table, conditions, lists, 0, n, -1, rule, make_desk(table, conditions.bars, 0), scores, cuts
    )

    expected = slow_cuts(table, conditions, range(n), rule)
    best = sorted(expected.values(), reverse=True)[:b]
    assert found == len(best)
    assert np.allclose(scores[:found], best)
    chosen = [(int(a), tuple(sorted(lists[a, first:last].tolist()))) for a, first, last in cuts[:found]]
    by_side = {(a, tuple(sorted(side))): score for (a, side), score in expected.items()}
    assert len(set(chosen)) == found
    assert np.allclose([by_side[cut] for cut in chosen], scores[:found])
    assert isclose(loss, slow_weight(table, range(n)) * slow_loss(table, range(n)), abs_tol=1e-9)


def test_a_chosen_attribute_is_the_only_one_that_is_cut(kernels):
    table = table_of([(i % 5, i % 3, i % 4, 0) for i in range(12)])
    conditions = conditions_of([(0, 0, 0, 0)] * 12, 1)
    for attribute in range(3):
        scores, cuts = np.zeros(50), np.zeros((50, 3), dtype=np.int64)
        desk = make_desk(table, conditions.bars, 0)
        found, _ = kernels.best_cuts(table, conditions, sorted_lists(table), 0, 12, attribute, BEST, desk, scores, cuts)
        assert found > 0
        assert set(cuts[:found, 0]) == {attribute}


def slow_outcome(table, conditions, items):
    """What some items lose in the end when every part is cut by its best cut; None when two cuts are equally good."""
    found = slow_cuts(table, conditions, items, BEST)
    if not found:
        return slow_weight(table, items) * slow_loss(table, items)
    ranked = sorted(found.values(), reverse=True)
    if any(isclose(one, other, abs_tol=1e-9) for one, other in pairwise(ranked[:2])):
        return None
    _, side = max(found, key=found.__getitem__)
    return add(
        slow_outcome(table, conditions, side),
        slow_outcome(table, conditions, [item for item in items if item not in side]),
    )


def add(one, other):
    return None if one is None or other is None else one + other


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows=rows, **asked, b=st.integers(2, 6))
def test_cuts_that_are_followed_stand_in_the_order_of_what_is_lost_in_the_end(kernels, rows, k, l, b):
    table, conditions = table_of(rows), conditions_of(rows, k, l)
    n = len(table.codes)
    parts, chosen = np.array([[0, n]]), np.array([-1])
    desk = make_desk(table, conditions.bars, n)

    def proposed(follow):
        scores, cuts, found = np.zeros((1, b)), np.zeros((1, b, 3), dtype=np.int64), np.zeros(1, dtype=np.int64)
        lists = sorted_lists(table)
        kernels.propose(table, conditions, lists, parts, chosen, BEST, follow, desk, scores, cuts, found, 0, 1)
        assert np.array_equal(lists, sorted_lists(table))
        return [tuple(cut) for cut in cuts[0, : found[0]].tolist()], scores[0]

    (plain, plain_scores), (followed, followed_scores) = proposed(0), proposed(n)

    assert sorted(plain) == sorted(followed)
    score_of = dict(zip(plain, plain_scores, strict=False))
    assert [score_of[cut] for cut in followed] == followed_scores[: len(followed)].tolist()
    outcomes = []
    for a, first, last in followed:
        side = sorted_lists(table)[a, first:last].tolist()
        rest = [item for item in range(n) if item not in side]
        outcomes.append(add(slow_outcome(table, conditions, side), slow_outcome(table, conditions, rest)))
    if outcomes and None not in outcomes:
        assert outcomes[0] <= min(outcomes) + 1e-9


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows=rows, data=st.data())
def test_dividing_keeps_every_list_in_order(kernels, rows, data):
    table = table_of(rows)
    n = len(table.codes)
    low = data.draw(st.integers(0, n - 1))
    before = sorted_lists(table)
    a = data.draw(st.integers(0, 2))
    # A part: items of one value range of attribute 0, which stand side by side in every list once they are put there.
    lists = before.copy()
    side = np.zeros(n, dtype=np.bool_)
    side[before[0, :low]] = True
    for members in lists:
        kernels.divide_list(members, 0, n, side, np.zeros(n, dtype=np.int32))
    first = data.draw(st.integers(low, n - 1))
    last = data.draw(st.integers(first + 1, n))
    cut_off = lists[a, first:last].tolist()
    part = set(before[0, low:].tolist())
    middle = np.zeros(1, dtype=np.int64)
    others = lists[:, :low].copy()

    kernels.divide(
        table.codes,
        lists,
        np.array([[low, n]]),
        np.array([[a, first, last]]),
        np.zeros(n, dtype=np.bool_),
        np.zeros(n, dtype=np.int32),
        middle,
        0,
        1,
    )

    assert middle[0] == low + len(cut_off)
    assert np.array_equal(lists[:, :low], others)
    assert lists[3, low : middle[0]].tolist() == sorted(cut_off)
    assert lists[3, middle[0] :].tolist() == sorted(part - set(cut_off))
    for attribute in range(3):
        values = {int(table.codes[item, attribute]) for item in part}
        if len(values) > 1:
            for members, there in ((lists[attribute, low : middle[0]], cut_off), (lists[attribute, middle[0] :], part)):
                expected = [item for item in there if there is cut_off or item not in cut_off]
                assert members.tolist() == sorted(expected, key=lambda item: (table.codes[item, attribute], item))


def test_threads_share_the_parts(kernels):
    rows = [(i % 5, (i * 3) % 5, (i * 7) % 4, i % 3) for i in range(40)]
    table, conditions = table_of(rows), conditions_of(rows, 1)
    n, b = len(table.codes), 3
    cut = [[[0, n // 3], [n // 3, n]], [[0, n]]]  # lists sorted within each of these parts
    for parts in map(np.array, cut):
        lists = sorted_lists(table)
        for low, high in parts:
            for a in range(3):
                lists[a, low:high] = sorted(range(low, high), key=lambda item, a=a: (table.codes[item, a], item))
        results = []
        for threads in (1, 2):
            p = len(parts)
            scores, cuts, found = np.zeros((p, b)), np.zeros((p, b, 3), dtype=np.int64), np.zeros(p, dtype=np.int64)
            for thread in range(threads):
                desk = make_desk(table, conditions.bars, n)
                kernels.propose(
                    table, conditions, lists, parts, np.full(p, -1), BEST, n, desk, scores, cuts, found, thread, threads
                )
            results.append((scores, cuts, found))
        assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))
        assert results[0][2].all()
