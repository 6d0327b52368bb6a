"""sfumato in Python: frames in, the same kind out."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import sfumato as sf
from sfumato.errors import Unsatisfiable

COLUMNS = {
    "age": [31, 32, 33, 58, 59, 60],
    "sex": ["m", "f", "m", "f", "m", "f"],
    "ill": ["flu", "cold", "flu", "gout", "cold", "flu"],
    "visits": [1, 2, 3, 4, 5, 6],
}
PLAN = sf.Plan.from_dict(
    {
        "columns": {
            "age": {"role": "quasi-identifier"},
            "sex": {"role": "quasi-identifier"},
            "ill": {"role": "sensitive"},
            "visits": {"role": "other"},
        },
        "require": [sf.KAnonymity(k=3), sf.LDiversity(sensitive="ill", l=2)],
    }
)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_comes_back_as_the_same_kind(make):
    frame = make(COLUMNS)

    run = sf.anonymize(frame, PLAN, seed=1)

    assert type(run.release.data) is type(frame)
    assert all(verdict.satisfied for verdict in run.verdicts)
    assert all(verdict.satisfied for verdict in sf.audit(run.release.data, PLAN))
    assert not sf.audit(frame, PLAN)[0].satisfied
    assert sorted(run.release.data["visits"].to_pylist() if make is pa.table else run.release.data["visits"]) == [
        1, 2, 3, 4, 5, 6,
    ]  # fmt: skip


def test_the_input_frame_is_not_changed():
    frame = pd.DataFrame(COLUMNS)
    before = frame.copy(deep=True)

    sf.anonymize(frame, PLAN)

    pd.testing.assert_frame_equal(frame, before)


def test_a_run_shows_itself_and_writes_its_report(tmp_path):
    run = sf.anonymize(pa.table(COLUMNS), PLAN)

    assert "requirements" in str(run)
    assert run._repr_html_().startswith("<iframe")
    assert run.verdicts[0]._repr_html_()
    page = run.report(tmp_path / "report.html")
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


WARNED = {  # of three kinds: one about two columns, rows that keep their order, and a seed
    "columns": {"age": {"role": "quasi-identifier"}, "ill": {"role": "sensitive"}, "job": {"role": "other"}},
    "require": [{"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "sensitive": "ill", "l": 2}],
    "release": {"shuffle": False},
}


def warned_table():
    contacts = [f"person{row}@example.org" for row in range(12)]
    return pa.table({"age": [30, 31] * 6, "ill": contacts, "job": contacts})


def test_python_hears_each_kind_of_warning_once_at_the_line_of_the_user():
    with pytest.warns(sf.SfumatoWarning) as heard:
        run = sf.anonymize(warned_table(), sf.Plan.from_dict(WARNED), seed=1, measure=False, attack=False)

    texts = [str(each.message) for each in heard]
    contacts = [each for each in run.warnings if "look like names" in each]
    assert run.warnings == tuple(run.facts["warnings"])
    assert len(contacts) == 2
    assert contacts[0] + " (1 more of this kind: see the warnings of the run.)" in texts
    assert len(texts) == len(run.warnings) - 1
    assert {each.filename for each in heard} == {__file__}
    assert issubclass(sf.SfumatoWarning, UserWarning)


def test_a_printed_run_shows_all_its_warnings():
    with pytest.warns(sf.SfumatoWarning):
        run = sf.anonymize(warned_table(), sf.Plan.from_dict(WARNED), seed=1, measure=False, attack=False)

    shown = " ".join(str(run).split())
    assert len(run.warnings) > 2
    assert all(f"Warning: {warning}" in shown for warning in run.warnings)


def test_a_run_without_warnings_is_silent():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", sf.SfumatoWarning)
        run = sf.anonymize(pa.table(COLUMNS), PLAN, measure=False, attack=False)

    assert run.warnings == ()
    assert not [each for each in heard if each.category is sf.SfumatoWarning]
    assert "Warning" not in str(run).replace("Warning: The release was audited", "")


def test_runs_in_folders_warn_as_well_and_what_completes_them_repeats_nothing(tmp_path):
    csv.write_csv(pa.table(COLUMNS), tmp_path / "people.csv")
    plan = sf.Plan.from_dict({**PLAN.document, "source": {"path": "people.csv"}}, tmp_path)

    with pytest.warns(sf.SfumatoWarning) as heard:
        run = sf.run(plan, tmp_path / "out", seed=1, measure=False, attack=False)
    with warnings.catch_warnings(record=True) as later:
        warnings.simplefilter("always", sf.SfumatoWarning)
        facts = sf.complete(tmp_path / "out", plan)

    assert {each.filename for each in [*heard, *later]} == {__file__}
    new = [each for each in facts["warnings"] if each not in run.warnings]
    assert [str(each.message) for each in later if each.category is sf.SfumatoWarning] == new
    assert any("Nothing is left" in warning for warning in new)
    assert any("made with a seed" in warning for warning in facts["warnings"])  # which was heard already


def test_nothing_that_is_the_value_of_a_cell_prints_pages_or_facts_of_the_original(tmp_path):
    frame = pa.table({"age": [20 + row % 40 for row in range(400)], "ill": ["flu", "cold", "gout", "HIV"] * 100})
    plan = sf.draft(frame).plan
    run = sf.anonymize(frame, plan)
    loaded = sf.load(run.release)
    values = [run, run.show(), run.release, plan, plan.explain(), sf.draft(frame), loaded, *run.measurements]
    values += [*run.exposures, *map(loaded.__getitem__, ("age", "ill")), sf.describe(run.release)]

    assert [value for value in values if len(repr(value)) > 200 or "\n" in repr(value)] == []


def test_what_cannot_be_met_raises():
    too_much = sf.Plan.from_dict({"columns": {"age": {"role": "quasi-identifier"}}, "require": [sf.KAnonymity(k=7)]})

    with pytest.raises(Unsatisfiable, match="7"):
        sf.anonymize(pa.table({"age": COLUMNS["age"]}), too_much)


def test_measurements_compare_release_and_original():
    original = pa.table(COLUMNS)
    run = sf.anonymize(original, PLAN)

    again = sf.measure(run.release.data, PLAN, original=original)

    assert {m.name: m.value for m in again if m.name == "ncp"} == {
        m.name: m.value for m in run.measurements if m.name == "ncp"
    }


def test_importing_sfumato_loads_nothing_heavy():
    code = "import sys, sfumato; print({'numba', 'numpy', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert done.stdout.strip() == "set()"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="anonymise"):
        sf.anonymise  # noqa: B018
    assert "anonymize" in dir(sf)


@pytest.mark.parametrize("given", [{"columns": {}}, "plan.toml", None])
@pytest.mark.parametrize(
    "ask",
    [
        lambda plan: sf.anonymize(pa.table(COLUMNS), plan),
        lambda plan: sf.run(plan, "out"),
        lambda plan: sf.sweep(plan, {"k": [2]}, frame=pa.table(COLUMNS)),
        lambda plan: sf.audit(pa.table(COLUMNS), plan),
        lambda plan: sf.measure(pa.table(COLUMNS), plan),
        lambda plan: sf.attack(pa.table(COLUMNS), plan),
    ],
)
def test_what_is_no_plan_is_refused_with_the_way_to_one(ask, given):
    with pytest.raises(sf.SfumatoError, match=r"A plan was expected.*\n.*sf\.Plan\.load"):
        ask(given)


@pytest.mark.parametrize("document", [None, [], "[columns]"])
def test_what_is_no_dictionary_is_no_plan(document):
    with pytest.raises(sf.SfumatoError, match="it must be a dictionary"):
        sf.Plan.from_dict(document)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(sf.SfumatoError, match="seed is no whole number"):
        sf.anonymize(pa.table(COLUMNS), PLAN, seed=seed)


def test_the_name_of_one_column_is_no_list_of_letters():
    run = sf.anonymize(pa.table(COLUMNS), PLAN, seed=1)
    loaded = sf.load(run.release)

    assert loaded.table("ill").columns == loaded.table(["ill"]).columns == ("ill",)
    assert loaded.mean("visits", by="ill") == loaded.mean("visits", by=["ill"])
    assert loaded.regression("visits", "ill").names == loaded.regression("visits", ["ill"]).names
    assert sf.reconstruct(run.release, "ill").table().equals(sf.reconstruct(run.release, ["ill"]).table())
    with pytest.raises(sf.SfumatoError, match="named twice"):
        loaded.table(["ill", "ill"])
