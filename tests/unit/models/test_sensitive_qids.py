"""Models of sensitive quasi-identifiers: worst sets against brute force, planted faults, the paper's small tables."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sfumato.data.base_rates import BaseRates
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.models import SensitiveQidCloseness, SensitiveQidDiversity
from sfumato.models.base import describe
from sfumato.models.judging.worst_sets import Edges, equal_distance, hierarchical_edges, ordered_edges, tree_distance

TREE = Hierarchy.from_nested({"p": ["a", "b"], "q": {"r": ["c", "d"], "s": ["e"]}})


def posterior(share, chosen, rho):
    likelihood = np.where(np.isin(np.arange(share.size), chosen), 1.0, rho)
    return share * likelihood / (share * likelihood).sum()


def ways(distance, d):
    if distance == "equal":
        return 1.0 - np.eye(d)
    if distance == "ordered":
        return np.abs(np.subtract.outer(np.arange(d), np.arange(d))) / (d - 1)
    level = np.zeros((d, d))
    for i, j in combinations(range(d), 2):
        above = TREE.ancestors("abcde"[i])
        shared = next(label for label in TREE.ancestors("abcde"[j]) if label in above)
        level[i, j] = level[j, i] = TREE.level[TREE.node_of[shared]] / TREE.height
    return level


def transport(before, after, way):
    """The earth mover's distance, as the linear program that defines it."""
    d = before.size
    rows = np.kron(np.eye(d), np.ones(d))
    columns = np.kron(np.ones(d), np.eye(d))
    return linprog(way.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([before, after])).fun


def slowly(counts, eta, rho, distance):
    share, worst = counts / counts.sum(), 0.0
    for chosen in combinations(range(counts.size), eta):
        if share[list(chosen)].sum() > 0:
            worst = max(worst, transport(share, posterior(share, chosen, rho), ways(distance, counts.size)))
    return worst


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(0, 9), min_size=5, max_size=5).filter(any),
    eta=st.integers(1, 4),
    rho=st.fractions(0, 1, max_denominator=20),
    distance=st.sampled_from(["equal", "ordered", "hierarchical"]),
)
def test_the_worst_set_is_the_one_that_trying_all_finds(counts, eta, rho, distance):
    counts = np.array(counts)
    if distance == "equal":
        found = float(equal_distance(counts, eta, rho))
    else:
        edges = ordered_edges(5) if distance == "ordered" else hierarchical_edges(TREE, tuple("abcde"))
        found, exact = tree_distance(counts, eta, float(rho), edges)
        assert exact
    assert found == pytest.approx(slowly(counts, eta, float(rho), distance), abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), d=st.integers(2, 9), rho=st.fractions(0, 1, max_denominator=50))
def test_the_bound_is_never_below_what_a_set_reaches(data, d, rho):
    from sfumato.models.judging import worst_sets

    counts = np.array(data.draw(st.lists(st.integers(1, 30), min_size=d, max_size=d)))
    eta = data.draw(st.integers(1, d - 1))
    exact, _ = tree_distance(counts, eta, float(rho), ordered_edges(d))
    bound = worst_sets._bound(counts / counts.sum(), eta, float(rho), ordered_edges(d))
    assert bound >= exact - 1e-12


def test_large_sets_of_large_domains_are_tried_by_what_they_leave_out():
    counts = np.arange(1, 31)
    edges = Edges(np.eye(30, dtype=bool), np.full(30, 0.5))
    found, exact = tree_distance(counts, 28, 0.3, edges)
    assert exact
    assert found == pytest.approx(float(equal_distance(counts, 28, Fraction(3, 10))))


# Releases by hand.

DOMAIN = ("a", "b", "c", "d", "e")


def release(cells, *, eta, p=1.0, rates=None, domain=DOMAIN, others=None, **about):
    schema = Schema(
        {
            "x": ColumnSpec(name="x", role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=domain),
            "y": ColumnSpec(name="y", role=Role.QUASI_IDENTIFIER),
        }
    )
    table = pa.table({"x": list(cells), "y": others or ["z"] * len(cells)})
    description = {"columns": {"x": {"domain": list(domain), "eta": eta, "p": p, **about}}}
    found = Release.from_table(table, schema, json.loads(json.dumps(description)))
    return replace(found, public=PublicInputs(base_rates={"x": BaseRates(weight=rates, counted=True)} if rates else {}))


L2, T = SensitiveQidDiversity(l={"x": 2}), SensitiveQidCloseness(t={"x": "0.5"})


def test_two_values_in_each_cell_are_two_diverse():
    verdict = L2.audit(release(["a|b", "b|c", "a|e"], eta=2))
    assert verdict.satisfied
    assert verdict.facts["expanded"] == {"checked": True, "rows": 6, "classes": 1, "failing": 0, "least": {"x": 3.0}}
    assert verdict.facts["columns"]["x"]["k"] == 2
    assert not SensitiveQidDiversity(l={"x": 3}).audit(release(["a|b", "b|c"], eta=2)).satisfied


def test_the_record_of_the_paper_expands_to_eight_rows_and_is_two_diverse():
    """One person, each of name, age and disease beside one other value: 2 x 2 x 2 rows, two in each class."""
    columns = {"name": ("Alice", "Becky"), "age": ("20s", "30s"), "disease": ("Cold", "HIV")}
    schema = Schema(
        {
            name: ColumnSpec(name=name, role=Role.SENSITIVE_QUASI_IDENTIFIER, domain=values, kind=Kind.SET)
            for name, values in columns.items()
        }
    )
    table = pa.table({name: ["|".join(values)] for name, values in columns.items()})
    about = {"columns": {name: {"domain": values, "eta": 2, "p": 1.0} for name, values in columns.items()}}
    verdict = SensitiveQidDiversity(l=dict.fromkeys(columns, 2)).audit(Release.from_table(table, schema, about))
    assert verdict.satisfied
    assert verdict.facts["expanded"] == {
        "checked": True,
        "rows": 8,
        "classes": 12,
        "failing": 0,
        "least": {"age": 2.0, "disease": 2.0, "name": 2.0},
    }


def many_columns(etas, n, seed=2):
    """Records of several columns as sets of the stated sizes, drawn by chance, in aggregated form."""
    rng = np.random.default_rng(seed)
    names = [f"s{place}" for place in range(len(etas))]
    domain = tuple("abcdefg")
    cells = {
        name: ["|".join(domain[i] for i in sorted(rng.choice(7, eta, replace=False))) for _ in range(n)]
        for name, eta in zip(names, etas, strict=True)
    }
    schema = Schema(
        {
            name: ColumnSpec(name=name, role=Role.SENSITIVE_QUASI_IDENTIFIER, domain=domain, kind=Kind.SET)
            for name in names
        }
    )
    about = {name: {"domain": domain, "eta": eta, "p": 1.0} for name, eta in zip(names, etas, strict=True)}
    return (
        lambda: Release.from_table(pa.table(cells), schema, {"columns": about}),
        cells,
        dict(zip(names, etas, strict=True)),
    )


@pytest.mark.parametrize("kind", ["frequency", "entropy"])
def test_a_table_of_four_columns_is_two_two_two_three_diverse(kind):
    make, cells, l = many_columns((2, 2, 2, 3), 6)
    verdict = SensitiveQidDiversity(l=l, kind=kind).audit(make())
    assert verdict.satisfied
    assert verdict.facts["expanded"]["rows"] == 6 * 24
    assert verdict.facts["expanded"]["failing"] == 0
    assert [verdict.facts["columns"][name]["k"] for name in l] == [2, 2, 2, 3]
    assert not SensitiveQidDiversity(l={**l, "s0": 3}, kind=kind).audit(make()).satisfied
    cells["s3"][2] = cells["s3"][2][:3]  # one value less in one cell
    verdict = SensitiveQidDiversity(l=l, kind=kind).audit(make())
    assert not verdict.satisfied
    assert verdict.failing_rows >= 1


def test_entropy_and_frequency_differ_where_the_expanded_table_says_so():
    cells = ["a|b|c", "a|b|c", "a"]
    by_frequency = SensitiveQidDiversity(l={"x": 2})
    counts = {"a": 3, "b": 2, "c": 2}
    from collections import Counter

    assert not SensitiveQidDiversity(l={"x": 3})._diverse(Counter(counts), 3)
    assert not SensitiveQidDiversity(l={"x": 3}, kind="entropy")._diverse(Counter(counts), 3)
    assert by_frequency._diverse(Counter(counts), 2)
    assert not SensitiveQidDiversity(l={"x": 2})._diverse(Counter(a=6, b=2, c=2), 2)
    assert SensitiveQidDiversity(l={"x": 2}, kind="entropy")._diverse(Counter(a=6, b=2, c=2), 2)
    assert not by_frequency.audit(release(cells, eta=3)).satisfied


@pytest.mark.parametrize("cells", [["a|b", "b"], ["a|b", "a|b|c"], ["a|b", ""]])
def test_a_cell_of_another_size_than_stated_is_caught(cells):
    verdict = L2.audit(release(cells, eta=2))
    assert not verdict.satisfied
    assert verdict.facts["faults"] == {"x": ["cells of another size than eta"]}


def test_a_cell_that_is_not_in_order_is_caught():
    verdict = L2.audit(release(["a|b", "c|b"], eta=2))
    assert not verdict.satisfied
    assert verdict.facts["faults"] == {"x": ["cells that are not in the order of the domain"]}


def drawn(rng, values, eta, p, d=5):
    """Sets by the definition, one cell at a time."""
    for value in values:
        if rng.random() < p:
            others = rng.choice([other for other in range(d) if other != value], eta - 1, replace=False)
            yield sorted([value, *others.tolist()])
        else:
            yield sorted(rng.choice(d, eta, replace=False).tolist())


def cells_of(sets):
    return ["|".join(DOMAIN[item] for item in chosen) for chosen in sets]


RATES = {"a": 1200, "b": 600, "c": 150, "d": 50, "e": 0}
VALUES = [place for place, label in enumerate(DOMAIN) for _ in range(RATES[label])]


def test_fair_draws_pass_and_draws_with_another_p_are_caught():
    rng = np.random.default_rng(3)
    loose = SensitiveQidCloseness(t={"x": 1})
    fair = release(cells_of(drawn(rng, VALUES, 2, 0.4)), eta=2, p=0.4, rates=RATES)
    assert loose.audit(fair).satisfied
    for p in (0.1, 0.8, 1.0):
        spoiled = release(cells_of(drawn(rng, VALUES, 2, p)), eta=2, p=0.4, rates=RATES)
        verdict = loose.audit(spoiled)
        assert not verdict.satisfied
        assert verdict.facts["faults"] == {"x": ["values shown more or less often than p and eta allow"]}


def test_without_base_rates_impossible_counts_are_still_caught():
    rng = np.random.default_rng(3)
    fair = release(cells_of(drawn(rng, [0] * 2000, 2, 0.4)), eta=2, p=0.4)
    assert SensitiveQidCloseness(t={"x": 1}).audit(fair).satisfied
    spoiled = release(cells_of(drawn(rng, [0] * 2000, 2, 1.0)), eta=2, p=0.4)
    assert not SensitiveQidCloseness(t={"x": 1}).audit(spoiled).satisfied


def test_true_values_that_are_missing_beyond_chance_are_caught():
    rng = np.random.default_rng(4)
    sets = list(drawn(rng, VALUES, 2, 1.0))
    assert L2.audit(release(cells_of(sets), eta=2, rates=RATES)).satisfied
    for row in range(300):  # the true value, 0, gives way to one that the cell does not have yet
        sets[row] = sorted([*(set(sets[row]) - {0}), next(v for v in (4, 3) if v not in sets[row])])
    assert not L2.audit(release(cells_of(sets), eta=2, rates=RATES)).satisfied


def test_a_larger_p_than_t_allows_is_caught():
    rng = np.random.default_rng(5)
    model = SensitiveQidCloseness(t={"x": "0.3"})
    verdicts = {}
    for p in (0.2, 0.9):
        verdicts[p] = model.audit(release(cells_of(drawn(rng, VALUES, 2, p)), eta=2, p=p, rates=RATES))
    assert verdicts[0.2].satisfied
    assert not verdicts[0.9].satisfied
    assert verdicts[0.9].reached > 0.3
    without_rates = model.audit(release(cells_of(drawn(rng, VALUES, 2, 0.9)), eta=2, p=0.9))
    assert not without_rates.satisfied
    assert without_rates.facts["columns"]["x"]["prior"] == "estimated from the release"


@pytest.mark.slow
@given(d=st.integers(2, 30), eta=st.integers(1, 29), t=st.fractions(Fraction(1, 100), 1), p=st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_closeness_to_any_prior_is_closeness_to_the_worst_of_them(d, eta, t, p):
    if eta >= d:
        return
    domain = tuple(f"v{place:02}" for place in range(d))
    cells = ["|".join(domain[:eta])]
    model = SensitiveQidCloseness(t={"x": t}, prior="any")
    verdict = model.audit(release(cells, eta=eta, p=p / 10_000, domain=domain))
    rho = (1 - p / 10_000) / (1 - p / 10_000 + p / 10_000 * d / eta)
    mass = np.linspace(1e-6, 1 - 1e-6, 20_001)
    worst = ((1 - rho) * mass * (1 - mass) / (mass + rho * (1 - mass))).max()
    if abs(worst - float(t)) > 1e-4:
        assert verdict.satisfied == (worst <= t)
    assert verdict.reached == pytest.approx(worst, abs=1e-3)


def test_small_domains_follow_the_rule_that_the_requirement_names():
    cell = ["a|b|c|d|e"] * 3
    assert not SensitiveQidDiversity(l={"x": 9}).audit(release(cell, eta=5, p=0.0)).satisfied
    assert SensitiveQidDiversity(l={"x": 9}, small_domain="suppress").audit(release(cell, eta=5, p=0.0)).satisfied
    four = ["a|b|c|d"] * 2
    lowered = SensitiveQidDiversity(l={"x": 5}, small_domain="lower").audit(release(four, eta=4))
    assert lowered.satisfied
    assert lowered.facts["columns"]["x"]["small_domain"] == "lower"
    assert not SensitiveQidDiversity(l={"x": 5}, small_domain="suppress").audit(release(four, eta=4)).satisfied


@pytest.mark.parametrize(
    "about",
    [
        {"eta": 0},
        {"eta": 6},
        {"eta": "2"},
        {"p": 1.5},
        {"p": -0.1},
        {"p": None},
        {"domain": ["a", "a"]},
        {"domain": "ab"},
    ],
)
def test_a_damaged_description_is_an_error(about):
    broken = release(["a|b"], **{"eta": 2, "p": 1.0} | {k: v for k, v in about.items() if k != "domain"})
    if "domain" in about:
        broken.description["columns"]["x"]["domain"] = about["domain"]
    with pytest.raises(DataError):
        L2.audit(broken)


def test_another_domain_than_the_declared_one_is_an_error():
    found = release(["a|b"], eta=2)
    found.description["columns"]["x"]["domain"] = list("abcdef")
    with pytest.raises(DataError, match="domain"):
        L2.audit(found)


def test_a_release_without_description_cannot_be_judged():
    found = release(["a|b"], eta=2)
    found.description["columns"]["x"].pop("p")
    with pytest.raises(DataError, match="does not state its p"):
        T.audit(found)


@pytest.mark.parametrize(
    ("make", "parameters"),
    [
        (SensitiveQidDiversity, {"l": 3}),
        (SensitiveQidDiversity, {"l": {}}),
        (SensitiveQidDiversity, {"l": {"x": 1}}),
        (SensitiveQidDiversity, {"l": {"x": 2.5}}),
        (SensitiveQidDiversity, {"l": {"x": 2}, "kind": "distinct"}),
        (SensitiveQidDiversity, {"l": {"x": 2}, "small_domain": "ignore"}),
        (SensitiveQidCloseness, {"t": {"x": 0}}),
        (SensitiveQidCloseness, {"t": {"x": -1}}),
        (SensitiveQidCloseness, {"t": {"x": 1.1}}),
        (SensitiveQidCloseness, {"t": {"x": "much"}}),
        (SensitiveQidCloseness, {"t": {"x": 0.1}, "distance": "far"}),
        (SensitiveQidCloseness, {"t": {"x": 0.1}, "prior": "none"}),
    ],
)
def test_parameters_out_of_range_are_refused(make, parameters):
    with pytest.raises(PolicyError):
        make(**parameters)


def test_parameters_are_described_as_plain_numbers():
    about = describe(SensitiveQidCloseness(t={"x": 0.1, "y": "1/3"}))
    assert about["t"] == {"x": 0.1, "y": "1/3"}
    assert json.dumps(about)


@pytest.mark.slow
def test_every_set_size_has_as_many_sets_as_it_should():
    from sfumato.models.judging.worst_sets import _all_sets

    for d, size in ((6, 3), (24, 2), (30, 2), (30, 28)):
        rows = np.concatenate(list(_all_sets(d, size)))
        assert len({tuple(row) for row in rows.tolist()}) == len(rows) == comb(d, size)
        assert (rows.sum(axis=1) == size).all()


# Tables of any tool, which do not say how their cells were made.


def unstated(columns, judged, domain="abcd"):
    """Return a table of sets as a release without a description; columns that are not judged are quasi-identifiers."""
    specs = {
        name: ColumnSpec(name=name, role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.CATEGORY, domain=tuple(domain))
        if name in judged
        else ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER)
        for name in columns
    }
    return Release.from_table(pa.table(columns), Schema(specs))


FOUR_CLASSES = {
    "age": ["41", "41"] + ["51"] * 6,
    "address": ["13*-17*"] * 2 + ["13*-14*"] * 2 + ["14*-16*"] * 4,
    "job": ["*"] * 2 + ["Lawyer"] * 6,
    "visit": ["1"] * 6 + ["2"] * 2,
    "disease": ["Fever", "Obesity", "Fever", "Obesity", "HIV", "Fever", "HIV", "Obesity"],
}


@pytest.mark.parametrize("kind", ["frequency", "entropy"])
def test_the_papers_table_of_another_method_is_judged_by_the_definition(kind):
    """Four classes of two records with two diseases each, as in Table II(b): (1, 1, 1, 2)-diverse, and no more."""
    diseases = ("Fever", "HIV", "Obesity")
    release = unstated(FOUR_CLASSES, {"disease"}, diseases)
    verdict = SensitiveQidDiversity(l={"disease": 2}, kind=kind).audit(release)
    assert (verdict.satisfied, verdict.groups, verdict.required) == (True, 4, 2)
    assert verdict.reached == pytest.approx(2)
    assert "by the definition alone" in verdict.notes[0]

    assert not SensitiveQidDiversity(l={"disease": 3}, kind=kind).audit(release).satisfied
    ages = unstated(FOUR_CLASSES, {"age"}, ("41", "51"))
    verdict = SensitiveQidDiversity(l={"age": 2}, kind=kind).audit(ages)
    assert (verdict.satisfied, verdict.reached, verdict.failing) == (False, 1, 8)


open_cells = st.lists(st.sets(st.sampled_from("abcd"), min_size=1, max_size=3).map(sorted), min_size=1, max_size=7)


@pytest.mark.slow
@settings(max_examples=80)
@given(st.data(), st.integers(2, 3), st.sampled_from(["frequency", "entropy"]))
def test_a_table_without_parameters_is_judged_as_it_is_defined(data, l, kind):
    jobs = data.draw(open_cells)
    homes = data.draw(st.lists(st.sampled_from("ab"), min_size=len(jobs), max_size=len(jobs)))
    release = unstated({"home": homes, "job": ["|".join(cell) for cell in jobs]}, {"job"})
    verdict = SensitiveQidDiversity(l={"job": l}, kind=kind).audit(release)

    holds = True
    for home in set(homes):
        values = [value for cell, of in zip(jobs, homes, strict=True) if of == home for value in cell]
        share = [values.count(value) / len(values) for value in set(values)]
        if kind == "frequency":
            holds &= all(values.count(value) * l <= len(values) for value in values)
        else:
            holds &= -sum(p * np.log(p) for p in share) >= np.log(l) - 1e-12
    assert verdict.satisfied == holds


def test_what_cannot_be_decided_is_said(monkeypatch):
    monkeypatch.setattr("sfumato.models.sensitive_qid_diversity.EXPANDED", 10)
    many = {"home": ["a"] * 12, "job": ["a|b"] * 11 + ["c"]}
    with pytest.raises(DataError, match="cells of column 'job' show 1 values, fewer than 2"):
        SensitiveQidDiversity(l={"job": 2}).audit(unstated(many, {"job"}))
    many["job"][-1] = "b|c"  # each cell shows two: no need to look at combinations
    assert SensitiveQidDiversity(l={"job": 2}).audit(unstated(many, {"job"})).satisfied
    with pytest.raises(DataError, match="it cannot be decided how likely each value of a cell is"):
        SensitiveQidCloseness(t={"job": 0.3}).audit(unstated(many, {"job"}))
