"""Audits of classes against their definitions, written out slowly with fractions."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, isinf, log, prod

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.builders import Given
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness

# A tree of values, and its parents and levels again, written by hand: branches skip levels, and a missing value hangs
# from the root, as "h" does, which never occurs.
PARENT = {"a": "p", "b": "p", "c": "q", "d": "q", "e": "q", "p": "r", "g": "r", "q": "*", "r": "*", "h": "*", None: "*"}
LEVEL = {"p": 1, "q": 2, "r": 2, "*": 3}
TREE = Hierarchy.from_paths(
    [
        ("a", "p", "r", "*"),
        ("b", "p", "r", "*"),
        ("g", "g'", "r", "*"),
        ("c", "c'", "q", "*"),
        ("d", "d'", "q", "*"),
        ("e", "e'", "q", "*"),
        ("h", "*"),
    ]
)
DOMAIN = ("c", "a", "h", "e", "b", "d", "g")  # an order of its own

values = st.sampled_from([*"abcdeg", None])
rows = st.lists(st.tuples(st.sampled_from(["1", "2", None]), st.sampled_from(["x", "*"]), values), max_size=30)
spread = st.lists(st.lists(values, min_size=1, max_size=9), min_size=1, max_size=4).map(
    lambda classes: [(str(number), "x", value) for number, members in enumerate(classes) for value in members]
)
tables = rows | spread
fractions = st.builds(Fraction, st.integers(1, 40), st.integers(1, 12))


def release_of(table, *, declared=False, numbers=False):
    if numbers:
        table = [(q1, q2, None if s is None else str("gaebcd".index(s) * 1.5 - 2)) for q1, q2, s in table]
    kind = Kind.NUMBER if numbers else Kind.ORDERED if declared else None
    schema = Schema(
        {
            "q1": ColumnSpec(name="q1", role=Role.QUASI_IDENTIFIER),
            "q2": ColumnSpec(name="q2", role=Role.QUASI_IDENTIFIER),
            "s": ColumnSpec(
                name="s",
                role=Role.SENSITIVE,
                kind=kind,
                hierarchy=None if numbers else Given(TREE),
                domain=DOMAIN if declared else None,
            ),
        }
    )
    columns = {name: pa.array([row[i] for row in table], pa.string()) for i, name in enumerate(("q1", "q2", "s"))}
    return Release.from_table(pa.table(columns), schema)


def classes_in(table):
    members = defaultdict(list)
    for q1, q2, s in table:
        members[q1, q2].append(s)
    return [Counter(values) for values in members.values()]


def expect(verdict, classes, passes, reached, worst):
    """Compare a verdict with what each class reached, slowly."""
    failing = [counts for counts, fine in zip(classes, passes, strict=True) if not fine]
    assert verdict.satisfied == (not failing and len(classes) > 0)
    assert bool(verdict.nothing_to_judge) == (not classes)
    assert verdict.groups == len(classes)
    assert verdict.failing == len(failing)
    assert verdict.failing_rows == sum(sum(counts.values()) for counts in failing)
    if not classes:
        assert verdict.reached is None
    elif isinf(worst(reached)):
        assert isinf(verdict.reached)
    else:
        assert verdict.reached == pytest.approx(float(worst(reached)), rel=1e-9, abs=1e-12)


@settings(max_examples=120, deadline=None)
@given(table=tables, k=st.integers(1, 8))
def test_k_anonymity_is_about_sizes(table, k):
    classes = classes_in(table)
    sizes = [sum(counts.values()) for counts in classes]

    expect(KAnonymity(k=k).audit(release_of(table)), classes, [size >= k for size in sizes], sizes, min)


@settings(max_examples=120, deadline=None)
@given(table=tables, l=st.integers(2, 6))
def test_distinct_diversity_is_about_different_values(table, l):
    classes = classes_in(table)
    distinct = [len(counts) for counts in classes]
    verdict = LDiversity(sensitive="s", l=l).audit(release_of(table))

    expect(verdict, classes, [found >= l for found in distinct], distinct, min)


def entropy_reaches(counts, l):
    n = sum(counts.values())
    return Fraction(n) ** n >= l**n * prod(count**count for count in counts.values())


def uncertainty(counts):
    n = sum(counts.values())
    return exp(-sum(count / n * log(count / n) for count in counts.values()))


@settings(max_examples=150, deadline=None)
@given(table=tables, l=st.integers(2, 6).map(Fraction) | fractions.map(lambda fraction: 1 + fraction))
def test_entropy_diversity_is_about_uncertainty(table, l):
    classes = classes_in(table)
    verdict = LDiversity(sensitive="s", l=l, kind="entropy").audit(release_of(table))

    expect(verdict, classes, [entropy_reaches(counts, l) for counts in classes], [*map(uncertainty, classes)], min)


@settings(max_examples=80, deadline=None)
@given(scale=st.integers(1, 50), counts=st.sampled_from([(4, 1, 1, 1, 1), (1, 1, 1, 1), (8, 8, 2, 2, 2, 2, 2, 2, 4)]))
def test_ties_of_entropy_at_whole_numbers_hold_whatever_the_scale(scale, counts):
    table = [("1", "x", "abcdeg"[i % 6] + str(i)) for i, count in enumerate(counts) for _ in range(count * scale)]
    exact = entropy_reaches(Counter(dict(enumerate(counts))), 4)

    assert LDiversity(sensitive="s", l=4, kind="entropy").audit(release_of(table)).satisfied == exact


@settings(max_examples=120, deadline=None)
@given(data=st.data(), table=tables, l=st.integers(2, 6))
def test_recursive_diversity_is_about_the_most_frequent_against_the_rare(data, table, l):
    classes = classes_in(table)
    ratios = []
    for counts in classes:
        falling = sorted(counts.values(), reverse=True)
        tail = sum(falling[l - 1 :])
        ratios.append(Fraction(falling[0], tail) if tail else float("inf"))
    ties = [ratio for ratio in ratios if ratio != float("inf")]
    c = data.draw(st.sampled_from(ties) | fractions if ties else fractions, label="c")
    verdict = LDiversity(sensitive="s", l=l, kind="recursive", c=c).audit(release_of(table))

    expect(verdict, classes, [ratio < c for ratio in ratios], ratios, max)


@settings(max_examples=120, deadline=None)
@given(data=st.data(), table=tables)
def test_frequency_diversity_is_about_the_largest_share(data, table):
    classes = classes_in(table)
    reached = [Fraction(sum(counts.values()), max(counts.values())) for counts in classes]
    ties = [found for found in reached if found > 1]
    l = data.draw(st.sampled_from(ties) | fractions.map(lambda x: 1 + x) if ties else fractions.map(lambda x: 1 + x))
    verdict = LDiversity(sensitive="s", l=l, kind="frequency").audit(release_of(table))

    expect(verdict, classes, [found >= l for found in reached], reached, min)


def differences(classes):
    """For each class, its share of each value minus the whole's."""
    total = sum(classes, Counter())
    n_rows = sum(total.values())
    return [
        {v: Fraction(counts[v], sum(counts.values())) - Fraction(total[v], n_rows) for v in total} for counts in classes
    ]


def equal(difference, order):
    return sum((abs(gap) for gap in difference.values()), Fraction(0)) / 2


def ordered(difference, order):
    running, way = Fraction(0), Fraction(0)
    for value in order:
        running += difference.get(value, 0)
        way += abs(running)
    return way / max(len(order) - 1, 1)


def hierarchical(difference, order):
    mass = defaultdict(Fraction)
    for value, gap in difference.items():
        node = value
        while node != "*":
            mass[node] += gap
            node = PARENT[node]
    span = {node: LEVEL[PARENT[node]] - LEVEL.get(node, 0) for node in mass}
    return sum((span[node] * abs(gap) for node, gap in mass.items()), Fraction(0)) / (2 * LEVEL["*"])


CASES = {
    "equal": ("equal", equal, {}, None),
    "hierarchical": ("hierarchical", hierarchical, {}, None),
    "ordered by domain": ("ordered", ordered, {"declared": True}, DOMAIN),
    "ordered by leaves": ("ordered", ordered, {}, "abgcdeh"),
    "ordered by number": ("ordered", ordered, {"numbers": True}, "gaebcd"),
}


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=80, deadline=None)
@given(data=st.data(), table=tables)
def test_closeness_is_about_the_way_to_the_whole(case, data, table):
    distance, slow, given_as, order = CASES[case]
    classes = classes_in(table)
    occurring = {row[2] for row in table}
    if order is not None:
        order = [value for value in order if value in occurring or "declared" in given_as]
        order += [None] if None in occurring else []
    distances = [slow(difference, order) for difference in differences(classes)]
    shares = fractions.map(lambda fraction: min(fraction, Fraction(1)))
    t = data.draw(st.sampled_from(distances) | shares if distances else shares, label="t")
    verdict = TCloseness(sensitive="s", t=t, distance=distance).audit(release_of(table, **given_as))

    expect(verdict, classes, [found <= t for found in distances], distances, max)


def ratios(classes):
    """For each class, how many times as common as in the whole each value is that occurs there."""
    total = sum(classes, Counter())
    n_rows = sum(total.values())
    return [
        {v: Fraction(count * n_rows, sum(counts.values()) * total[v]) for v, count in counts.items()}
        for counts in classes
    ], {v: Fraction(count, n_rows) for v, count in total.items()}


def power_of_e(exponent):
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


@settings(max_examples=150, deadline=None)
@given(data=st.data(), table=tables, enhanced=st.booleans())
def test_likeness_is_about_what_a_class_adds(data, table, enhanced):
    classes = classes_in(table)
    found, share = ratios(classes)
    gains = [max(max(ratio.values()) - 1, Fraction(0)) for ratio in found]
    ties = [gain for gain in gains if gain > 0]
    beta = data.draw(st.sampled_from(ties) | fractions if ties else fractions, label="beta")
    certain = [enhanced and any(power_of_e(r - 1) * share[v] > 1 for v, r in ratio.items() if r > 1) for ratio in found]
    reached = [float("inf") if lost else gain for gain, lost in zip(gains, certain, strict=True)]
    verdict = BetaLikeness(sensitive="s", beta=beta, kind="enhanced" if enhanced else "basic").audit(release_of(table))

    expect(verdict, classes, [gain <= beta for gain in reached], reached, max)


@settings(max_examples=150, deadline=None)
@given(table=tables, delta=fractions)
def test_disclosure_is_about_what_a_class_adds_and_takes(table, delta):
    classes = classes_in(table)
    found, share = ratios(classes)
    far = power_of_e(delta)
    passes = [len(r) == len(share) and all(1 / far < each < far for each in r.values()) for r in found]
    reached = [max(abs(log(each)) for each in r.values()) if len(r) == len(share) else float("inf") for r in found]
    verdict = DeltaDisclosure(sensitive="s", delta=delta).audit(release_of(table))

    expect(verdict, classes, passes, reached, max)


@settings(max_examples=60, deadline=None)
@given(table=tables, seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_labels_do_not_matter(table, seed):
    shuffled = list(table)
    seed.shuffle(shuffled)
    renamed = [(q1 and f"label {q1}", q2, s) for q1, q2, s in shuffled]
    for model in (
        KAnonymity(k=3),
        LDiversity(sensitive="s", l=2, kind="entropy"),
        TCloseness(sensitive="s", t=0.3, distance="hierarchical"),
    ):
        first, second = (model.audit(release_of(rows)).as_dict() for rows in (table, renamed))
        first["facts"] = second["facts"] = None  # among equally bad classes, another may be met first
        numbers = {key for key, value in first.items() if isinstance(value, float)}
        assert {key: first[key] for key in numbers} == pytest.approx({key: second[key] for key in numbers})
        others = first.keys() - numbers
        assert {key: first[key] for key in others} == {key: second[key] for key in others}
