"""A whole release as values: the same from a folder and from memory, in pandas, polars and Arrow."""

from __future__ import annotations

import json

import numpy as np
import pandas
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError

JOBS = {"health": ["nurse", "doctor", "midwife"], "food": ["cook", "baker"]}
PLAN = {
    "source": {"path": "people.csv"},
    "columns": {
        "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10]}},
        "job": {"role": "quasi-identifier", "hierarchy": JOBS},
        "zip": {"role": "quasi-identifier", "kind": "category", "hierarchy": {"prefix": 2}},
        "ill": {"role": "sensitive", "hierarchy": {"lungs": ["asthma", "cough"], "rest": ["flu", "cold"]}},
        "terms": {"role": "other"},
        "pay": {"role": "other"},
    },
    "require": [
        {"model": "k-anonymity", "k": 4},
        {"model": "alpha-diversity", "sensitive": ["ill"], "alpha": 0.5},
    ],
    "release": {"publish_base_rates": True},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loaded")
    rng = np.random.default_rng(3)
    jobs, ills = ["nurse", "doctor", "cook"], ["asthma", "flu", "cold", "cough"]
    rows = [
        f"{rng.integers(20, 60)},{rng.choice(jobs)},1{i % 2}{rng.integers(0, 4)},{rng.choice(ills)},t{i % 3},{i / 2}\n"
        for i in range(120)
    ]
    (folder / "people.csv").write_text("age,job,zip,ill,terms,pay\n" + "".join(rows), encoding="utf-8")
    sf.run(sf.Plan.from_dict(PLAN, folder), folder / "run", seed=1, measure=False, attack=False)
    return folder / "run"


@pytest.fixture(scope="module")
def loaded(folder):
    return sf.load(folder / "release")


def test_every_cell_has_what_it_may_stand_for(loaded, folder):
    frame = pandas.read_csv(folder / "release" / "data.csv", dtype=str, keep_default_na=False)

    assert list(loaded) == list(frame.columns)
    for label, low, high in zip(frame["age"], loaded["age"].lower, loaded["age"].upper, strict=True):
        assert label in (f"[{low:.0f}, {high:.0f}]", f"{low:.0f}", "*")
    members = loaded["job"].members
    assert members.get("health", ("nurse", "doctor", "midwife")) == ("nurse", "doctor", "midwife")
    assert set(loaded["zip"].level.tolist()) <= {-1, 0, 1, 2}
    assert loaded["ill"].rates is not None


def test_the_values_below_a_label_are_published_of_declared_hierarchies_only(folder):
    columns = json.loads((folder / "release" / "release.json").read_text(encoding="utf-8"))["columns"]

    derived = [*columns["zip"]["legend"].values(), *columns["age"]["legend"].values()]
    assert derived
    assert all("members" not in entry for entry in derived)
    listed = [*columns["job"].get("legend", {}).values(), *columns["ill"].get("legend", {}).values()]
    assert listed
    assert all(entry["members"] for entry in listed)
    kept_back = sf.Plan.from_dict({**PLAN, "release": {"publish_members": False}}, folder.parent)
    run = sf.run(kept_back, folder.parent / "back", seed=1, measure=False, attack=False)
    assert "members" not in json.dumps(dict(run.release.description["columns"]))


def test_arrow_polars_and_pandas_show_the_same(loaded):
    table, frame, wide = loaded.to_arrow(), loaded.to_pandas(), loaded.to_polars()

    assert str(frame["age"].dtype).startswith("interval")
    middle = table["age"].combine_chunks().field("midpoint").to_pylist()
    assert [None if np.isnan(mid) or np.isinf(mid) else mid for mid in frame["age"].array.mid] == middle
    assert wide["age"].struct.field("lower").to_list() == table["age"].combine_chunks().field("lower").to_pylist()
    assert wide["job"].struct.field("label").to_list() == frame["job"].astype(object).tolist()
    assert frame["pay"].dtype == np.float64  # carried along as it was
    assert wide.schema["terms"] == pl.String


def test_a_release_in_memory_is_read_like_the_folder(loaded, folder):
    plan = sf.Plan.from_dict(PLAN, folder.parent)
    again = sf.load(sf.run(plan, folder.parent / "again", seed=1, measure=False, attack=False).release)

    assert again.to_arrow().equals(loaded.to_arrow())


def test_a_column_that_is_not_there_is_named(loaded):
    with pytest.raises(sf.DataError, match="Did you mean 'age'"):
        loaded["aged"]


def test_sets_drawn_by_chance_say_how_likely_the_truth_is_among_them(tmp_path):
    people = pandas.DataFrame({"job": ["cook", "nurse"] * 40})
    column = {"role": "sensitive-quasi-identifier", "domain": ["cook", "nurse", "smith"]}
    plan = {"columns": {"job": column}, "require": [{"model": "sensitive-qid-diversity", "l": {"job": 2}}]}
    run = sf.anonymize(people, sf.Plan.from_dict(plan), seed=2, measure=False, attack=False)
    jobs = sf.load(run.release)["job"]

    about = run.release.description["columns"]["job"]
    assert jobs.chance == pytest.approx(about["p"] + (1 - about["p"]) * about["eta"] / 3)
    assert {len(cell) for cell in jobs.arrow().to_pylist()} == {about["eta"]}


def test_values_drawn_one_by_one_are_not_taken_for_the_truth():
    about = {"role": "sensitive-quasi-identifier", "domain": ["a", "b", "c"], "shares": [0.5, 0.3, 0.2], "p": 0.4}
    columns = {"job": {**about, "kind": "category"}, "age": {"role": "other", "kind": "number"}}
    table = pa.table({"job": ["a", "b", "c", "a"], "age": [1, 2, 3, 4]})
    loaded = sf.load(sf.Published(lambda: table, {"rows": 4, "columns": columns}))

    job = loaded["job"]
    assert job.probabilities()["a"] == pytest.approx({"a": 0.4 + 0.6 * 0.5, "b": 0.6 * 0.3, "c": 0.6 * 0.2})
    assert job.chance == pytest.approx(0.4 + 0.6 * (0.25 + 0.09 + 0.04))
    assert job.pandas().tolist() == ["a", "b", "c", "a"]
    for ask in (
        lambda: loaded.table(["job"]),
        lambda: loaded.mean("age", by=["job"]),
        lambda: loaded.regression("age", ["job"]),
    ):
        with pytest.raises(DataError, match="'job' was asked for, but its cells show values that may have been drawn"):
            ask()
