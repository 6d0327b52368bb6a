"""Regions: above the limit of the driver, what is required holds, in as few of them as may be, or it is refused."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from in_parts import MULTI, ROWS, Here, K, Repeating, T, in_parts, people, plan_of, written_in_files
from sfumato.data.files.release import read_release
from sfumato.engines import region_tasks, regions
from sfumato.engines.cutting import Cut, Regions
from sfumato.engines.dividing import DividedEngine
from sfumato.engines.regions import RegionalWork, added
from sfumato.engines.tasks import WEIGHT, Part
from sfumato.engines.workroom import put
from sfumato.errors import DataError

LIMIT = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written_in_files(tmp_path_factory.mktemp("table"))


CASES = {
    "mondrian": ({**K, "anonymizer": "mondrian"},),
    "rows of a distinct row in several classes": (T, K),
    "diverse": ({"model": "l-diversity", "sensitive": "illness", "l": 2}, K),
    "masks": (MULTI, K),
    "classes, then masks in them": ({**K, "anonymizer": "mondrian"}, MULTI),
}


@pytest.mark.slow
@pytest.mark.parametrize("limit", [25, LIMIT])
@pytest.mark.parametrize("case", CASES)
def test_what_is_required_holds_in_the_union_of_regions_and_no_row_is_lost(case, limit, folder, tmp_path):
    plan = plan_of(folder, *CASES[case])
    engine = in_parts(ROWS, distinct_here=limit)
    run = sf.run(plan, tmp_path / "run", seed=7, engine=engine, measure=False, attack=False)

    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))
    told = run.facts["steps"][0]["facts"]["regions"]
    assert told["regions"] > 1
    assert told["most_distinct_rows"] <= limit
    kept = ("note",) if "masks" in case else ("illness", "note")
    shown = read_release(tmp_path / "run").table()
    assert Counter(rows_of(shown, kept)) == Counter(rows_of(people(), kept))
    assert any("regions" in warning for warning in run.facts["warnings"])


def rows_of(table, names):
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["mondrian", "rows of a distinct row in several classes"])
def test_each_row_gets_a_label_that_covers_it(case, folder, tmp_path):
    plan = plan_of(folder, *CASES[case], release={"shuffle": False})
    sf.run(plan, tmp_path / "run", engine=in_parts(ROWS, distinct_here=25), measure=False, attack=False)
    shown = read_release(tmp_path / "run").table()
    for own, label in zip(people().column("age").to_pylist(), shown.column("age").to_pylist(), strict=True):
        if label != "*" and label != own:
            low, high = label.strip("[]()").split(",")
            assert int(low) <= int(own) <= int(high)
    for own, label in zip(people().column("region").to_pylist(), shown.column("region").to_pylist(), strict=True):
        assert label in ("*", own, {"n": "north", "s": "south"}[own[0]])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rows_however_the_table_lies_in_parts(folder, tmp_path):
    plan = plan_of(folder, T, K)
    found = []
    for rows in (20, 33, 1000):
        engine = DividedEngine(Repeating(), rows_a_part=rows, rows_a_file=1000, distinct_here=LIMIT)
        sf.run(plan, tmp_path / f"{rows}", seed=5, engine=engine, measure=False, attack=False)
        found.append((tmp_path / f"{rows}" / "release" / "data.parquet" / "part-00000.parquet").read_bytes())
    assert found[0] == found[1] == found[2]


def test_a_close_call_whether_there_are_too_many_distinct_rows_is_counted_whatever_the_parts(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    monkeypatch.setattr(regions, "SAMPLED", 30)
    monkeypatch.setattr(regions, "CLOSE", 2)  # the estimate from so few of them is far off
    for parts in (1, 7):
        room, codes = tmp_path / f"{parts}", np.array([[each, 6] for each in range(200)], dtype=np.int32)
        room.mkdir()
        found = []
        for number in range(parts):
            held = codes if parts == 1 else codes[np.sort(rng.choice(200, 190, replace=False))]
            table = pa.table({"0": held[:, 0], "1": held[:, 1], WEIGHT: np.ones(len(held), dtype=np.int64)})
            put(room / "distinct" / f"{number}", [table])
            found.append(Part(f"{number}", 190 * number, len(held), len(held)))
        estimate = regions.sampled(Here(), room, found, ("a", "b"), (200, 7), 30).distinct
        assert estimate > 200
        asked = partial(regions.too_many, Here(), room, found, ("a", "b"), (200, 7))
        assert asked(200) is None
        assert asked(199).distinct == estimate
        assert asked(estimate) is None


def halves(tmp_path):
    """Return a table of two halves that have no sensitive value in common: neither can be met alone."""
    rng = np.random.default_rng(2)
    half = rng.integers(0, 2, 400)
    table = pa.table(
        {
            "half": half * 50 + rng.integers(0, 2, 400),
            "age": rng.integers(0, 30, 400),
            "illness": np.where(half == 0, rng.choice(["a", "b"], 400), rng.choice(["c", "d"], 400)),
        }
    )
    pa_parquet.write_table(table, tmp_path / "halves.parquet")
    return sf.Plan.from_dict(
        {
            "source": {"path": str(tmp_path / "halves.parquet")},
            "columns": {
                "half": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [50]}},
                "age": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [5, 10]}},
                "illness": {"role": "sensitive", "kind": "category"},
            },
            "require": [{"model": "t-closeness", "sensitive": "illness", "t": 0.3}],
        }
    )


def test_rows_that_cannot_be_met_alone_stay_with_others(tmp_path, monkeypatch):
    plan, usual, met = halves(tmp_path), RegionalWork._meets, []

    def meets(self, step, regions, cuts):
        between, within = Cut(0, 2), Cut(1, 15)  # the halves, and ages
        met.append(usual(self, step, Regions(), {0: [between, within]}))
        return usual(self, step, regions, cuts)

    monkeypatch.setattr(RegionalWork, "_meets", meets)
    engine = DividedEngine(Repeating(), rows_a_part=100, distinct_here=150)
    run = sf.run(plan, tmp_path / "run", engine=engine, measure=False, attack=False)
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))
    assert run.facts["steps"][0]["facts"]["regions"]["regions"] > 1
    assert met[0] == {0: [False, True]}


def test_a_region_without_a_way_of_its_own_is_joined_again(tmp_path, monkeypatch):
    plan = halves(tmp_path)
    monkeypatch.setattr(regions, "cut_up", lambda *_: Regions().cut(0, Cut(0, 2)))
    engine = DividedEngine(Repeating(), rows_a_part=100, distinct_here=150)
    run = sf.run(plan, tmp_path / "run", engine=engine, measure=False, attack=False)
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))
    told = run.facts["steps"][0]["facts"]["regions"]
    assert (told["regions"], told["joined"]) == (1, 2)


REFUSED = {
    "full-domain": ({**K, "anonymizer": "full-domain"},),
    "single rows": (K,),
    "reading": ({**MULTI, "reading": "true", "alpha": 0.9}, K),
}


@pytest.mark.slow
@pytest.mark.parametrize("why", REFUSED)
def test_who_must_see_the_whole_table_is_refused_before_anything_is_decided(why, folder, tmp_path):
    options = {"mondrian": {"strict": False}} if why == "single rows" else {}
    need = [{**each, "anonymizer": "mondrian"} if options and each is K else each for each in REFUSED[why]]
    plan = plan_of(folder, *need, anonymizers=options)
    with pytest.raises(DataError, match=r"cannot work on regions of the table(.|\n)*--engine local"):
        sf.run(plan, tmp_path / "run", engine=in_parts(ROWS, distinct_here=25))
    assert not list(tmp_path.iterdir())


def test_figures_of_classes_are_refused_where_regions_decide(folder, tmp_path):
    plan = plan_of(folder, K, release={"shows": "mean"})
    with pytest.raises(DataError, match="shows"):
        sf.run(plan, tmp_path / "run", engine=in_parts(ROWS, distinct_here=25))


@pytest.mark.slow
def test_facts_of_a_run_in_regions_are_plain_data(folder, tmp_path):
    sf.run(plan_of(folder, T), tmp_path / "run", engine=in_parts(ROWS, distinct_here=LIMIT))
    told = json.loads((tmp_path / "run" / "private" / "run.json").read_text(encoding="utf-8"))
    assert told["source"]["rows"] == ROWS
    assert told["examples"]["before"]
    assert told["measurements"]
    assert (tmp_path / "run" / "private" / "report.html").read_text(encoding="utf-8").count("regions of it")


def test_what_cannot_be_added_is_left_out():
    assert added([{"a": 1, "b": {"c": 2}, "d": True}, {"a": 2, "b": {"c": 3}, "d": False}]) == {"a": 3, "b": {"c": 5}}


@pytest.mark.parametrize("at_once", [1, 10, 10**6])
@pytest.mark.parametrize("alike", [False, True])
def test_distinct_rows_of_many_parts_are_those_of_the_whole_however_they_are_put_together(
    at_once, alike, tmp_path, monkeypatch
):
    monkeypatch.setattr(region_tasks, "AT_ONCE", at_once)
    if alike:  # numbers that tell no two rows apart: codes have to
        monkeypatch.setattr(region_tasks, "mixed", lambda codes: np.zeros(len(codes), dtype=np.uint64))
    rng, sizes = np.random.default_rng(3), [3, 1, 5]
    rows = np.stack([rng.integers(0, size, 400) for size in sizes], axis=1).astype(np.int32)
    parts, kept_codes = [], []
    for number, part in enumerate(np.array_split(rows, 9)):
        codes, weight = np.unique(part, axis=0, return_counts=True)
        arrays = {f"{at}": pa.array(column.copy()) for at, column in enumerate(codes.T)}
        put(tmp_path / "distinct" / f"{number}", [pa.table({**arrays, WEIGHT: pa.array(weight)})])
        parts.append(Part(f"{number}", 0, len(part), len(codes)))
        kept_codes.append(codes)
    found = region_tasks.AllDistinct.of(tmp_path, parts, sizes)
    wanted, weight = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(found.codes, wanted)
    assert np.array_equal(found.weight, weight)
    for codes in kept_codes:
        assert np.array_equal(wanted[found.places(codes)], codes)
