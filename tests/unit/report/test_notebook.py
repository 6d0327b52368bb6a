"""What a notebook shows: short names of things, pages in frames, and an example that runs."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebook.ipynb"
PEOPLE = pa.table(
    {
        "age": [30 + row % 40 for row in range(120)],
        "<b>job</b>": [("nurse", "cook", "clerk")[row % 3] for row in range(120)],
    }
)
PLAN = {
    "columns": {
        "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10]}},
        "<b>job</b>": {"role": "sensitive"},
    },
    "require": [sf.KAnonymity(k=4), {"model": "l-diversity", "sensitive": "<b>job</b>", "l": 2}],
}


@pytest.fixture(scope="module")
def run():
    return sf.anonymize(PEOPLE, sf.Plan.from_dict(PLAN), seed=1)


def test_names_of_things_are_short(run):
    plan = sf.Plan.from_dict(PLAN)
    assert repr(run) == "<Run: 2 of 2 requirements hold, 120 rows>"
    assert repr(plan) == "<Plan: 2 columns; k-anonymity, l-diversity>"
    assert repr(sf.draft(PEOPLE)) == "<Draft: 2 columns, 0 questions>"


def test_a_run_shows_its_verdicts_in_a_frame_without_rights(run):
    card, whole = run._repr_html_(), run.show()._repr_html_()
    for shown in (card, whole):
        assert shown.startswith('<iframe sandbox="" srcdoc="')
        assert "k-anonymity" in shown
        assert "<b>job</b>" not in shown
    assert len(card) < len(whole)
    assert run.show(height=321)._repr_html_().count("height:321px") == 1


def test_plan_and_draft_show_themselves_escaped():
    plan = sf.Plan.from_dict(PLAN)
    for shown in (plan._repr_html_(), plan.explain()._repr_html_(), sf.draft(PEOPLE)._repr_html_()):
        assert "&lt;b&gt;job&lt;/b&gt;" in shown
        assert "<b>job</b>" not in shown
    assert "Step 1: local-recoding" in str(plan.explain())


def test_a_draft_of_a_frame_runs_as_it_is():
    draft = sf.draft(PEOPLE)
    assert "path" not in draft.text
    assert sf.anonymize(PEOPLE, draft.plan, seed=1).verdicts[0].satisfied


def test_a_draft_of_a_file_finds_it_again(tmp_path, monkeypatch):
    import pyarrow.csv as pa_csv

    monkeypatch.chdir(tmp_path)
    pa_csv.write_csv(PEOPLE, "people.csv")
    assert all(verdict.satisfied for verdict in sf.run(sf.draft("people.csv").plan, "out").verdicts)


@pytest.mark.slow
def test_the_example_runs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    shown = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []
        code = ast.parse("".join(cell["source"]))
        last = code.body.pop() if isinstance(code.body[-1], ast.Expr) else None
        exec(compile(code, str(NOTEBOOK), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)
            shown += hasattr(value, "_repr_html_")
            assert not hasattr(value, "_repr_html_") or value._repr_html_()
    assert shown >= 5
