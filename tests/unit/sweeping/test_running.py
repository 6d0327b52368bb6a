"""Sweeps: rows for what cannot be met, going on after a stop, and nothing but measurements left behind."""

from __future__ import annotations

import csv
import json
import random
import stat

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.pipeline import Case
from sfumato.sweeping.facts import FORMAT
from sfumato.sweeping.store import ABOUT

SECRET = "leprosy"


@pytest.fixture
def people():
    chance = random.Random(6)
    n = 60
    return pa.table(
        {
            "name": [f"Somebody {row}" for row in range(n)],
            "age": [chance.randint(20, 70) for _ in range(n)],
            "disease": [chance.choice(["flu", "cold", SECRET]) for _ in range(n)],
        }
    )


@pytest.fixture
def plan():
    return sf.Plan.from_dict(
        {
            "columns": {
                "name": {"role": "identifier"},
                "age": {"role": "quasi-identifier"},
                "disease": {"role": "sensitive"},
            },
            "require": [
                {"model": "k-anonymity", "k": 2},
                {"model": "l-diversity", "sensitive": "disease", "l": 2},
            ],
        }
    )


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


def test_it_leaves_measurements_for_its_owner_and_no_data(people, plan, tmp_path):
    out = tmp_path / "out"

    sf.sweep(plan, {"k": "2,4,61"}, frame=people, out=out)

    assert {path.name for path in out.iterdir()} == {"cells", "sweep.csv", "sweep.json", "sweep.html"}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    for path in out.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert SECRET not in text
            assert "Somebody" not in text
    with (out / "sweep.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["k"], row["holds"]) for row in rows] == [("2", "true"), ("4", "true"), ("61", "false")]
    assert float(rows[0]["ncp"]) < float(rows[1]["ncp"])
    assert rows[2]["reason"]
    assert json.loads((out / "sweep.json").read_text())["format"] == FORMAT


class Stop(BaseException):
    pass


def counted(monkeypatch, stop_after=None):
    done = []
    original = Case.make

    def run(*args, **options):
        if stop_after is not None and len(done) == stop_after:
            raise Stop
        done.append(1)
        return original(*args, **options)

    monkeypatch.setattr(Case, "make", run)
    return done


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


def test_a_damaged_file_is_done_again(people, plan, tmp_path, monkeypatch):
    out = tmp_path / "out"
    sf.sweep(plan, {"k": "2,3"}, frame=people, out=out)
    damaged = next(path for path in (out / "cells").glob("*.json") if path.name != ABOUT)
    damaged.write_text('{"holds": tr')

    done = counted(monkeypatch)
    sf.sweep(plan, {"k": "2,3"}, frame=people, out=out)

    assert len(done) == 1


def test_other_data_or_roles_are_not_mixed_in(people, plan, tmp_path):
    out = tmp_path / "out"
    sf.sweep(plan, {"k": "2"}, frame=people, out=out)

    with pytest.raises(OutputError, match="another plan, other data"):
        sf.sweep(plan, {"k": "2"}, frame=people.slice(1), out=out)
    sf.sweep(plan, {"k": "2"}, frame=people.slice(1), out=out, overwrite=True)


def test_a_sweep_that_could_not_write_anything_can_be_tried_again(people, plan, tmp_path):
    (tmp_path / "out" / "cells").mkdir(parents=True)
    (tmp_path / "out" / "cells" / ".about.json.tmp-0").write_text("")

    assert sf.sweep(plan, {"k": "2"}, frame=people, out=tmp_path / "out").facts["holding"] == 1


def test_a_folder_that_is_no_sweep_is_never_touched(people, plan, tmp_path):
    (tmp_path / "letters").write_text("dear")

    with pytest.raises(OutputError, match="no sweep"):
        sf.sweep(plan, {"k": "2"}, frame=people, out=tmp_path, overwrite=True)
    with pytest.raises(OutputError, match="is a file"):
        sf.sweep(plan, {"k": "2"}, frame=people, out=tmp_path / "letters")
    assert (tmp_path / "letters").read_text() == "dear"


def test_wrong_data_ends_the_sweep_before_it_starts(people, plan, tmp_path):
    with pytest.raises(DataError, match="does not have"):
        sf.sweep(plan, {"k": "2"}, frame=people.drop_columns(["age"]), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_loss_is_refused_with_what_is_measured(people, plan):
    with pytest.raises(PolicyError, match=r"Measured: (.*)ncp"):
        sf.sweep(plan, {"k": "2,3"}, frame=people, loss="nothing")
    assert sf.sweep(plan, {"k": "2,3"}, frame=people, loss="query-error").facts["loss"]["name"] == "query-error"


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
    assert max(map(len, str(found).splitlines())) <= 60
    assert found._repr_html_().startswith("<pre>")
    assert found.report(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert all(cell["frontier"] for cell in found.frontier)
