"""A large table is read and written in batches and holds equal rows once: the same is published, judged, measured."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from families import plan_in
from sfumato.data.files import release as release_files
from sfumato.data.files import typed
from sfumato.data.release import Release
from sfumato.engines.local import LocalEngine
from sfumato.pipeline.case import Case

NEVER = 1 << 60
OF_CLASSES = ("classes", "likeness", "masks")
every_family = pytest.mark.parametrize("family", OF_CLASSES)


def plan_of_repeated_rows(folder, family, form):
    """Put a plan into a folder, about a table in which every row occurs several times, in no order."""
    path = plan_in(folder, family)
    table = pa_csv.read_csv(path.parent / "source.csv")
    rows = np.repeat(np.arange(table.num_rows), 2 + np.arange(table.num_rows) % 3)
    table = table.take(pa.array(np.random.default_rng(2).permutation(rows)))
    if (path.parent / "people.csv").exists():  # a population has at least the people of the table
        pa_csv.write_csv(table, path.parent / "people.csv")
    if form == "csv":
        pa_csv.write_csv(table, path.parent / "source.csv")
    else:
        pa_parquet.write_table(table, path.parent / "source.parquet")
    text = path.read_text(encoding="utf-8").replace("source.csv", f"source.{form}")
    text = text.replace('[release]\nformat = "parquet"\n', "")
    path.write_text(f'{text}\n[release]\nformat = "{form}"\n', encoding="utf-8")
    return sf.Plan.load(path)


def made(plan, out, once_from, **asked):
    case = Case(plan, engine=LocalEngine(once_from=once_from))
    return case, case.make_folder(out, lambda facts: "", seed=5, **asked)


def without_seconds(verdicts):
    return [verdict.as_dict() for verdict in verdicts]


def in_order(table):
    return sorted(zip(*table.to_pydict().values(), strict=True), key=repr)


def close(found, wanted):
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(close(found[key], value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(wanted, float):
        return found == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    return found == wanted


@pytest.mark.slow
@every_family
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_equal_rows_held_once_give_the_same_files_verdicts_figures_and_attacks(family, form, tmp_path):
    plan = plan_of_repeated_rows(tmp_path, family, form)
    _, each = made(plan, tmp_path / "each", NEVER)
    case, once = made(plan, tmp_path / "once", 1)

    assert case.original.dataset.n_rows < case.original.dataset.total
    if family == "masks":  # which of several equal people gets which label is another chance
        assert in_order(once.table()) == in_order(each.table())
    else:
        for path in sorted((tmp_path / "each" / "release").iterdir()):
            assert (tmp_path / "once" / "release" / path.name).read_bytes() == path.read_bytes(), path.name
        assert once.table().equals(each.table())
    assert without_seconds(once.verdicts) == without_seconds(each.verdicts)
    for found, wanted in zip(once.measurements, each.measurements, strict=True):
        assert close(found.as_dict(), wanted.as_dict()), found.name
    for found, wanted in zip(once.exposures, each.exposures, strict=True):
        assert close(found.as_dict(), wanted.as_dict()), found.attack
    same = ("columns", "source", "persons", "warnings", "public")
    assert close({key: once.facts[key] for key in same}, {key: each.facts[key] for key in same})
    assert once.facts["release"]["rows"] == each.facts["release"]["rows"] == once.table().num_rows


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 7, 64])
def test_batches_of_any_size_give_the_same_files(batch, tmp_path, monkeypatch):
    plan = plan_of_repeated_rows(tmp_path, "classes", "parquet")
    made(plan, tmp_path / "whole", 1, measure=False, attack=False)
    monkeypatch.setattr(typed, "_BATCH", batch)
    made(plan, tmp_path / "batches", 1, measure=False, attack=False)

    whole, batches = (tmp_path / name / "release" for name in ("whole", "batches"))
    assert (batches / "data.parquet").read_bytes() == (whole / "data.parquet").read_bytes()
    assert (batches / "release.json").read_bytes() == (whole / "release.json").read_bytes()


def test_no_more_than_a_batch_of_labels_is_ever_made(tmp_path, monkeypatch):
    plan = plan_of_repeated_rows(tmp_path, "classes", "parquet")
    largest, rows = [0], [0]
    batches = Release.batches

    def watched(self, size, **more):
        for part in batches(self, size, **more):
            largest[0], rows[0] = max(largest[0], part.num_rows), rows[0] + part.num_rows
            yield part

    def whole(self):
        # Some rows are shown to the holder; nobody asks for all of them.
        assert self.n_rows <= 5
        return pa.concat_tables(batches(self, 5))

    monkeypatch.setattr(Release, "batches", watched)
    monkeypatch.setattr(Release, "table", whole)
    monkeypatch.setattr(release_files, "_ROWS", 50)
    case, _ = made(plan, tmp_path / "run", 1)

    assert largest[0] <= 50
    assert rows[0] == case.original.dataset.total > 300


@pytest.mark.slow
@pytest.mark.parametrize("family", ["items", "terms", "cells", "hospital"])
def test_what_is_about_single_rows_holds_all_of_them(family, tmp_path):
    case, outcome = made(sf.Plan.load(plan_in(tmp_path, family)), tmp_path / "run", 1, measure=False, attack=False)

    assert case.original.dataset.entry_of is None
    assert outcome.release.weights is None


def test_a_column_carried_along_or_rows_that_differ_hold_all_rows(tmp_path):
    path = plan_in(tmp_path, "classes")
    case, _ = made(sf.Plan.load(path), tmp_path / "differ", 1, measure=False, attack=False)
    assert case.original.dataset.entry_of is None

    path.write_text(
        path.read_text(encoding="utf-8").replace('role = "sensitive"', 'role = "other"').split("[[require]]")[0],
        encoding="utf-8",
    )
    path.write_text(path.read_text(encoding="utf-8") + '[[require]]\nmodel = "k-anonymity"\nk = 4\n', encoding="utf-8")
    plan = sf.Plan.load(path)
    case, _ = made(plan, tmp_path / "carried", 1, measure=False, attack=False)
    assert case.original.dataset.entry_of is None


def test_an_audit_fails_that_does_not_hold_for_what_was_written(tmp_path, monkeypatch):
    plan = plan_of_repeated_rows(tmp_path, "classes", "parquet")
    codes_of = Release.codes_of

    def wrong(self, column, first, last):
        codes = codes_of(self, column, first, last).copy()
        if column.name == "age":
            codes[:1] = (codes[:1] + 1) % len(column.labels)
        return codes

    monkeypatch.setattr(Release, "codes_of", wrong)
    with pytest.raises(sf.Unsatisfiable):
        made(plan, tmp_path / "run", 1)
    assert not (tmp_path / "run").exists()
