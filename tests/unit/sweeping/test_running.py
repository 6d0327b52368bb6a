"""Sweeps: rows for what cannot be met, going on after a stop, and nothing but measurements left behind."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.errors import DataError
from sfumato.pipeline import Case
from sweeps import SECRET, Stop, counted


def test_what_cannot_be_met_is_a_row_with_its_reason(people, plan):
    found = sf.sweep(plan, {"k": [2, 61], "l": [2, 4]}, frame=people)

    assert [(cell["values"], cell["holds"]) for cell in found.cells] == [
        ({"k": 2, "l": 2}, True),
        ({"k": 2, "l": 4}, False),
        ({"k": 61, "l": 2}, False),
        ({"k": 61, "l": 4}, False),
    ]
    assert all(cell["reason"] for cell in found.cells if not cell["holds"])
    assert found.facts["holding"] == 1


def test_rows_are_what_a_run_of_the_same_plan_finds(people, plan):
    found = sf.sweep(plan, {"k": [2, 6]}, frame=people, seed=1)

    document = {"model": "k-anonymity", "k": 6}
    other = sf.Plan.from_dict(
        {
            "columns": {
                "name": {"role": "identifier"},
                "age": {"role": "quasi-identifier"},
                "disease": {"role": "sensitive"},
            },
            "require": [document, {"model": "l-diversity", "sensitive": "disease", "l": 2}],
        }
    )
    run = sf.anonymize(people, other, seed=1)
    measured = {entry["name"]: entry["value"] for entry in found.cells[1]["measurements"]}
    assert measured == {entry.name: entry.value for entry in run.measurements}
    assert [verdict["reached"] for verdict in found.cells[1]["verdicts"]] == [v.reached for v in run.verdicts]


def test_a_stopped_sweep_goes_on_where_it_was(people, plan, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        counted(patch, stop_after=2)
        with pytest.raises(Stop):
            sf.sweep(plan, {"k": "2,3,4,5"}, frame=people, out=out)
    assert {path.name for path in out.iterdir()} == {"cells"}  # nothing half written
    assert len(list((out / "cells").glob("*.json"))) == 3  # two combinations and what they are about

    done = counted(monkeypatch)
    found = sf.sweep(plan, {"k": "2,3,4,5"}, frame=people, out=out)

    assert len(done) == 2
    assert [cell["values"]["k"] for cell in found.cells] == [2, 3, 4, 5]
    sf.sweep(plan, {"k": "2..6"}, frame=people, out=out)
    assert len(done) == 3  # a finer grid takes what is there


def test_wrong_data_ends_the_sweep_before_it_starts(people, plan, tmp_path):
    with pytest.raises(DataError, match="does not have"):
        sf.sweep(plan, {"k": "2"}, frame=people.drop_columns(["age"]), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_errors_in_every_combination_end_the_sweep(people, plan, monkeypatch):
    def broken(*args, **options):
        raise DataError("The data is wrong.")

    monkeypatch.setattr(Case, "make", broken)

    with pytest.raises(DataError, match=r"None of 2 combinations(.|\n)*The data is wrong"):
        sf.sweep(plan, {"k": "2,3"}, frame=people)


def test_a_bug_in_one_combination_is_a_row_that_is_tried_again(people, plan, tmp_path, monkeypatch):
    original = Case.make

    def sometimes(case, **options):
        if case.plan.policy.k() == 3:
            raise KeyError(SECRET)
        return original(case, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Case, "make", sometimes)
        found = sf.sweep(plan, {"k": "2,3"}, frame=people, out=tmp_path / "out")
    assert [cell["exit_code"] for cell in found.cells] == [0, 3]
    assert SECRET not in found.cells[1]["reason"]

    found = sf.sweep(plan, {"k": "2,3"}, frame=people, out=tmp_path / "out")
    assert all(cell["holds"] for cell in found.cells)


@pytest.mark.slow
def test_several_jobs_find_what_one_finds(people, plan, tmp_path):
    one = sf.sweep(plan, {"k": "2,5,61"}, frame=people, seed=3)
    two = sf.sweep(plan, {"k": "2,5,61"}, frame=people, seed=3, jobs=2, out=tmp_path / "out")

    def timeless(sweep):
        return [{key: value for key, value in cell.items() if key != "seconds"} for cell in sweep.cells]

    assert timeless(one) == timeless(two)


def test_it_shows_itself(people, plan, tmp_path):
    found = sf.sweep(plan, {"k": "2,4,8,61"}, frame=people)

    assert str(found).startswith("3 of 4 combinations can be met")
    assert "cannot be met" in str(found)
    assert max(map(len, str(found).splitlines())) <= 80
    assert found._repr_html_().startswith("<iframe")
    assert found.report(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert found.frontier
    assert all(cell["frontier"] for cell in found.frontier)
