from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from sfumato.data.builders import Given
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.schema import ColumnSpec, Kind, Role
from sfumato.errors import DataError, PolicyError
from sfumato.models import TCloseness, t_closeness

ILLNESSES = Hierarchy.from_nested(
    {"lungs": ["asthma", "flu"], "belly": {"stomach": ["ulcer", "gastritis"], "gut": ["ileus", "colitis"]}}
)


def close(t, distance="equal"):
    return TCloseness(sensitive="s", t=t, distance=distance)


def sensitive(**given):
    return {"s": ColumnSpec(name="s", role=Role.SENSITIVE, **given)}


@pytest.mark.parametrize("t", ["a third", True, -0.1, 1.0001, None, float("nan"), "1/0"])
def test_t_must_be_a_number_from_zero_to_one(t):
    with pytest.raises(PolicyError, match=r"^t of t-closeness"):
        close(t)


@pytest.mark.parametrize(
    ("distance", "hint"), [("hierachical", "Did you mean 'hierarchical'?"), (None, "Known: 'equal'")]
)
def test_an_unknown_distance_is_answered_with_the_nearest(distance, hint):
    with pytest.raises(PolicyError) as caught:
        close(0.2, distance)
    assert hint in str(caught.value)


def test_the_sensitive_column_is_one_name():
    with pytest.raises(PolicyError, match="must be the name of one column"):
        TCloseness(sensitive=3, t=0.2)


def test_t_is_kept_exactly():
    assert close(0.1).exact_t == Fraction(1, 10)
    assert close("1/3").t == Fraction(1, 3)


def test_the_hospital_has_known_answers(hospital):
    # Over all: asthma 3, flu 6, ulcer 2, missing 1 of 12. Classes: (6, 3, 3, 0), (0, 12, 0, 0), (3, 3, 3, 3) of 12.
    verdict = close(0.5).audit(hospital)

    assert (verdict.satisfied, verdict.reached, verdict.required) == (True, 0.5, 0.5)
    verdict = close("4/12").audit(hospital)
    assert (verdict.failing, verdict.failing_rows) == (1, 4)
    verdict = close("3/12").audit(hospital)  # the others are at 4/12 and 3/12
    assert (verdict.failing, verdict.failing_rows) == (2, 8)
    assert verdict.facts["values"] == 4


def test_the_edge_belongs_to_the_model(release_of):
    release = release_of({"a": list("xxxyyy"), "s": list("uuvuvv")})  # shares 2/3 and 1/3 against 1/2: 1/6

    assert close("1/6").audit(release).satisfied
    assert not close(Fraction(1, 6) - Fraction(1, 10**25)).audit(release).satisfied
    third = release_of({"a": list("xxxyyyzzz"), "s": list("uuvvwwuvw")})
    assert close("1/3").audit(third).satisfied
    assert not close(0.333333333333).audit(third).satisfied


def test_steps_between_numbers_go_by_value(release_of):
    release = release_of({"a": list("xxxyyyzzz"), "s": [3, 4, 5, 6, 8, 11, 7, 9, 10]})  # salaries of Li et al. (2007)
    verdict = close(1, "ordered").audit(release)

    assert verdict.reached == pytest.approx(0.375)
    assert close("3/8", "ordered").audit(release).satisfied
    assert not close(0.3749999999999, "ordered").audit(release).satisfied


def test_texts_that_are_numbers_go_by_value_too(release_of):
    release = release_of({"a": list("xxyy"), "s": ["9", "10", "10.0", "100"]})

    assert close(1, "ordered").audit(release).reached == pytest.approx(0.25)


def test_ordered_values_go_by_the_declared_domain_in_full(release_of):
    columns = {"a": list("xxyy"), "s": ["low", "mid", "mid", "high"]}
    domain = ("low", "mid", "high", "extreme", "insane")
    declared = release_of(columns, specs=sensitive(kind=Kind.ORDERED, domain=domain))

    # x - all: 1/2 - 1/4, 1 - 3/4, 0, 0, over four steps
    assert close("1/8", "ordered").audit(declared).satisfied
    assert not close(0.1249, "ordered").audit(declared).satisfied


def test_ordered_values_go_by_the_leaves_of_a_hierarchy_without_a_domain(release_of):
    levels = Hierarchy.from_paths([("never", "*"), ("low", "*"), ("mid", "*"), ("high", "*")])
    columns = {"a": list("xxyy"), "s": ["low", "mid", "mid", "high"]}
    release = release_of(columns, specs=sensitive(kind=Kind.ORDERED, hierarchy=Given(levels)))

    assert close(1, "ordered").audit(release).reached == 0.25


def test_a_missing_value_stands_behind_all_others(release_of):
    release = release_of({"a": list("xxyy"), "s": [1, 2, None, None]})

    # Values 1, 2, missing. y - all: -1/4, -1/2, 0, over two steps.
    assert close(1, "ordered").audit(release).reached == 0.375


def test_an_order_that_nobody_declared_is_refused(release_of):
    with pytest.raises(DataError, match="nothing says in which order"):
        close(0.2, "ordered").audit(release_of({"a": ["x", "x"], "s": ["u", "v"]}))


def test_values_outside_the_declared_order_are_counted_but_not_named(release_of):
    release = release_of({"a": ["x", "x"], "s": ["u", "secret"]}, specs=sensitive(domain=("u", "v")))
    with pytest.raises(DataError, match="1 of its 2 values are not in its declared order of 2") as caught:
        close(0.2, "ordered").audit(release)
    assert "secret" not in str(caught.value)


def test_numbers_that_are_none_are_counted_but_not_named(release_of):
    release = release_of({"a": ["x", "x"], "s": ["1", "secret"]}, specs=sensitive(kind=Kind.NUMBER))
    with pytest.raises(DataError, match="1 of its 2 values are none") as caught:
        close(0.2, "ordered").audit(release)
    assert "secret" not in str(caught.value)


def test_numbers_in_a_declared_domain_go_by_value(release_of):
    release = release_of(
        {"a": ["x", "y"], "s": ["1.0", "3"]}, specs=sensitive(kind=Kind.NUMBER, domain=("3", "2", "1", "5", "4"))
    )

    assert close(1, "ordered").audit(release).reached == 0.25  # one of two steps by half, over four


def test_kin_are_nearer_in_a_hierarchy(release_of):
    release = release_of(
        {"a": list("xxyy"), "s": ["asthma", "ulcer", "flu", "gastritis"]}, specs=sensitive(hierarchy=Given(ILLNESSES))
    )

    # Half of each class moves to its sibling: a quarter of all rows by 1/3 twice.
    verdict = close("1/6", "hierarchical").audit(release)
    assert verdict.satisfied
    assert verdict.reached == pytest.approx(1 / 6)
    assert not close(0.16666666, "hierarchical").audit(release).satisfied
    assert close(1).audit(release).reached == 0.5


def test_a_missing_value_is_far_from_all_in_a_hierarchy(release_of):
    release = release_of(
        {"a": list("xxyy"), "s": ["asthma", "asthma", None, None]}, specs=sensitive(hierarchy=Given(ILLNESSES))
    )

    assert close(1, "hierarchical").audit(release).reached == 0.5


def test_a_hierarchy_must_be_there_and_know_every_value(release_of):
    columns = {"a": ["x", "x"], "s": ["flu", "secret"]}
    with pytest.raises(DataError, match="which has no hierarchy"):
        close(0.2, "hierarchical").audit(release_of(columns))
    with pytest.raises(DataError, match="1 of its 2 values are not among the lowest labels") as caught:
        close(0.2, "hierarchical").audit(release_of(columns, specs=sensitive(hierarchy=Given(ILLNESSES))))
    assert "secret" not in str(caught.value)
    columns = {"a": ["x", "x"], "s": ["flu", "lungs"]}
    with pytest.raises(DataError, match="1 of its 2 values are not among the lowest labels"):
        close(0.2, "hierarchical").audit(release_of(columns, specs=sensitive(hierarchy=Given(ILLNESSES))))


def test_withheld_values_cannot_be_judged(release_of):
    with pytest.raises(DataError, match="has withheld values"):
        close(0.2).audit(release_of({"a": ["x", "x"], "s": ["flu", "*"]}))


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_releases_at_the_rim_are_judged_sensibly(release_of, distance):
    given = sensitive(kind=Kind.ORDERED, domain=("asthma", "flu"), hierarchy=Given(ILLNESSES))
    nothing = close(0, distance).audit(release_of({"a": [], "s": []}, specs=given))
    assert (nothing.satisfied, nothing.reached, nothing.groups) == (False, None, 0)

    for values in (["flu", "asthma", "flu"], ["flu"] * 3, [None] * 3):
        one_class = close(0, distance).audit(release_of({"s": values}, specs=given))
        assert (one_class.satisfied, one_class.reached, one_class.groups) == (True, 0, 1)


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_distances_are_the_same_in_integers_of_any_size(release_of, monkeypatch, distance):
    rng = np.random.default_rng(11)
    values = np.array([*ILLNESSES.leaves, ""])
    columns = {"a": rng.geometric(0.2, 400), "s": values[rng.integers(0, 7, 400)]}
    given = sensitive(domain=ILLNESSES.leaves, hierarchy=Given(ILLNESSES))
    model = close(0.25, distance)
    expected = model.audit(release_of(columns, specs=given))
    for largest in (1, 4 * 400 * 7 * 20):  # all classes, or the large ones only
        monkeypatch.setattr(t_closeness, "LARGEST", largest)
        assert model.audit(release_of(columns, specs=given)) == expected


def way(distance, u, v):
    """The way between two values of ILLNESSES, None being the missing value."""
    leaves = [*ILLNESSES.leaves, None]
    if u == v:
        return 0
    if distance == "equal":
        return 1
    if distance == "ordered":
        return abs(leaves.index(u) - leaves.index(v)) / (len(leaves) - 1)
    if u is None or v is None:
        return 1
    common = next(label for label in ILLNESSES.ancestors(u) if label in ILLNESSES.ancestors(v))
    return ILLNESSES.level[ILLNESSES.node_of[common]] / ILLNESSES.height


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_the_best_transport(release_of, distance, seed):
    rng = np.random.default_rng(seed)
    leaves = [*ILLNESSES.leaves, None]
    rows = [leaves[i] for i in rng.integers(0, 7, 9)]
    others = leaves + [leaves[i] for i in rng.integers(0, 7, 12)]
    given = sensitive(domain=ILLNESSES.leaves, hierarchy=Given(ILLNESSES))
    columns = {"a": ["x"] * len(rows) + ["y"] * len(others), "s": rows + others}
    reached = close(1, distance).audit(release_of(columns, specs=given)).reached

    def best(of_class):
        p, q = ([values.count(leaf) / len(values) for leaf in leaves] for values in (of_class, rows + others))
        cost = [way(distance, u, v) for u in leaves for v in leaves]
        sends = np.kron(np.eye(7), np.ones(7))
        gets = np.kron(np.ones(7), np.eye(7))
        return linprog(cost, A_eq=np.vstack([sends, gets]), b_eq=[*p, *q]).fun

    assert reached == pytest.approx(max(best(rows), best(others)), abs=1e-7)


def test_planted_violations_are_counted_exactly(release_of):
    values = np.tile(["u", "v", "w", "x"], 1500)
    classes = np.repeat(np.arange(1500), 4)
    values[[0, 1, 2, 3]] = ["u", "u", "u", "v"]  # classes 0, 7 and 1499 lean to one side
    values[[28, 29, 30, 31]] = ["w", "w", "w", "w"]
    values[[-4, -3, -2, -1]] = ["x", "x", "x", "v"]
    release = release_of({"a": classes, "s": values}, specs=sensitive(kind=Kind.ORDERED, domain=("u", "v", "w", "x")))
    for distance in ("equal", "ordered"):
        verdict = close(0.2, distance).audit(release)
        assert (verdict.groups, verdict.failing, verdict.failing_rows) == (1500, 3, 12)


def test_no_sensitive_value_shows_in_a_verdict(release_of):
    release = release_of({"a": ["x", "y"], "s": ["syphilis", "flu"]}, specs=sensitive(domain=("flu", "syphilis")))
    for distance in ("equal", "ordered"):
        verdict = close(0.1, distance).audit(release)
        assert not verdict.satisfied
        assert "syphilis" not in f"{verdict} {verdict.as_dict()} {verdict._repr_html_()} {verdict!r}"


@pytest.mark.parametrize(("one", "other"), [(2**53, 2**53 + 1), (-(2**64), -(2**64) - 1), ("0.1", f"0.1{'0' * 20}1")])
@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_numbers_that_no_float_tells_apart_are_different_values(release_of, one, other, distance):
    columns = {"ward": ["a"] * 4 + ["b"] * 4, "s": [str(one)] * 4 + [str(other)] * 4}
    release = release_of(columns, specs=sensitive(kind=Kind.NUMBER))
    verdict = close("0.1", distance).audit(release)

    assert (verdict.satisfied, verdict.reached, verdict.facts["values"]) == (False, 0.5, 2)


def test_numbers_of_a_declared_domain_are_told_apart_to_the_last_digit(release_of):
    domain = tuple(str(2**53 + step) for step in (2, 0, 1))
    release = release_of({"ward": ["a", "b"], "s": domain[:2]}, specs=sensitive(kind=Kind.NUMBER, domain=domain))

    assert close("0.5", "ordered").audit(release).reached == 0.5  # two steps of two, for half of the rows


@pytest.mark.parametrize("t", ["1e-19", "1/10000000000000000000000"])
def test_a_very_small_t_is_judged_exactly(release_of, t):
    alike = release_of({"age": ["30", "31"], "s": ["flu", "flu"]})
    apart = release_of({"age": ["30", "31"], "s": ["flu", "ulcer"]})

    assert close(t).audit(alike).satisfied
    assert not close(t).audit(apart).satisfied
