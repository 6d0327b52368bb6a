"""Attacks on randomized cells: against Bayes' rule by hand, and against what is known of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.attacks.base import Asked
from sfumato.attacks.random_sets import Intersection, SecondRelease, SetInference
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
