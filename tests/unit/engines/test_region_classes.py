"""Terms where classes were decided about in regions: whole classes still, which are joined inside their region."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from in_parts import Repeating, in_parts
from sfumato.data.files.release import read_release
from sfumato.engines import regions
from sfumato.engines.cutting import Cut, Regions
from sfumato.engines.dividing import DividedEngine
from sfumato.errors import DataError
from sfumato.generators.hospital import knowledge_rows

ROWS, LIMIT = 600, 150
WARDS = {floor: [f"{floor} {number}" for number in range(4)] for floor in ("lower", "upper")}
ILLS = {"mild": ["cold", "flu"], "grave": ["stroke", "cancer"]}


def people() -> pa.Table:
    """Many people, of whom few have the same quasi-identifiers, and many the same terms."""
    rng = np.random.default_rng(8)
    sets = [terms for _, terms in knowledge_rows()]
    common = 0.6 ** np.arange(len(sets))  # so that who shows nothing is far from what was believed before
    return pa.table(
        {
            "income": rng.integers(1000, 9000, ROWS).astype(str),
            "ward": rng.choice([ward for wards in WARDS.values() for ward in wards], ROWS),
            "symptoms": rng.choice(sets, ROWS, p=common / common.sum()),
            "illness": rng.choice([ill for ills in ILLS.values() for ill in ills], ROWS),
        }
    )


def plan_in(folder, *requirements, **more) -> sf.Plan:
    folder.mkdir()
    pa_parquet.write_table(people(), folder / "table.parquet", row_group_size=90)
    names, terms = zip(*knowledge_rows(), strict=True)
    pa_csv.write_csv(pa.table({"label": names, "terms": terms}), folder / "known.csv")
    document = {
        "source": {"path": "table.parquet"},
        "columns": {
            "income": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [100, 500, 4000]}},
            "ward": {"role": "quasi-identifier", "hierarchy": WARDS},
            "symptoms": {"role": "quasi-sensitive", "kind": "set", "separator": "|"},
            "illness": {"role": "sensitive", "hierarchy": ILLS},
        },
        "knowledge": {"path": "known.csv", "label": "label", "terms": "terms", "separator": "|", "unlinked": "forbid"},
        "require": list(requirements),
        **more,
    }
    return sf.Plan.from_dict(document, folder)


def run(plan, out, engine):
    return sf.run(plan, out, seed=5, engine=engine, measure=False, attack=False)


K = {"model": "k-anonymity", "k": 2, "anonymizer": "mondrian"}
LABELS = {"model": "k-anonymity", "k": 2, "anonymizer": "local-recoding"}
CLOSE = {"model": "qs-closeness", "column": "symptoms", "t": 0.12}
MASKS = {"model": "alpha-diversity", "sensitive": ["illness"], "alpha": 0.6}
CASES = {"cuts": (K, CLOSE), "labels": (LABELS, CLOSE), "masks": (K, MASKS, CLOSE)}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_terms_are_removed_and_classes_joined_inside_regions(case, tmp_path):
    plan = plan_in(tmp_path / "given", *CASES[case], anonymizers={"term-suppression": {"margin": 0.2}})
    engine = in_parts(ROWS, distinct_here=LIMIT, rows_together=10)
    done = run(plan, tmp_path / "run", engine)
    assert engine.regions is not None
    assert done.facts["steps"][0]["facts"]["regions"]["regions"] > 1
    told = done.facts["steps"][-1]["facts"]["symptoms"]
    assert told["groups_merged"] > 0
    assert told["terms_removed"] > 0
    assert 0 < told["groups_in_margin"] < told["groups"]
    [home] = engine.homes
    assert home.places[-1].startswith("2-"), "some were joined with what lay elsewhere"
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))
    found = read_release(tmp_path / "run" / "release")
    assert found.description["columns"]["symptoms"]["margin"] == 0.2
    assert found.table().num_rows == ROWS


@pytest.mark.slow
def test_each_row_gets_labels_that_cover_it_and_terms_of_its_own(tmp_path):
    plan = plan_in(tmp_path / "given", K, CLOSE, release={"shuffle": False})
    run(plan, tmp_path / "run", in_parts(ROWS, distinct_here=LIMIT, rows_together=10))
    shown, own = read_release(tmp_path / "run" / "release").table(), people()
    pairs = {
        name: zip(own.column(name).to_pylist(), shown.column(name).to_pylist(), strict=True)
        for name in own.column_names
    }
    for income, label in pairs["income"]:
        low, high = label.strip("[]()").split(",") if "," in label else (label, label)
        assert label == "*" or int(low) <= int(income) <= int(high)
    for ward, label in pairs["ward"]:
        assert label in ("*", ward, ward.partition(" ")[0])
    kept = [set(left) <= set(terms.split("|")) for terms, left in pairs["symptoms"]]
    assert all(kept)
    assert all(one == two for one, two in pairs["illness"])


@pytest.mark.slow
def test_the_number_of_parts_changes_no_byte(tmp_path):
    plan, found = plan_in(tmp_path / "given", K, CLOSE, anonymizers={"term-suppression": {"margin": 0.2}}), []
    for rows in (100, 250, 1000):
        engine = DividedEngine(Repeating(), rows_a_part=rows, distinct_here=LIMIT, rows_together=10)
        run(plan, tmp_path / f"{rows}", engine)
        found.append((tmp_path / f"{rows}" / "release" / "data.parquet" / "part-00000.parquet").read_bytes())
    assert found[0] == found[1] == found[2]


def halves(folder):
    """Return a plan for people whose terms all lead to one label, or all to another, by where they live."""
    rng = np.random.default_rng(2)
    half = rng.integers(0, 2, 300)
    folder.mkdir()
    table = pa.table(
        {
            "half": half * 50 + rng.integers(0, 2, 300),
            "age": rng.integers(0, 60, 300),
            "symptoms": np.where(half == 0, "itch", "ache"),
        }
    )
    pa_parquet.write_table(table, folder / "table.parquet")
    labels = {"one": "itch", "two": "ache", **{f"none {number}": f"sign {number}" for number in range(8)}}
    pa_csv.write_csv(pa.table({"label": list(labels), "terms": list(labels.values())}), folder / "known.csv")
    document = {
        "source": {"path": "table.parquet"},
        "columns": {
            "half": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [50]}},
            "age": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [5, 10]}},
            "symptoms": {"role": "quasi-sensitive", "kind": "set", "separator": "|"},
        },
        "knowledge": {"path": "known.csv", "label": "label", "terms": "terms", "separator": "|"},
        "require": [K, CLOSE],
    }
    return sf.Plan.from_dict(document, folder)


@pytest.mark.slow
def test_a_region_that_is_not_safe_as_one_class_is_joined_with_what_it_was_cut_from(tmp_path, monkeypatch):
    plan, found = halves(tmp_path / "given"), []
    cut = Regions().cut(0, Cut(1, 30)).cut(1, Cut(0, 2))  # young and old; the young by where they live
    monkeypatch.setattr(regions, "cut_up", lambda *_: cut)
    for rows in (50, 120):
        engine = DividedEngine(Repeating(), rows_a_part=rows, distinct_here=170, rows_together=20)
        done = run(plan, tmp_path / f"{rows}", engine)
        assert engine.regions.shape.regions.leaves == (1, 2)
        assert done.facts["steps"][0]["facts"]["regions"]["regions"] == 3
        assert done.facts["steps"][1]["facts"]["regions_joined"] == 1
        assert all(verdict.satisfied for verdict in sf.audit(tmp_path / f"{rows}", plan))
        found.append((tmp_path / f"{rows}" / "release" / "data.parquet" / "part-00000.parquet").read_bytes())
        shown = read_release(tmp_path / f"{rows}" / "release").table()
        assert shown.num_rows == 300
        assert any(shown.column("symptoms").to_pylist())
    assert found[0] == found[1]


@pytest.mark.slow
def test_regions_that_are_too_large_when_they_are_joined_are_refused(tmp_path):
    plan = plan_in(tmp_path / "given", K, {**CLOSE, "t": "0.00001"})
    with pytest.raises(DataError, match=r"rows would have to be worked on together(.|\n)*--distinct-on-driver"):
        run(plan, tmp_path / "run", in_parts(ROWS, distinct_here=LIMIT))
    assert not (tmp_path / "run").exists()


def test_without_a_step_that_forms_classes_there_are_no_regions(tmp_path):
    plan = plan_in(tmp_path / "given", CLOSE)
    with pytest.raises(DataError, match=r"cannot work on regions(.|\n)*no step before it forms classes"):
        run(plan, tmp_path / "run", in_parts(ROWS, distinct_here=LIMIT))
