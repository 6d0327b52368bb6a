"""Parameters against brute force, every release past its audit, refusals, and what release.json may hold."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.randomization import _subsets, dependence
from sfumato.anonymizers.randomization import parameters as randomization_parameters
from sfumato.anonymizers.randomization.dependence import Candidate, dependences, strengths
from sfumato.anonymizers.randomization.parameters import Closeness, Parameters, choose, hierarchical, ordered
from sfumato.data import keystream
from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import InputError, Unsatisfiable
from sfumato.plan import Plan

TREE = Hierarchy.from_nested({"north": ["a", "b"], "south": {"east": ["c", "d"], "west": ["e"]}})


def way(difference, distance):
    """The earth mover's distance of two distributions over a to e, from their difference."""
    if distance == "equal":
        return np.abs(difference).sum() / 2
    if distance == "ordered":
        return np.abs(np.cumsum(difference)[:-1]).sum() / (difference.size - 1)
    total = 0.0
    for node, above in enumerate(TREE.parent):
        if above >= 0:
            label = TREE.labels[node]
            below = [place for place, leaf in enumerate("abcde") if label in TREE.ancestors(leaf)]
            total += (TREE.level[above] - TREE.level[node]) * abs(difference[below].sum())
    return total / (2 * TREE.height)


def farthest(share, eta, p, distance):
    """The largest distance over all sets, by the definition."""
    rho, worst = (1 - p) / (1 - p + p * share.size / eta), 0.0
    for chosen in combinations(range(share.size), eta):
        belief = share * np.where(np.isin(np.arange(share.size), chosen), 1.0, rho)
        if belief.sum() > 0:
            worst = max(worst, way(belief / belief.sum() - share, distance))
    return worst


def largest_p(share, eta, t, distance):
    """The largest p of four decimals that keeps within t, by halving."""
    low, high = 0, 10_001
    while high - low > 1:
        middle = (low + high) // 2
        safe = farthest(share, eta, middle / 1e4, distance) <= t + 1e-12
        low, high = (middle, high) if safe else (low, middle)
    return low / 1e4


def edges_of(distance):
    return {"equal": None, "ordered": ordered(5), "hierarchical": hierarchical(TREE, "abcde")}[distance]


five = st.lists(st.integers(0, 40), min_size=5, max_size=5).filter(any)
small_t = st.fractions(Fraction(1, 50), Fraction(9, 10), max_denominator=50)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(five, small_t, st.integers(1, 4), st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_chosen_parameters_are_safe_and_the_best_that_are(counts, t, least, distance):
    counts = np.array(counts)
    share = counts / counts.sum()
    found = choose(5, least, [Closeness(t, counts, edges_of(distance))])
    assert found.eta >= least
    allowed = {eta: largest_p(share, eta, t, distance) for eta in range(least, 5)}
    # On a tie floats may fall to either side: p then misses its last decimal.
    missed = 0 if distance == "equal" else 1e-4
    noises = [eta / ((p - missed) ** 2 * (5 - eta)) for eta, p in allowed.items() if p > missed]
    if found.eta < 5:
        assert farthest(share, found.eta, float(found.p), distance) <= t + 1e-9
        noise = found.eta / (float(found.p) ** 2 * (5 - found.eta))
        assert noise <= min(noises) * (1 + 1e-9)
    else:
        assert not noises


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(five, small_t, st.sampled_from(["ordered", "hierarchical", "equal"]))
def test_where_sets_are_not_tried_the_bound_is_safe(counts, t, distance):
    counts = np.array(counts)
    exact = Closeness(t, counts, edges_of(distance)).ratios(5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomization_parameters, "SETS", 0)
        patch.setattr(randomization_parameters, "SUMS", 0)
        bound = Closeness(t, counts, edges_of(distance)).ratios(5)
    assert all(more >= less - 1e-12 for more, less in zip(bound, exact, strict=True))


def test_diversity_alone_shows_l_values_always_with_the_true_one():
    assert choose(10, 3, []) == Parameters(10, 3, Fraction(1))


def test_any_prior_needs_no_counts_and_is_as_private_as_the_formula_says():
    t = Fraction(1, 10)
    found = choose(20, 1, [Closeness(t, None)])
    assert found.epsilon <= 2 * math.log((1 + t) / (1 - t))
    assert found.epsilon == pytest.approx(2 * math.log((1 + t) / (1 - t)), rel=1e-2)


def test_the_expected_error_is_the_published_formula():
    d, eta, p, n = 10, 4, Fraction(4, 5), 3000
    numerator = (1 - d) * (p**2 * d + eta - (p**2 + d) * eta)
    assert Parameters(d, eta, p).expected_l2(n) == pytest.approx(math.sqrt(numerator / (p**2 * d * n * (d - eta))))


@pytest.mark.parametrize(("n", "size"), [(5, 0), (5, 5), (6, 3), (17, 4)])
def test_tables_hold_each_subset_once(n, size):
    packed = _subsets(n, size)
    assert sorted(packed.tolist()) == sorted(sum(1 << i for i in chosen) for chosen in combinations(range(n), size))


# Whole runs.

MODES = {
    "l": [{"model": "sensitive-qid-diversity", "l": {"x": 2, "y": 3}}],
    "entropy": [{"model": "sensitive-qid-diversity", "l": {"x": 2, "y": 3}, "kind": "entropy"}],
    "equal": [{"model": "sensitive-qid-closeness", "t": {"x": 0.2, "y": 0.4}}],
    "ordered": [{"model": "sensitive-qid-closeness", "t": {"x": 0.2, "y": 0.1}, "distance": "ordered"}],
    "hierarchical": [
        {"model": "sensitive-qid-closeness", "t": {"x": 0.2}, "distance": "hierarchical"},
        {"model": "sensitive-qid-closeness", "t": {"y": 0.2}},
    ],
    "any": [{"model": "sensitive-qid-closeness", "t": {"x": 0.3, "y": 0.2}, "prior": "any"}],
    "both": [
        {"model": "sensitive-qid-diversity", "l": {"x": 2, "y": 2}},
        {"model": "sensitive-qid-closeness", "t": {"x": 0.3, "y": 0.2}},
    ],
}


def plan_of(requirements, **columns):
    tree = {"north": ["a", "b"], "south": {"east": ["c", "d"], "west": ["e"]}}
    document = {
        "columns": {
            "x": {"role": "sensitive-quasi-identifier", "domain": list("abcde"), "hierarchy": tree},
            "y": {"role": "sensitive-quasi-identifier", "bins": [0, 1, 2, 3, 4, 5, 6]},
            "z": {"role": "other"},
            **columns,
        },
        "require": requirements,
        "anonymizers": {"randomization": {"dependence": "allow"}},
    }
    return Plan.from_dict(document)


def table_of(rng, n):
    x = rng.choice(list("abcde"), n, p=rng.dirichlet(np.ones(5)))
    return pa.table({"x": x, "y": rng.integers(0, 6, n), "z": rng.choice(["u", "v"], n)})


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_fifty_random_releases_pass_their_audit(mode):
    rng = np.random.default_rng(1)
    plan = plan_of(MODES[mode])
    for _ in range(50):
        run = sf.anonymize(table_of(rng, int(rng.integers(1, 120))), plan)
        assert all(verdict.satisfied for verdict in run.verdicts)


def test_two_runs_differ_and_two_seeded_runs_agree_and_say_so():
    table, plan = table_of(np.random.default_rng(2), 200), plan_of(MODES["both"])
    free = [sf.anonymize(table, plan) for _ in range(2)]
    seeded = [sf.anonymize(table, plan, seed=7) for _ in range(2)]
    assert not free[0].release.data.equals(free[1].release.data)
    assert seeded[0].release.data.equals(seeded[1].release.data)
    assert "test_only" not in free[0].release.description
    assert seeded[0].release.description["test_only"] is True


def test_threads_do_not_change_a_seeded_release(monkeypatch):
    from sfumato.anonymizers import randomization

    monkeypatch.setattr(keystream, "ROWS", 50)
    monkeypatch.setattr(randomization, "BATCH", 16)
    table, plan = table_of(np.random.default_rng(2), 300), plan_of(MODES["both"])
    one, two = (sf.anonymize(table, plan, seed=7, threads=threads) for threads in (1, 2))
    assert one.release.data.equals(two.release.data)


@pytest.mark.parametrize(("d", "eta", "p"), [(4, 2, 0.5), (90, 30, 0.5), (5, 5, 0.5), (6, 3, 1)])
def test_sets_of_a_stretch_of_rows_are_those_that_they_have_in_the_whole_table(d, eta, p, monkeypatch):
    from sfumato.anonymizers import randomization

    monkeypatch.setattr(keystream, "ROWS", 64)
    monkeypatch.setattr(randomization, "BATCH", 16)
    codes = np.random.default_rng(1).integers(0, d, 200).astype(np.int32)
    chosen, place_of = Parameters(d, eta, Fraction(str(p))), np.arange(d, dtype=np.int32)

    def sets(first, last):
        keys = keystream.seeded_keys(np.random.default_rng(9))
        stretch = keystream.Stretch(first, last - first, codes.size)
        return randomization.draw(codes[first:last], place_of, chosen, keys, Workplace(), stretch)

    keys = keystream.seeded_keys(np.random.default_rng(9))
    whole = randomization.draw(codes, place_of, chosen, keys, Workplace())
    for first, last in ((0, 200), (0, 1), (3, 64), (64, 128), (63, 65), (70, 199), (199, 200), (128, 128)):
        assert np.array_equal(sets(first, last), whole[first:last])


def test_the_description_holds_what_reconstruction_needs_and_no_count_of_the_original():
    table = table_of(np.random.default_rng(2), 317)
    run = sf.anonymize(table, plan_of(MODES["both"]), seed=424242)
    about = json.loads(json.dumps(run.release.description))
    for name in ("x", "y"):
        column = about["columns"][name]
        allowed = {"role", "kind", "separator", "domain", "eta", "p", "l", "t", "distance", "prior", "base_rates"}
        assert set(column) <= allowed
        assert {"domain", "eta", "p"} <= set(column)
        assert Fraction(str(column["p"])) * 10_000 % 1 == 0
    assert set(about) == {"format", "rows", "missing", "columns", "models", "test_only"}
    assert "424242" not in json.dumps(about)
    assert about["columns"]["z"] == {"role": "other"}


def test_a_column_that_needs_no_noise_stays_an_ordinary_column():
    table = table_of(np.random.default_rng(2), 100)
    requirements = [{"model": "sensitive-qid-closeness", "t": {"x": 1, "y": 0.1}}]
    run = sf.anonymize(table, plan_of(requirements))
    assert sorted(run.release.data["x"].to_pylist()) == sorted(table["x"].to_pylist())
    assert run.release.description["columns"]["x"]["eta"] == 1
    facts = run.facts["steps"][0]["facts"]["columns"]
    assert [column["published"] for column in facts] == ["as it is", "sets"]


@pytest.mark.parametrize(("small", "published"), [("suppress", "whole domain"), ("lower", "sets")])
def test_small_domains_are_refused_unless_the_plan_says_what_to_do(small, published):
    table = table_of(np.random.default_rng(2), 50)
    requirement = {"model": "sensitive-qid-diversity", "l": {"x": 7, "y": 2}}
    with pytest.raises(Unsatisfiable, match="l = 7 of column 'x', which has 5"):
        sf.anonymize(table, plan_of([requirement]))
    run = sf.anonymize(table, plan_of([requirement | {"small_domain": small}]))
    assert run.facts["steps"][0]["facts"]["columns"][0]["published"] == published
    assert run.release.description["columns"]["x"]["small_domain"] == small


def test_missing_values_are_a_value_that_can_be_seen():
    table = pa.table({"x": ["a", None, "b", "c"] * 20})
    requirement = [{"model": "sensitive-qid-diversity", "l": {"x": 2}}]
    role = {"role": "sensitive-quasi-identifier"}

    def plan(missing, **about):
        return Plan.from_dict({"source": {"missing": missing}, "columns": {"x": role | about}, "require": requirement})

    with pytest.raises(InputError, match="missing values"):
        sf.anonymize(table, plan([""]))
    with pytest.raises(InputError, match="no place for them"):
        sf.anonymize(table, plan(["", "?"], domain=["a", "b", "c"]))
    run = sf.anonymize(table, plan(["", "?"], domain=["?", "a", "b", "c"]))
    assert run.release.description["columns"]["x"]["domain"] == ["?", "a", "b", "c"]
    assert sf.anonymize(table, plan(["", "?"])).release.description["columns"]["x"]["domain"] == ["a", "b", "c", "?"]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ({}, [1, 2, 3], "holds numbers"),
        ({"domain": ["a", "b"]}, ["a", "b", "secret"], "outside its declared domain"),
        ({"domain": ["a"]}, ["a", "a", "a"], "domain of 1 value"),
        ({"domain": ["a", "b", "b"]}, ["a", "b", "a"], "more than once"),
        ({"domain": [" a", "b"]}, [" a", "b", "b"], "blanks around"),
        ({"bins": [0, 10]}, [1, 2, 33], "outside its 1 bins"),
    ],
)
def test_bad_columns_are_refused_without_showing_values(column, values, message):
    plan = Plan.from_dict(
        {
            "columns": {"x": {"role": "sensitive-quasi-identifier", **column}},
            "require": [{"model": "sensitive-qid-diversity", "l": {"x": 2}}],
        }
    )
    with pytest.raises(InputError, match=message) as error:
        sf.anonymize(pa.table({"x": values}), plan)
    assert "secret" not in str(error.value)
    assert "33" not in str(error.value)


@pytest.mark.parametrize(
    "column",
    [{"bins": [3, 2]}, {"bins": [0, 5], "domain": ["a"]}, {"bins": [0, 5], "kind": "category"}, {"bins": "wide"}],
)
def test_bins_that_make_no_sense_are_plan_errors(column):
    with pytest.raises(InputError, match="bins"):
        Plan.from_dict(
            {
                "columns": {"x": {"role": "sensitive-quasi-identifier", **column}},
                "require": [{"model": "sensitive-qid-diversity", "l": {"x": 2}}],
            }
        )


# Columns that give one another away.


def candidate(codes, name="c"):
    codes = np.asarray(codes, dtype=np.int64)
    return Candidate(name, codes, int(codes.max()) + 1, True)


@pytest.mark.parametrize("cells", [dependence._CELLS, 0])
def test_a_function_removes_all_doubt_and_chance_removes_none(cells, monkeypatch):
    monkeypatch.setattr(dependence, "_CELLS", cells)
    rng = np.random.default_rng(5)
    x, other = rng.integers(0, 12, 5000), rng.integers(0, 12, 5000)
    forward, backward = strengths(candidate(x), candidate(x // 3))
    assert forward == 1
    assert backward < 0.4
    assert max(strengths(candidate(x), candidate(other))) < 0.1
    assert strengths(candidate(np.arange(5000)), candidate(other))[0] == 0  # unique, so no guess from others
    assert strengths(candidate(x), candidate(np.zeros(5000)))[0] == 0


def test_columns_that_tell_of_another_only_together_are_found_and_no_larger_set_is_named():
    rng = np.random.default_rng(5)
    a, b, c, noise = rng.integers(0, 5, (4, 6000))
    columns = [Candidate(name, codes, 5, False) for name, codes in zip("abcn", (a, b, c, noise), strict=True)]

    two = dependences([*columns, Candidate("j", (a + b) % 5, 5, True)])
    three = dependences([*columns, Candidate("j", (a + b + c) % 5, 5, True)])
    none = dependences([*columns, Candidate("j", rng.integers(0, 5, 6000), 5, True)])

    assert [(each.known, each.told, each.strength) for each in two.found] == [(("a", "b"), "j", 1.0)]
    assert [(each.known, each.told, each.strength) for each in three.found] == [(("a", "b", "c"), "j", 1.0)]
    assert none.found == []
    assert str(none).endswith("4 of 4 sets of 1, 6 of 6 sets of 2, 4 of 4 sets of 3")


def test_many_columns_are_looked_at_as_far_as_is_said():
    rng = np.random.default_rng(5)
    columns = [Candidate(str(place), rng.integers(0, 3, 300), 3, place < 2) for place in range(40)]

    search = dependences(columns)

    assert sum(search.looked_at[size] for size in (2, 3)) <= dependence.SETS
    assert 0 < search.looked_at[3] < search.of_all[3] == 2 * 9139


@pytest.mark.parametrize("role", ["sensitive-quasi-identifier", "other", "quasi-identifier"])
def test_a_column_that_another_gives_away_is_refused_by_default(role):
    x = np.random.default_rng(5).integers(0, 6, 500)
    table = pa.table({"code": [f"c{v}" for v in x], "name": [f"n{v // 2}" for v in x]})
    l = {"name": 2} | ({"code": 2} if role.startswith("sensitive") else {})
    document = {
        "columns": {"code": {"role": role}, "name": {"role": "sensitive-quasi-identifier"}},
        "require": [{"model": "sensitive-qid-diversity", "l": l}],
    }
    with pytest.raises(Unsatisfiable, match="'code' gives away 'name'") as error:
        sf.anonymize(table, Plan.from_dict(document))
    assert "dependence" in str(error.value)
    allowed = document | {"anonymizers": {"randomization": {"dependence": "allow"}}}
    run = sf.anonymize(table, Plan.from_dict(allowed))
    assert run.facts["steps"][0]["facts"]["dependences"]
