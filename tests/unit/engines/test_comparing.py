"""A release beside its original where neither is read row by row: what is counted, what is drawn, how it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sfumato as sf
from families import plan_in
from in_parts import ROWS, K, T, in_parts, people, plan_of, written_in_files
from sfumato.data.drawing import Drawn
from sfumato.engines import comparing
from sfumato.engines.comparing import Comparing
from sfumato.metrics.comparison import Comparison
from sfumato.pipeline import case, elsewhere


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    (folder / "table").mkdir()
    plan = plan_of(written_in_files(folder / "table"), K, T)
    sf.run(plan, folder / "run", seed=3, engine=in_parts(ROWS), measure=False, attack=False)
    return plan, folder / "run"


def both(run, tmp_path, most=10**6, wanted=10**6):
    """Return both sides as they are looked at, and who did."""
    plan, folder = run
    engine = in_parts(ROWS, distinct_here=most)
    with engine.workroom(tmp_path / "room"):
        engine.comparing = found = Comparing(engine.cluster, engine.room, folder / "release", plan.schema, most, wanted)
        splits, _ = engine.read(plan.source, ["name"], None)
        before, after = found.both(engine.encode(splits, plan.schema, plan.steps(), None))
    return before, after


@pytest.mark.slow
def test_distinct_rows_are_counted_on_both_sides_and_single_ones_are_there_with_every_column(run, tmp_path):
    before, after = both(run, tmp_path)
    assert before.total == after.total == ROWS
    assert before.n_rows < ROWS
    assert set(before.columns) == set(after.columns) == {"age", "region", "illness"}
    for sample in (before.sample, after.sample):
        assert sample.n_rows == ROWS
        assert sample.carried.column_names == ["note"]
        assert sample.drawn is None  # all of them


@pytest.mark.slow
def test_what_terms_told_before_is_counted_where_no_run_kept_it(tmp_path, monkeypatch):
    plan = sf.Plan.load(plan_in(tmp_path, "terms"))
    sf.run(plan, tmp_path / "run", seed=3, engine=in_parts(120), measure=False, attack=False)
    (tmp_path / "run" / "release").rename(tmp_path / "alone")
    here = {each.name: each.value for each in sf.measure(tmp_path / "alone", plan)}
    monkeypatch.setattr(elsewhere, "ROWS_HERE", 10)  # so that nobody reads every row here
    there = {each.name: each.value for each in sf.measure(tmp_path / "alone", plan, engine=in_parts(120))}
    assert there.keys() == here.keys()
    assert there["belief-change"] == pytest.approx(here["belief-change"])


def test_all_rows_of_some_classes_are_drawn(run, tmp_path):
    before, after = both(run, tmp_path, wanted=80)
    table = people()
    ages, regions = (table.column(name).to_pylist() for name in ("age", "region"))
    wanted = {}
    for age, region in zip(ages, regions, strict=True):
        wanted[age, region] = wanted.get((age, region), 0) + 1
    sample = before.sample
    assert 0 < sample.n_rows < ROWS
    assert (sample.drawn.rows, sample.drawn.of, sample.drawn.by_class) == (sample.n_rows, ROWS, True)
    shown = {}
    labels = [sample.column(name).labels for name in ("age", "region")]
    for age, region in zip(*(sample.column(name).codes for name in ("age", "region")), strict=True):
        key = labels[0][age], labels[1][region]
        shown[key] = shown.get(key, 0) + 1
    assert shown == {key: wanted[key] for key in shown}
    assert after.sample.description["rows"] == after.sample.n_rows


@pytest.mark.slow
def test_rows_are_drawn_one_by_one_where_classes_would_be_no_fair_part(run, tmp_path, monkeypatch):
    monkeypatch.setattr(comparing, "FAIR", 1)
    before, after = both(run, tmp_path, wanted=80)
    assert not before.sample.drawn.by_class
    assert not after.sample.drawn.by_class
    for sample in (before.sample, after.sample):
        assert 40 < sample.n_rows < 130


@pytest.mark.slow
def test_where_distinct_rows_are_too_many_all_is_of_the_part_that_is_drawn(run, tmp_path, monkeypatch):
    plan, folder = run
    before, after = both(run, tmp_path, most=20, wanted=120)
    assert before.drawn.of == after.drawn.of == ROWS
    assert before.weights is None
    assert after.weights is None
    monkeypatch.setattr(comparing, "ROWS_DRAWN", 120)
    monkeypatch.setattr("sfumato.pipeline.elsewhere.ROWS_HERE", 10)
    found = {each.name: each for each in sf.measure(folder, plan, engine=in_parts(ROWS, distinct_here=20))}
    assert found["suppression"].value == 0
    assert all("drawn at random" in each.note for each in found.values())
    here = {each.name: each.value for each in sf.measure(folder, plan)}
    assert found["ncp"].value == pytest.approx(here["ncp"], rel=0.3)


def test_a_share_of_dropped_rows_is_that_of_the_whole_tables(run, tmp_path):
    before, after = both(run, tmp_path, most=20, wanted=120)
    fewer = replace(after, drawn=Drawn(after.n_rows, ROWS - ROWS // 10))
    compared = Comparison(before, fewer)
    assert compared.n_dropped == round(after.n_rows * (ROWS // 10) / (ROWS - ROWS // 10))
    assert compared.n_rows == after.n_rows + compared.n_dropped


@pytest.mark.slow
def test_a_run_is_measured_and_attacked_at_its_end_where_its_parts_are(tmp_path, monkeypatch):
    (tmp_path / "table").mkdir()
    plan = plan_of(written_in_files(tmp_path / "table"), K, T)
    one = sf.run(plan, tmp_path / "one", seed=3, engine=in_parts(ROWS))
    monkeypatch.setattr(case, "ROWS_HERE", 10)
    two = sf.run(plan, tmp_path / "two", seed=3, engine=in_parts(ROWS))
    assert not one.facts["pending"]
    assert not two.facts["pending"]
    assert [each.name for each in two.measurements] == [each.name for each in one.measurements]
    values = [(each.name, each.value) for each in one.measurements if each.name != "classification"]
    for name, value in values:
        assert next(each.value for each in two.measurements if each.name == name) == pytest.approx(value), name
    assert [each.after.exposed for each in two.exposures] == [each.after.exposed for each in one.exposures]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
