"""A table in parts: the same as on one machine where it can be, and refused before work where it cannot."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from in_parts import MULTI, ROWS, K, Repeating, T, in_parts, people, plan_of, written_in_files
from sfumato.anonymizers import randomization
from sfumato.anonymizers.randomization import domains
from sfumato.data import keystream
from sfumato.data.files.release import read_release
from sfumato.data.strays import StrayKind
from sfumato.engines import dividing
from sfumato.engines.dividing import DividedEngine
from sfumato.errors import DataError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written_in_files(tmp_path_factory.mktemp("table"))


CASES = {
    "mondrian": ({**K, "anonymizer": "mondrian"},),
    "rows of a distinct row in several classes": (T, K),
    "rows of a distinct row with several masks": (MULTI, K),
    "classes, then masks in them": ({**K, "anonymizer": "mondrian"}, MULTI),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_table_in_parts_is_published_to_the_last_cell_as_by_one_machine(case, folder, tmp_path):
    plan = plan_of(folder, *CASES[case], release={"format": "parquet"})
    sf.run(plan, tmp_path / "here", seed=7, measure=False, attack=False)
    sf.run(plan, tmp_path / "parts", seed=7, engine=in_parts(ROWS), measure=False, attack=False)

    here = pa_parquet.read_table(tmp_path / "here" / "release" / "data.parquet")
    files = sorted((tmp_path / "parts" / "release" / "data.parquet").iterdir())
    assert len(files) == 3
    parts = pa.concat_tables([pa_parquet.read_table(file) for file in files])
    assert parts.schema == here.schema
    if "masks" in case:  # of rows that are published alike, which get which masks is by chance of their order
        assert Counter(rows_of(parts)) == Counter(rows_of(here))
    else:
        assert parts.to_pylist() == here.to_pylist()


def rows_of(table):
    return zip(*(table.column(name).to_pylist() for name in ("age", "region", "illness")), strict=True)


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "run"
    return out, sf.run(plan_of(folder, K), out, seed=7, engine=in_parts(ROWS))


@pytest.mark.slow
def test_a_run_in_parts_is_measured_attacked_and_judged_as_any_other(folder, run):
    out, done = run
    told = json.loads((out / "private" / "run.json").read_text(encoding="utf-8"))
    assert told["measurements"]
    assert told["attacks"]
    assert not told["pending"]
    assert told["source"]["rows"] == ROWS
    assert all(verdict.satisfied for verdict in sf.audit(out, plan_of(folder, K)))
    assert done.release.data.num_rows == ROWS
    assert done.measurements
    assert done.exposures


def test_nothing_of_the_work_is_left(run):
    out, _ = run
    assert sorted(path.name for path in out.iterdir()) == ["private", "release"]
    assert [path.name for path in out.parent.iterdir()] == ["run"]


def test_a_part_that_was_changed_removed_or_added_is_told(folder, run, tmp_path):
    import shutil

    out, _ = run
    for change in ("changed", "removed", "added"):
        copy = tmp_path / change
        shutil.copytree(out / "release", copy)
        part = copy / "data.parquet" / "part-00000.parquet"
        if change == "changed":
            pa_parquet.write_table(pa_parquet.read_table(part).slice(1), part)
        elif change == "removed":
            part.unlink()
        else:
            shutil.copy(part, part.with_name("part-00009.parquet"))
        release = read_release(copy)
        assert {stray.kind for stray in release.strays} & {StrayKind.CHANGED, StrayKind.FILE}, change
    assert not read_release(out / "release").strays


@pytest.mark.slow
def test_a_run_in_parts_can_be_replaced_unless_somebody_added_a_file(folder, run, tmp_path):
    out = tmp_path / "run"
    sf.run(plan_of(folder, K), out, seed=7, engine=in_parts(ROWS), measure=False, attack=False)
    sf.run(plan_of(folder, K), out, seed=8, engine=in_parts(ROWS), measure=False, attack=False, overwrite=True)
    (out / "release" / "data.parquet" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(sf.errors.OutputError, match=r"mine\.txt"):
        sf.run(plan_of(folder, K), out, engine=in_parts(ROWS), overwrite=True)


def test_rows_keep_their_order_where_the_plan_says_so(folder, tmp_path):
    plan = plan_of(folder, K, release={"shuffle": False})
    sf.run(plan, tmp_path / "run", engine=in_parts(ROWS), measure=False, attack=False)
    shown = read_release(tmp_path / "run").table()
    assert shown.column("illness").to_pylist() == people().column("illness").to_pylist()


def test_parts_with_different_columns_are_refused(folder, tmp_path):
    (tmp_path / "table").mkdir()
    table = people()
    pa_parquet.write_table(table, tmp_path / "table" / "a.parquet")
    pa_parquet.write_table(table.drop_columns(["age"]), tmp_path / "table" / "b.parquet")
    with pytest.raises(DataError, match="different columns"):
        sf.run(plan_of(tmp_path / "table", K), tmp_path / "run", engine=in_parts(ROWS))


BASKETS = [["bread", "milk"] + (["wine"] if number % 3 == 0 else ["tea"]) for number in range(90)]


RHO = {"model": "rho-uncertainty", "rho": 0.3}


def baskets_plan(path, **requirement) -> sf.Plan:
    column = {"role": "items", "kind": "set", "sensitive_items": ["wine"]}
    need = {"column": "items"} | (requirement if "model" in requirement else {**RHO, **requirement})
    return sf.Plan.from_dict({"source": {"path": str(path)}, "columns": {"items": column}, "require": [need]})


@pytest.fixture
def baskets(tmp_path):
    pa_parquet.write_table(pa.table({"items": BASKETS}), tmp_path / "baskets.parquet")
    return tmp_path / "baskets.parquet"


def test_items_are_withheld_in_parts_of_alike_records_and_all_together_are_safe(baskets, tmp_path):
    engine = in_parts(90, occurrences=100)
    run = sf.run(baskets_plan(baskets), tmp_path / "run", seed=3, engine=engine, measure=False, attack=False)
    assert engine.item_parts > 1
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", baskets_plan(baskets)))
    (facts,) = [step["facts"] for step in run.facts["steps"]]
    assert facts["items"]["records"] == 90


def test_who_must_see_all_records_at_once_is_refused_before_work(baskets, tmp_path):
    engine = DividedEngine(Repeating(), occurrences=100)
    with pytest.raises(DataError, match=r"\(partial-suppression, drop-sensitive\)"):
        sf.run(baskets_plan(baskets, anonymizer="td-control"), tmp_path / "run", engine=engine)
    labels = {"model": "km-anonymity", "k": 2, "m": 1, "within": "table", "anonymizer": "apriori-anonymization"}
    with pytest.raises(DataError, match=r"\(item-generalization\)"):
        sf.run(baskets_plan(baskets, **labels), tmp_path / "run", engine=engine)


DRAWN = {
    "randomization": {"model": "sensitive-qid-closeness", "t": {"illness": 0.3}},
    "pram": {"model": "sensitive-qid-closeness", "t": {"illness": 0.3}, "anonymizer": "pram"},
}


@pytest.mark.slow
@pytest.mark.parametrize("anonymizer", DRAWN)
def test_what_is_drawn_for_rows_in_parts_is_what_one_machine_draws(anonymizer, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(keystream, "ROWS", 50)  # so that a part begins and ends amid rows that share a key
    monkeypatch.setattr(randomization, "BATCH", 16)
    for module, name in ((dividing, "LOOKED_AT"), (domains, "ROWS")):
        monkeypatch.setattr(module, name, 100)
    columns = {
        "age": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [5, 10]}},
        "illness": {"role": "sensitive-quasi-identifier", "domain": ["cold", "flu", "stroke", "cancer"]},
        "note": {"role": "other"},
        "*": {"role": "identifier"},
    }
    plan = sf.Plan.from_dict(
        {
            "source": {"path": str(folder)},
            "columns": columns,
            "require": [K, DRAWN[anonymizer]],
            "release": {"format": "parquet"},
        }
    )
    sf.run(plan, tmp_path / "here", seed=7, measure=False, attack=False)
    run = sf.run(plan, tmp_path / "parts", seed=7, engine=in_parts(ROWS), measure=False, attack=False)
    assert run.facts["steps"][-1]["anonymizer"] == anonymizer
    here, parts = (read_release(tmp_path / name / "release", plan.schema).table() for name in ("here", "parts"))
    assert parts.to_pylist() == here.to_pylist()


@pytest.mark.slow
def test_single_values_are_drawn_where_the_rows_are(folder, tmp_path):
    columns = {
        "age": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [5, 10]}},
        "illness": {"role": "sensitive-quasi-identifier", "domain": ["cold", "flu", "stroke", "cancer"]},
        "*": {"role": "identifier"},
    }
    close = {"model": "sensitive-qid-closeness", "t": {"illness": 0.3}, "anonymizer": "pram"}
    plan = sf.Plan.from_dict({"source": {"path": str(folder)}, "columns": columns, "require": [K, close]})
    run = sf.run(plan, tmp_path / "run", seed=7, engine=in_parts(ROWS))
    assert all(verdict.satisfied for verdict in run.verdicts)
    release = read_release(tmp_path / "run" / "release", plan.schema)
    shown, true = release.table()["illness"].to_pylist(), people()["illness"].to_pylist()
    assert set(shown) <= set(columns["illness"]["domain"])
    assert sorted(shown) != sorted(true)
    answer = sf.reconstruct(tmp_path / "run" / "release", ["illness"])
    assert answer.counts.sum() == pytest.approx(ROWS)
