"""Attacks on randomized cells: against Bayes' rule by hand, and against what is known of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

import sfumato as sf
from sfumato.attacks.base import Asked
from sfumato.attacks.random_sets import ClassAndCell, Intersection, SecondRelease, SetInference
from sfumato.data.base_rates import BaseRates
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

DOMAIN = ("a", "b", "c", "d")


def release(cells, rates, *, eta=2, p=1.0):
    spec = ColumnSpec(name="x", role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=DOMAIN)
    description = {"columns": {"x": {"domain": list(DOMAIN), "eta": eta, "p": p}}}
    found = Release.from_table(pa.table({"x": cells}), Schema({"x": spec}), description)
    known = BaseRates(weight=dict(zip(DOMAIN, rates, strict=True)), counted=True)
    return replace(found, public=PublicInputs(base_rates={"x": known}))


def test_the_belief_in_a_value_follows_from_the_set_and_the_base_rates():
    table = release(["a|b", "c|d", "a|d"], [6, 2, 1, 1])
    finding = SetInference(column="x", threshold=0.7).on(table)
    assert finding.worst == pytest.approx(6 / 7)
    assert finding.mean == pytest.approx((6 / 8 + 1 / 2 + 6 / 7) / 3)
    assert finding.exposed == 2
    guess = SetInference(column="x").guess(table)
    assert guess.worst == pytest.approx(0.6)
    assert guess.exposed == 3


def test_with_p_below_one_the_values_outside_count_too():
    table = release(["c|d"], [6, 2, 1, 1], p=0.5)
    rho = 0.5 / (0.5 + 0.5 * 4 / 2)
    weights = np.array([6 * rho, 2 * rho, 1, 1])
    assert SetInference(column="x").on(table).worst == pytest.approx(weights.max() / weights.sum())


def test_two_releases_are_intersected_as_they_are():
    first, second = release(["a|b", "c|d"], [1, 1, 1, 1]), release(["a|c", "c|d"], [1, 1, 1, 1])
    finding = SecondRelease(column="x", other=second).on(first)
    assert finding.worst == pytest.approx(1)
    assert finding.mean == pytest.approx(0.75)
    with pytest.raises(DataError, match="same people"):
        SecondRelease(column="x", other=release(["a|b"], [1, 1, 1, 1])).on(first)


def test_a_second_release_of_pairs_pins_as_many_as_chance_says():
    table = release(["a|b"] * 10, [1, 1, 1, 1])
    finding = SecondRelease(column="x").on(table)
    # The other member is the same again with probability 1/3, and then nothing is learnt.
    assert finding.facts["pinned"] == pytest.approx(2 / 3, abs=0.02)
    assert finding.facts["made_up"] is True


# Shares of an equivalence class as prior.

ILLNESSES = ["none", "flu", "HIV"]
TREE = {"well": ["none"], "ill": ["flu", "HIV"]}


def wards(of_ward, n, *, anonymizer="randomization", seed=1, **more):
    """A run of people whose illness depends on their ward: for each ward, how many in n people have each illness."""
    ward = [name for name, shares in of_ward.items() for _ in range(sum(shares) * n)]
    illness = [
        value for shares in of_ward.values() for value, k in zip(ILLNESSES, shares, strict=True) for _ in range(k * n)
    ]
    plan = sf.Plan.from_dict(
        {
            "columns": {
                "ward": {"role": "quasi-identifier"},
                "illness": {"role": "sensitive-quasi-identifier", "domain": ILLNESSES, "hierarchy": TREE},
            },
            "require": [
                {"model": "k-anonymity", "k": 2},
                {"model": "sensitive-qid-closeness", "t": {"illness": 0.1}, "anonymizer": anonymizer, **more},
            ],
        }
    )
    return sf.anonymize(pa.table({"ward": ward, "illness": illness}), plan, seed=seed, measure=False)


def of_classes(run):
    return next(each for each in run.exposures if each.attack == "class-and-cell").after


TELLING = {"A": (1, 0, 9), "B": (9, 1, 0), "C": (9, 1, 0), "D": (9, 1, 0)}


@pytest.mark.parametrize("anonymizer", ["randomization", "pram"])
@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_a_class_that_tells_more_than_t_is_found_and_warned_of(anonymizer, distance):
    run = wards(TELLING, 1000, anonymizer=anonymizer, distance=distance)
    found = of_classes(run)

    assert found.facts["classes"] == 4
    assert found.facts["beyond"] >= 1
    assert found.facts["people_beyond"] >= 10_000
    # The true share of HIV in ward A is 90 %, that of none 70 % in all: what is sure is not more, and nearly that.
    assert 0.2 < found.facts["moved"] <= 0.7
    assert found.exposed > 0
    (warning,) = [each for each in run.facts["warnings"] if "equivalence classes" in each]
    assert "Column 'illness' has t = 0.1" in warning
    assert not any(value in warning for value in ILLNESSES)


@pytest.mark.parametrize("anonymizer", ["randomization", "pram"])
def test_the_prior_of_a_class_is_the_nearest_to_the_table_within_bounds_that_hold_surely(anonymizer):
    run = wards(TELLING, 1000, anonymizer=anonymizer)
    about, shown = run.release.description["columns"]["illness"], run.release.data.to_pandas()
    table, p = np.array([0.7, 0.075, 0.225]), about["p"]
    drawn = np.array(about.get("shares", [1 / 3] * 3))
    assert about.get("eta", 1) == 1
    other, own = (1 - p) * drawn, p + (1 - p) * drawn
    noise, moved = np.log(2 * 3 * 4 / 1e-3), 0.0
    for _, cells in shown.groupby("ward"):
        values = [cell if isinstance(cell, str) else cell[0] for cell in cells["illness"]]
        seen = np.array([values.count(value) for value in ILLNESSES]) / len(cells)
        spread = np.maximum(own * (1 - own), other * (1 - other)) * len(cells)
        error = (noise / 3 + np.sqrt(noise**2 / 9 + 2 * noise * spread)) / len(cells) / p
        share = (seen - other) / p
        bounds = list(zip(np.maximum(share - error, 0), np.minimum(share + error, 1), strict=True))
        nearest = minimize(
            lambda one: ((one - table) ** 2).sum(),
            np.clip(table, *np.transpose(bounds)),
            bounds=bounds,
            constraints={"type": "eq", "fun": lambda one: one.sum() - 1},
            tol=1e-12,
        ).x
        moved = max(moved, np.abs(nearest - table).sum() / 2)
    assert of_classes(run).facts["moved"] == pytest.approx(moved, abs=1e-5)


@pytest.mark.parametrize("n", [1, 30])
def test_classes_of_few_rows_and_classes_like_the_table_are_no_warning(n):
    alike = dict.fromkeys("ABCDEFGH", (7, 2, 1))
    for table in (alike, {**alike, "A": (5, 3, 2)}):
        run = wards(table, n)
        found = of_classes(run)

        assert found.facts["beyond"] == 0
        assert not any("equivalence classes" in each for each in run.facts["warnings"])


def test_chance_alone_does_not_make_a_class_tell():
    found = [of_classes(wards({str(ward): (7, 2, 1) for ward in range(40)}, 50, seed=seed)) for seed in range(5)]

    assert [each.facts["telling"] for each in found] == [0] * 5


def test_a_few_classes_among_many_are_no_warning():
    many = {f"w{ward}": (18, 2, 0) for ward in range(150)}
    run = wards({**many, "A": (2, 0, 18)}, 150)
    found = of_classes(run)

    assert found.facts["beyond"] == 1
    assert found.facts["people_beyond"] == 3000
    assert not any("equivalence classes" in each for each in run.facts["warnings"])


def test_class_and_cell_are_bayes_rule_with_the_share_of_the_class():
    run = wards(TELLING, 1000)
    single, together = (
        next(each.after for each in run.exposures if each.attack == name)
        for name in ("set-inference", "class-and-cell")
    )

    assert together.worst > single.worst
    assert together.mean > single.mean


def test_what_the_attack_does_not_suit():
    assert list(ClassAndCell.suited_to(release(["a|b"], [1, 1, 1, 1]), Asked())) == []  # no class to be in
    nothing = release(["a|b|c|d"] * 9, [6, 2, 1, 1], eta=4, p=0)
    found = ClassAndCell(column="x").on(nothing)
    assert found.worst == pytest.approx(0.6)
    assert found.facts["telling"] == 0


def test_columns_that_depend_on_one_another_are_intersected(dependent):
    table, plan, run = dependent
    found = sf.attack(run.release, plan, original=table)
    exposures = {exposure.title: exposure for exposure in found}
    together = exposures["Reading two randomized columns together"]
    assert {together.after.facts["told"], together.after.facts["by"]} == {"one", "two"}
    # Both cells have a second member that fits the other cell with probability 1/5.
    assert together.after.facts["pinned"] == pytest.approx(0.8, abs=0.04)
    singles = [exposures[f"Guessing {name!r} from its cell"].control.worst for name in ("one", "two", "z")]
    assert together.control.worst == max(singles)
    alone = exposures["Guessing 'one' from its cell"].after
    assert alone.mean == pytest.approx(0.5, abs=0.05)
    assert exposures["Guessing 'one' from its cell"].before.worst == 1
    assert json.dumps(run.facts["attacks"])
    on_demand = {"intersection", "second-release"}  # they suppose more than a reader of one release has
    assert [exposure.attack for exposure in found if exposure.attack not in on_demand] == [
        exposure.attack for exposure in run.exposures
    ]


def test_one_column_alone_is_not_read_together():
    assert list(Intersection.suited_to(release(["a|b"], [1, 1, 1, 1]), Asked())) == []


def test_the_report_shows_what_cells_show(dependent, tmp_path):
    _, _, run = dependent
    page = run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "What cells show" in page
    assert "its domain was taken from the data" in page
    assert "could not be shown" not in page
