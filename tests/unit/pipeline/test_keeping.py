"""A release is published when it is audited; what is only measured or attacked can come later, and comes out alike."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

import sfumato as sf
from commands import told
from families import FAMILIES, plan_in
from sfumato.data.files import read_table
from sfumato.errors import DataError, OutputError
from sfumato.pipeline import case
from sfumato.pipeline.facts import TEST_ONLY
from tables_on_disk import Watcher

LATER = ("--no-measure", "--no-attack")


@pytest.fixture
def people(tmp_path):
    plan = plan_in(tmp_path, FAMILIES[0])
    return plan.parent


@pytest.fixture
def unfinished(people):
    told("anonymize", people / "plan.toml", "--out", people / "out", "--seed", 5, *LATER)
    return people


def facts_of(run):
    return json.loads((run / "private" / "run.json").read_text(encoding="utf-8"))


class Watching:
    """Keeps every piece of work by its name: its total, and how far it came."""

    def __init__(self):
        self.pieces = []

    def stage(self, name, total=None):
        self.pieces.append(Watcher())
        self.pieces[-1].name = name
        return self.pieces[-1].stage(name, total)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_work_that_may_take_long_says_how_much_there_is_and_how_far_it_is(tmp_path, family):
    watching = Watching()
    sf.run(sf.Plan.load(plan_in(tmp_path, family)), tmp_path / "out", seed=5, progress=watching)

    quick = {"encode"}  # seconds for ten million rows, in calls of a library that tell nothing
    assert {piece.name for piece in watching.pieces} >= {"read", "encode", "write", "audit", "measure", "attack"}
    for piece in watching.pieces:
        assert piece.finished, piece.name
        assert piece.name in quick or piece.total is not None, piece.name
        assert piece.name in quick or 0 < piece.steps <= piece.total or piece.total == 0, piece.name


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_completed_later_is_what_would_have_been_found_at_once(tmp_path, family):
    plan = sf.Plan.load(plan_in(tmp_path, family))
    at_once = sf.run(plan, tmp_path / "once", seed=5)
    later = sf.run(plan, tmp_path / "later", seed=5, measure=False, attack=False)
    assert (later.measurements, later.exposures, later.facts["pending"]) == ((), (), ["measure", "attack"])

    half = sf.complete(tmp_path / "later", attack=False)
    assert (half["pending"], half["attacks"]) == (["attack"], [])
    sf.complete(tmp_path / "later", measure=False)

    one, other = facts_of(tmp_path / "once"), facts_of(tmp_path / "later")
    assert other["pending"] == []
    assert one["measurements"] == other["measurements"] == json.loads(json.dumps(at_once.facts["measurements"]))
    assert one["attacks"] == other["attacks"]
    assert set(one) == set(other)


def test_the_release_has_its_name_before_anything_is_measured_or_attacked(people, monkeypatch):
    seen = []

    def look(*_, **__):
        seen.append(sorted(path.name for path in (people / "out").iterdir()))
        return ()

    monkeypatch.setattr(case, "measure_all", look)
    monkeypatch.setattr(case, "attack_all", look)
    sf.run(sf.Plan.load(people / "plan.toml"), people / "out", published=lambda: seen.append("published"))
    assert seen == ["published", ["private", "release"], ["private", "release"]]


def test_the_page_and_the_commands_say_what_is_missing(unfinished):
    page = unfinished / "out" / "private" / "report.html"
    assert "was not measured" in page.read_text(encoding="utf-8")
    assert told("report", unfinished / "out", *LATER)["pending"] == ["measure", "attack"]
    assert told("report", unfinished / "out")["pending"] == []
    assert "was not measured" not in page.read_text(encoding="utf-8")
    assert all(path.stat().st_mode & 0o077 == 0 for path in page.parent.iterdir())


def test_frames_can_be_measured_later(people):
    plan = sf.Plan.load(people / "plan.toml")
    frame = read_table(plan.source)
    run = sf.anonymize(frame, plan, seed=5, measure=False, attack=False)
    whole = sf.anonymize(frame, plan, seed=5)
    assert (run.measurements, run.exposures) == ((), ())
    measured = sf.measure(run, plan, original=frame)
    assert all(TEST_ONLY in found.notes for found in measured)  # who asks later may not know of the seed
    assert tuple(replace(found, notes=()) for found in measured) == whole.measurements
    assert [found.after for found in sf.attack(run, plan, original=frame)][: len(whole.exposures)] == [
        found.after for found in whole.exposures
    ]


def test_a_source_that_changed_or_is_gone_is_said_and_nothing_is_touched(unfinished):
    source, run = sf.Plan.load(unfinished / "plan.toml").source.path, unfinished / "out"
    before = (run / "private" / "run.json").read_bytes()
    text = source.read_text(encoding="utf-8")
    source.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"changed since then: source\.path"):
        told("report", run)
    source.unlink()
    with pytest.raises(DataError, match="needs the source"):
        told("report", run)
    assert (run / "private" / "run.json").read_bytes() == before


@pytest.mark.slow
def test_a_plan_that_changed_or_moved_does_not_change_what_is_completed(unfinished):
    plan = unfinished / "plan.toml"
    shutil.copytree(unfinished, moved := unfinished.with_name("moved"))
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text + "# a note\n", encoding="utf-8")
    assert told("report", unfinished / "out")["pending"] == []  # by the plan of then

    shutil.move(moved / "out", run := unfinished.with_name("run"))
    with pytest.raises(DataError, match="the plan is not where it was"):
        told("report", run)
    with pytest.raises(DataError, match="not the plan"):
        told("report", run, "--plan", plan)
    assert told("report", run, "--plan", moved / "plan.toml")["pending"] == []


def test_a_release_that_was_edited_is_not_completed(unfinished):
    with next((unfinished / "out" / "release").glob("data.*")).open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(DataError, match="not the one that the run wrote"):
        told("report", unfinished / "out")


@pytest.mark.parametrize("unknown", [{"path": None, "text": None}, {"path": None}])
def test_a_run_of_a_plan_in_python_is_completed_there(people, unknown):
    plan = sf.Plan.load(people / "plan.toml")
    in_python = replace(plan, **unknown)
    sf.run(in_python, people / "out", attack=False)
    with pytest.raises(DataError, match="plan in Python"):
        sf.complete(people / "out")
    assert sf.complete(people / "out", in_python)["pending"] == []


def test_a_run_that_another_one_replaced_in_the_meantime_is_left_alone(people, monkeypatch):
    plan, usual = sf.Plan.load(people / "plan.toml"), case.attack_all

    def slow(*arguments, **options):
        monkeypatch.setattr(case, "attack_all", usual)
        sf.run(plan, people / "out", seed=6, overwrite=True)
        return usual(*arguments, **options)

    monkeypatch.setattr(case, "attack_all", slow)
    with pytest.raises(OutputError, match="in the meantime"):
        sf.run(plan, people / "out", seed=5)
    sf.run(plan, people / "other", seed=6)
    assert (people / "out" / "release" / "data.csv").read_bytes() == (people / "other/release/data.csv").read_bytes()
    assert facts_of(people / "out")["pending"] == []


def test_what_a_killed_completion_left_behind_does_not_keep_a_run_from_being_replaced(unfinished):
    private = unfinished / "out" / "private"
    (private / ".run.json.tmp-0123abcd").write_text("half", encoding="utf-8")
    (private / ".run.json.lock-0123abcd").write_text("", encoding="utf-8")
    told("anonymize", unfinished / "plan.toml", "--out", unfinished / "out", "--overwrite", *LATER)
    assert sorted(path.name for path in (unfinished / "out" / "private").iterdir()) == ["report.html", "run.json"]

    (unfinished / "out" / "private" / ".notes").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"\.notes"):
        told("anonymize", unfinished / "plan.toml", "--out", unfinished / "out", "--overwrite", *LATER)
