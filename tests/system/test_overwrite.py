"""`--overwrite` replaces what a run wrote, and never anything else."""

from __future__ import annotations

import json
import random

import pytest

import sfumato as sf
from commands import told
from sfumato.errors import OutputError

PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[columns.disease]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
"""


@pytest.fixture
def folder(tmp_path):
    chance = random.Random(3)
    rows = [f"{chance.randint(20, 60)},{chance.choice(['flu', 'cold'])}" for _ in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["age,disease", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    sf.run(sf.Plan.load(tmp_path / "plan.toml"), tmp_path / "out", seed=1)
    return tmp_path


def again(folder, out="out", plan="plan.toml"):
    return sf.run(sf.Plan.load(folder / plan), folder / out, seed=2, overwrite=True)


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_replaced(folder):
    before = everything(folder / "out")
    again(folder)
    assert set(everything(folder / "out")) == set(before)
    assert everything(folder / "out") != before


def test_a_folder_with_plan_source_and_notes_beside_a_release_is_no_run(folder):
    (folder / "out" / "release").rename(folder / "release")
    (folder / "notes.txt").write_text("a year of work", encoding="utf-8")
    before = everything(folder)
    for out in (".", "./"):
        with pytest.raises(OutputError, match="holds what this run reads"):
            again(folder, out)
    assert everything(folder) == before


def test_files_of_a_user_inside_a_run_are_named_and_stay(folder):
    (folder / "out" / "release" / "mine.txt").write_text("mine", encoding="utf-8")
    before = everything(folder)
    with pytest.raises(OutputError, match=r"release/mine\.txt"):
        again(folder)
    assert everything(folder) == before


def test_a_release_that_was_edited_is_not_what_the_run_wrote(folder):
    with (folder / "out" / "release" / "data.csv").open("a", encoding="utf-8") as file:
        file.write("99,flu\n")
    before = everything(folder)
    with pytest.raises(OutputError, match=r"release/data\.csv"):
        again(folder)
    assert everything(folder) == before


def test_a_foreign_folder_with_a_release_in_it_is_no_run(folder):
    (folder / "web" / "release").mkdir(parents=True)
    (folder / "web" / "release" / "release.json").write_text(json.dumps({"version": "1.2.3"}), encoding="utf-8")
    before = everything(folder)
    with pytest.raises(OutputError, match="no run of sfumato"):
        again(folder, "web")
    assert everything(folder) == before


def test_a_run_whose_release_is_the_source_is_not_replaced(folder):
    text = PLAN.replace("people.csv", "out/release/data.csv")
    (folder / "plan2.toml").write_text(text, encoding="utf-8")
    before = everything(folder)
    with pytest.raises(OutputError, match=r"source\.path"):
        again(folder, plan="plan2.toml")
    assert everything(folder) == before


def test_a_report_is_written_over_a_report_only(folder):
    before = everything(folder)
    with pytest.raises(OutputError, match="no report of sfumato"):
        told("report", folder / "out", "--out", folder / "people.csv")
    assert everything(folder) == before
    for _ in range(2):
        told("report", folder / "out", "--out", folder / "page.html")


def test_a_draft_is_written_over_a_plan_only(folder):
    before = everything(folder)
    with pytest.raises(OutputError, match="no plan"):
        told("init", folder / "people.csv", "--out", folder / "people.csv", "--overwrite")
    assert everything(folder) == before
    told("init", folder / "people.csv", "--out", folder / "plan.toml", "--overwrite")
