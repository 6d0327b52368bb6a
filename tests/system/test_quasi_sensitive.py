"""Symptoms that give a disease away: from plan and knowledge table to an audited release."""

from __future__ import annotations

import csv
import json
import random

import pyarrow as pa
import pytest
from tests.commands import told

import sfumato as sf
from sfumato.api import audit
from sfumato.errors import DataError, PlanError, Unsatisfiable
from sfumato.pipeline import Case
from sfumato.plan import Plan

DISEASES = {
    "flu": ["fever", "cough", "ache", "chills"],
    "cold": ["cough", "sneeze", "sore throat"],
    "asthma": ["cough", "wheeze", "short breath"],
    "angina": ["chest pain", "short breath", "ache"],
    "migraine": ["headache", "nausea", "ache"],
    "gastritis": ["nausea", "stomach pain", "chills"],
}
PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[columns.sex]
role = "quasi-identifier"
[columns.symptoms]
role = "quasi-sensitive"
kind = "set"
[knowledge]
path = "diseases.csv"
label = "disease"
terms = "symptoms"
separator = "|"
[[require]]
model = "k-anonymity"
k = 4
[[require]]
model = "qs-diversity"
column = "symptoms"
c = 1
l = 2
[[require]]
model = "qs-closeness"
column = "symptoms"
t = 0.3
"""


@pytest.fixture
def folder(tmp_path):
    chance = random.Random(5)
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "sex", "symptoms"])
        for _ in range(120):
            disease = chance.choice(list(DISEASES))
            terms = chance.sample(DISEASES[disease], chance.randint(1, 3))
            rows.writerow([chance.randint(20, 80), chance.choice("mf"), "|".join(terms)])
    with (tmp_path / "diseases.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["disease", "symptoms"])
        rows.writerows([name, "|".join(terms)] for name, terms in DISEASES.items())
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def changed(folder, old, new):
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    assert old in text
    (folder / "plan.toml").write_text(text.replace(old, new), encoding="utf-8")
    return Plan.load(folder / "plan.toml")


def test_the_release_keeps_its_promises_and_only_loses_terms(folder):
    plan = Plan.load(folder / "plan.toml")

    outcome = Case(plan).make_folder(folder / "out", lambda facts: "")

    assert all(verdict.satisfied for verdict in outcome.verdicts)
    assert [step["anonymizer"] for step in outcome.facts["steps"]] == ["mondrian", "term-suppression"]
    facts = outcome.facts["steps"][1]["facts"]["symptoms"]
    assert facts["lower_bound"] <= facts["cost"]
    assert facts["groups_unreachable"] == 0
    assert "belief-change" in {measurement["name"] for measurement in outcome.facts["measurements"]}
    assert all(verdict.satisfied for verdict in audit(folder / "out", plan))
    assert not any(verdict.satisfied for verdict in audit(folder / "people.csv", plan))
    known = {term for terms in DISEASES.values() for term in terms}
    with (folder / "out" / "release" / "data.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert set(filter(None, row["symptoms"].split("|"))) <= known


def test_the_prior_is_published_only_when_the_plan_says_so(folder):
    Case(Plan.load(folder / "plan.toml")).make_folder(folder / "out", lambda facts: "")
    assert "prior" not in json.loads((folder / "out" / "release" / "release.json").read_text(encoding="utf-8"))

    plan = changed(folder, 'label = "disease"', 'label = "disease"\npublish_prior = true')
    Case(plan).make_folder(folder / "open", lambda facts: "")
    prior = json.loads((folder / "open" / "release" / "release.json").read_text(encoding="utf-8"))["prior"]
    assert set(prior) == set(DISEASES)
    assert sum(prior.values()) == pytest.approx(1)


def test_without_k_groups_are_equal_quasi_identifiers(folder):
    plan = changed(folder, '[[require]]\nmodel = "k-anonymity"\nk = 4\n', "")

    outcome = Case(plan).make_folder(folder / "out", lambda facts: "")

    assert [step["anonymizer"] for step in outcome.facts["steps"]] == ["term-suppression"]
    assert all(verdict.satisfied for verdict in outcome.verdicts)


@pytest.mark.parametrize(
    ("old", "new", "error", "expected"),
    [
        ('label = "disease"', 'label = "diseases"', DataError, "disease"),
        ('path = "diseases.csv"', 'path = "nothing.csv"', DataError, "nothing.csv"),
        ("l = 2", "l = 7", Unsatisfiable, "6"),
    ],
)
def test_what_cannot_work_is_said_and_nothing_is_written(folder, old, new, error, expected):
    plan = changed(folder, old, new)

    with pytest.raises(error, match=expected):
        Case(plan).make_folder(folder / "out", lambda facts: "")

    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("c = 1", "c = 0", "c"),
        ("l = 2", "l = 0", "l"),
        ("t = 0.3", "t = 1.5", "t"),
        ('role = "quasi-sensitive"', 'role = "sensitive"', "quasi-sensitive"),
        ('label = "disease"\n', "", "needs 'label'"),
        ('separator = "|"\n[[', 'unlinked = "ignored"\n[[', "unlinked"),
    ],
)
def test_a_wrong_plan_is_refused(folder, old, new, expected):
    with pytest.raises(PlanError, match=expected):
        changed(folder, old, new)


SEVERAL = """
[source]
path = "several.csv"
[columns.age]
role = "quasi-identifier"
[columns.symptoms]
role = "quasi-sensitive"
kind = "set"
[columns.blood]
role = "quasi-sensitive"
kind = "category"
[columns.smoker]
role = "quasi-sensitive"
present = "yes"
[knowledge]
path = "known.csv"
label = "disease"
terms = "clues"
separator = "|"
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "qs-diversity"
column = ["symptoms", "blood", "smoker"]
c = 1
l = 3
"""


@pytest.fixture
def several(tmp_path):
    chance = random.Random(3)
    known = {
        disease: [f"symptoms={term}" for term in terms] + [f"blood={chance.choice('AB0')}", "smoker"][: i % 3]
        for i, (disease, terms) in enumerate(DISEASES.items())
    }
    with (tmp_path / "known.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["disease", "clues"])
        rows.writerows([name, "|".join(terms)] for name, terms in known.items())
    with (tmp_path / "several.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "symptoms", "blood", "smoker"])
        for _ in range(60):
            clues = chance.choice(list(known.values()))
            symptoms = chance.sample([clue[9:] for clue in clues if clue.startswith("symptoms=")], 2)
            blood = next((clue[6:] for clue in clues if clue.startswith("blood=")), "")
            rows.writerow([chance.randint(20, 80), "|".join(symptoms), blood, "yes" if "smoker" in clues else "no"])
    (tmp_path / "plan.toml").write_text(SEVERAL, encoding="utf-8")
    return tmp_path


def test_several_columns_are_protected_together(several):
    plan = Plan.load(several / "plan.toml")

    outcome = Case(plan).make_folder(several / "out", lambda facts: "")

    assert all(verdict.satisfied for verdict in outcome.verdicts)
    assert outcome.facts["steps"][1]["facts"]["symptoms + blood + smoker"]["terms_removed"] > 0
    measured = {measurement["name"]: measurement for measurement in outcome.facts["measurements"]}
    assert measured["term-loss"]["value"] == pytest.approx(
        outcome.facts["steps"][1]["facts"]["symptoms + blood + smoker"]["cost"]
    )
    assert measured["query-error"]["facts"]["terms"] == "symptoms + blood + smoker"
    assert all(verdict.satisfied for verdict in audit(several / "out", plan))
    assert not all(verdict.satisfied for verdict in audit(several / "several.csv", plan))
    with (several / "out" / "release" / "data.csv").open(newline="", encoding="utf-8") as file:
        assert {row["smoker"] for row in csv.DictReader(file)} <= {"yes", ""}


def test_quasi_sensitive_columns_are_not_judged_apart(several):
    apart = '[[require]]\nmodel = "qs-closeness"\ncolumn = "symptoms"\nt = 0.5\n'
    with pytest.raises(PlanError, match="together"):
        changed(several, '[[require]]\nmodel = "k-anonymity"', apart + '[[require]]\nmodel = "k-anonymity"')


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('present = "yes"\n', "", "what its terms are"),
        ('present = "yes"\n', 'term = "smoking"\n', "present"),
        ('present = "yes"\n', "present = []\n", "present must be"),
        ('kind = "set"\n', 'kind = "set"\npresent = "yes"\n', "single values"),
        ('"blood", "smoker"]', '"blood", "blood"]', "twice"),
        ('"blood", "smoker"]', '"blood"]', "no requirement protects it"),
    ],
)
def test_what_cannot_be_joined_is_refused(several, old, new, expected):
    with pytest.raises(PlanError, match=expected):
        changed(several, old, new)


def test_generalization_alone_removes_no_term(folder):
    text = (folder / "plan.toml").read_text(encoding="utf-8").replace("l = 2\n", 'l = 2\nanonymizer = "mondrian"\n')
    (folder / "plan.toml").write_text(text.replace("t = 0.3\n", 't = 0.3\nanonymizer = "mondrian"\n'), encoding="utf-8")
    plan = Plan.load(folder / "plan.toml")

    outcome = Case(plan).make_folder(folder / "out", lambda facts: "")

    assert [step["anonymizer"] for step in outcome.facts["steps"]] == ["mondrian"]
    assert all(verdict.satisfied for verdict in outcome.verdicts)
    measured = {measurement["name"]: measurement for measurement in outcome.facts["measurements"]}
    assert measured["term-loss"]["value"] == 0


def test_cuts_and_removal_in_one_step(folder):
    plan = changed(folder, "[knowledge]", "[anonymizers.term-suppression]\njoint = true\nweight = 2\n[knowledge]")

    outcome = Case(plan).make_folder(folder / "out", lambda facts: "")

    assert all(verdict.satisfied for verdict in outcome.verdicts)
    assert outcome.facts["steps"][1]["options"]["joint"] is True


def test_one_step_needs_something_to_cut(folder):
    changed(folder, "[knowledge]", "[anonymizers.term-suppression]\njoint = true\n[knowledge]")
    with pytest.raises(PlanError, match="mondrian splits before it"):
        changed(folder, '[[require]]\nmodel = "k-anonymity"\nk = 4\n', "").searchable()


YES_NO = ("Coughing", "vomiting", "Headache", "Sore Throat")


@pytest.mark.parametrize("written", [("Yes", "No"), (True, False), (1, 0)], ids=["words", "truth values", "numbers"])
@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_figure_1b_runs_in_python(tmp_path, written, kind):
    """The paper's other way to write symptoms, a column for each, and a single category beside them."""
    yes, no = written
    columns = {
        "age": [22, 25, 27, 30, 35],
        **{
            name: [yes if mark == "x" else no for mark in marks]
            for name, marks in zip(YES_NO, ("xx...", "...x.", "xxxxx", "x.x.x"), strict=True)
        },
        "blood": ["A", "B", None, "B", "A"],
    }
    (tmp_path / "diseases.csv").write_text(
        "disease,signs\nFlu,Coughing|Headache|Sore Throat|blood=A|blood=B\n"
        "Hepatitis B,loss of appetite|vomiting|body aches|dark urine|blood=A|blood=B\n",
        encoding="utf-8",
    )
    document = {
        "columns": {
            "age": {"role": "quasi-identifier"},
            **{
                name: {"role": "quasi-sensitive", "present": str(yes).lower() if yes is True else str(yes)}
                for name in YES_NO
            },
            "blood": {"role": "quasi-sensitive", "kind": "category"},
        },
        "knowledge": {
            "path": "diseases.csv",
            "label": "disease",
            "terms": "signs",
            "separator": "|",
            "unlinked": "linked",
        },
        "require": [
            {"model": "k-anonymity", "k": 2},
            {"model": "qs-diversity", "column": [*YES_NO, "blood"], "c": 1, "l": 2},
        ],
    }
    plan = Plan.from_dict(document, base=tmp_path)
    frame = pa.table(columns) if kind == "pyarrow" else pa.table(columns).to_pandas()

    run = sf.anonymize(frame, plan, seed=1)

    assert all(verdict.satisfied for verdict in run.verdicts)
    rows = pa.table(columns).num_rows
    released = run.release.data if kind == "pyarrow" else pa.Table.from_pandas(run.release.data)
    shown = {name: {value for value in released.column(name).to_pylist() if value is not None} for name in YES_NO}
    assert released.num_rows == rows
    assert all(values <= {yes, str(yes), str(yes).lower()} for values in shown.values())
    assert any(measured.name == "term-loss" and measured.value > 0 for measured in run.measurements)
    found = sf.sweep(plan, {"k": [2, 5]}, frame=frame)
    assert found.facts["holding"] == 2


# Spelling.


@pytest.fixture
def figure_1(tmp_path):
    """A hundred copies of Figure 1's students and a plan for them; `write` spells some Headaches in another way."""
    (tmp_path / "diseases.csv").write_text(
        "disease,symptoms\nFlu,Coughing|Headache|Sore Throat\n"
        "Cold,Coughing|Sore Throat|Sneezing\nMigraine,Headache|Nausea|Coughing\n",
        encoding="utf-8",
    )
    plan = PLAN.replace("k = 4", "k = 5").replace('[columns.sex]\nrole = "quasi-identifier"\n', "")
    (tmp_path / "plan.toml").write_text(plan[: plan.index('[[require]]\nmodel = "qs-closeness"')], encoding="utf-8")

    def write(misspelt, spelled="headache"):
        sets = ["Coughing|Headache|Sore Throat", "Coughing|Headache", "Headache|Sore Throat"]
        lines = [f"{20 + i % 10},{sets[i % 3]}" for i in range(100)]
        lines[:misspelt] = [line.replace("Headache", spelled) for line in lines[:misspelt]]
        (tmp_path / "people.csv").write_text("\n".join(["age,symptoms", *lines, ""]), encoding="utf-8")
        return tmp_path

    return write


def published_terms(folder):
    with (folder / "release" / "data.csv").open(newline="", encoding="utf-8") as file:
        return [set(filter(None, row["symptoms"].split("|"))) for row in csv.DictReader(file)]


def test_misspelt_terms_end_a_run_until_somebody_decides(figure_1):
    folder = figure_1(30)

    with pytest.raises(DataError) as ended:
        told("anonymize", folder / "plan.toml", "--out", folder / "out")
    assert ended.value.exit_code == 2
    assert "30 of 100 records (30.0%)" in str(ended.value)
    assert not (folder / "out").exists()
    warned = " ".join(told("explain", folder / "plan.toml")["warnings"])
    assert all("'Headache'" in words and "headache" not in words for words in (str(ended.value), warned))

    changed(folder, 'separator = "|"\n[[', 'separator = "|"\nunlinked = "forbid"\n[[')
    made = json.dumps(told("anonymize", folder / "plan.toml", "--out", folder / "out"))
    assert "'Headache'" in made
    assert "headache" not in made
    assert not any("headache" in terms for terms in published_terms(folder / "out"))
    assert "headache" in (folder / "out" / "private" / "report.html").read_text(encoding="utf-8")


def test_few_misspelt_terms_are_withheld_and_counted(figure_1):
    folder = figure_1(4)

    outcome = Case(Plan.load(folder / "plan.toml")).make_folder(folder / "out", lambda facts: "")

    assert all(verdict.satisfied for verdict in outcome.verdicts)
    assert not any("headache" in terms for terms in published_terms(folder / "out"))
    assert outcome.facts["knowledge"]["unexplained"] == 4
    assert any("4 of 100 records" in warning for warning in outcome.facts["warnings"])


def test_dirtier_data_publish_no_more(figure_1):
    """A release of misspelt data is one that the data could have had if they were clean, so it keeps no more."""
    kept = []
    for misspelt in (0, 2, 5, 40, 95):
        folder = figure_1(misspelt)
        text = (folder / "plan.toml").read_text(encoding="utf-8")
        if "forbid" not in text:
            changed(folder, 'separator = "|"\n[[', 'separator = "|"\nunlinked = "forbid"\n[[')
        out = folder / f"out{misspelt}"
        outcome = Case(Plan.load(folder / "plan.toml")).make_folder(out, lambda facts: "")
        assert outcome.facts["steps"][1]["facts"]["symptoms"]["proven"] == 1
        kept.append(sum(map(len, published_terms(out))))
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] < kept[0]


def test_a_table_of_any_tool_with_terms_that_nobody_knows_does_not_pass(figure_1):
    folder = figure_1(100)

    verdicts = audit(folder / "people.csv", Plan.load(folder / "plan.toml"))

    assert not verdicts[1].satisfied
    assert any("100 of 100 records" in note for note in verdicts[1].notes)
