"""What is too much to be judged at once is refused before anything is decided, never at the audit."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from anonymizing import JOBS
from in_parts import Here, may_publish, plan_for
from sfumato.data.dataset import CodedColumn
from sfumato.data.encoding import encode
from sfumato.data.files.typed import row_groups
from sfumato.engines import foreseeing
from sfumato.engines.coding import code
from sfumato.engines.dividing import DividedEngine
from sfumato.engines.foreseeing import distinct_rows_of
from sfumato.engines.tasks import Splits
from sfumato.errors import DataError
from sfumato.generators import hospital

BEFORE = {"count values", "code rows", "foresee distinct rows", "look at some distinct rows"}
AT_ONCE = {
    (job.anonymizer, *(model.name for model in job.models)): job
    for job in JOBS
    if may_publish(job) and any(not model.judges_apart for model in job.models)
}


class Noting(Here):
    """Notes what was to be done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def each(self, work, jobs, what):
        self.done.append(what)
        return super().each(work, jobs, what)


@pytest.mark.slow
@pytest.mark.parametrize("job", AT_ONCE.values(), ids=str)
@pytest.mark.parametrize("most", [1, 39])
def test_who_looks_at_too_many_rows_at_once_is_refused_before_work(job, most, tmp_path):
    engine = DividedEngine(Noting(), rows_a_part=23, rows_a_file=54, distinct_here=most, occurrences=60)
    with pytest.raises(DataError, match="--engine local, which takes"):
        sf.run(plan_for(job, tmp_path), tmp_path / "run", seed=5, engine=engine, measure=False, attack=False)
    assert set(engine.cluster.done) <= BEFORE
    assert not (tmp_path / "run").exists()


FEW = {
    "items": (
        {"items": [["bread", "milk", "wine" if number % 3 == 0 else "tea"] for number in range(90)]},
        {"items": {"role": "items", "kind": "set", "sensitive_items": ["wine"]}},
        {"model": "rho-uncertainty", "column": "items", "rho": 0.3},
    ),
    "people of a population": (
        {"age": [str(20 + number % 3) for number in range(90)]},
        {"age": {"role": "quasi-identifier"}},
        {"model": "k-map", "k": 5, "population": "people.csv"},
    ),
    "random cells": (
        {"job": ["nurse" if number % 3 else "cook" for number in range(90)]},
        {"job": {"role": "sensitive-quasi-identifier", "domain": ["nurse", "cook"]}},
        {"model": "local-differential-privacy", "epsilon": {"job": 2}},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FEW)
def test_many_rows_that_are_few_distinct_ones_are_published(what, tmp_path):
    table, columns, need = FEW[what]
    pa_parquet.write_table(pa.table(table), tmp_path / "table.parquet")
    if what == "people of a population":
        pa_csv.write_csv(pa.table(table), tmp_path / "people.csv")
    document = {"source": {"path": "table.parquet"}, "columns": columns, "require": [need]}
    plan = sf.Plan.from_dict(document, tmp_path)
    engine = DividedEngine(Noting(), rows_a_part=13, rows_a_file=10, distinct_here=3)
    sf.run(plan, tmp_path / "run", seed=5, engine=engine, measure=False, attack=False)
    assert "foresee distinct rows" in engine.cluster.done or what == "random cells"  # of which none are left to count
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))


def test_of_random_cells_every_set_of_their_domain_may_come(tmp_path):
    table, columns, need = FEW["random cells"]
    pa_parquet.write_table(pa.table(table), tmp_path / "table.parquet")
    columns = {"job": {**columns["job"], "domain": ["nurse", "cook", *(f"job {number}" for number in range(8))]}}
    document = {"source": {"path": "table.parquet"}, "columns": columns, "require": [need]}
    engine = DividedEngine(Noting(), rows_a_part=13, distinct_here=3)
    with pytest.raises(DataError, match=r"local-differential-privacy(.|\n)*about 90"):
        sf.run(sf.Plan.from_dict(document, tmp_path), tmp_path / "run", seed=5, engine=engine)
    assert set(engine.cluster.done) <= BEFORE


@pytest.fixture
def coded(tmp_path):
    """A table in seven parts of a work folder, and the same table here."""
    job = next(job for job in JOBS if "drugs" in {name for model in job.models for name in model.judged_columns})
    plan = plan_for(job, tmp_path)
    rows = hospital(160)
    (tmp_path / "room").mkdir()
    source = Splits(plan.source, frozenset(), row_groups(plan.source.path, (), 30))
    found = code(Here(), tmp_path / "room", source, plan.schema, 23, lambda *_: ("age",))
    return found, encode(rows.select(list(plan.schema.columns)), plan.schema)


@pytest.mark.slow
@pytest.mark.parametrize("names", [("age",), ("age", "sex"), ("drugs",), ("zip", "drugs"), ()])
def test_distinct_rows_are_counted_exactly_where_they_are_few(names, coded, tmp_path):
    found, dataset = coded
    rows = set()
    for row in range(dataset.n_rows):
        cells = []
        for name in names:
            column = dataset.columns[name]
            if isinstance(column, CodedColumn):
                cells.append(int(column.codes[row]))
            else:
                cells.append(frozenset(column.items[column.start[row] : column.start[row + 1]].tolist()))
        rows.add(tuple(cells))
    assert distinct_rows_of(Here(), tmp_path / "room", found.parts, names) == len(rows)


def test_many_distinct_rows_are_estimated(coded, tmp_path, monkeypatch):
    found, _ = coded
    exact = distinct_rows_of(Here(), tmp_path / "room", found.parts, ("age", "zip"))
    monkeypatch.setattr(foreseeing, "SAMPLED", 64)
    assert exact > 100
    assert distinct_rows_of(Here(), tmp_path / "room", found.parts, ("age", "zip")) == pytest.approx(exact, rel=0.5)


def test_a_requirement_that_is_judged_class_by_class_is_never_foreseen(tmp_path):
    job = next(job for job in JOBS if all(model.judges_apart for model in job.models))
    engine = DividedEngine(Noting(), rows_a_part=23, distinct_here=30)
    with contextlib.suppress(DataError):
        sf.run(plan_for(job, tmp_path), tmp_path / "run", seed=5, engine=engine, measure=False, attack=False)
    assert "code rows" in engine.cluster.done
    assert "foresee distinct rows" not in engine.cluster.done
