"""The same questions to another process, which may be killed at any time."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from dataclasses import asdict

import pytest

from sfumato.errors import DataError, HierarchyError, PlanError
from sfumato.workbench import Asking, Lost
from sfumato.workbench import asking as module
from sfumato.workbench.asking import QUESTIONS, serve
from sfumato.workbench.bench import Workbench


def answers(plan, *questions):
    told = io.StringIO()
    serve(plan, io.StringIO("".join(json.dumps(question) + "\n" for question in questions)), told)
    return [json.loads(line) for line in told.getvalue().splitlines()]


def test_every_question_is_answered_as_the_workbench_does(plan):
    bench = Workbench(plan)
    found = answers(
        plan,
        {"ask": "columns"},
        {"ask": "looks", "names": ["job"]},
        {"ask": "values", "name": "job", "most": 1},
        {"ask": "uniqueness", "names": ["age"]},
        {"ask": "coverage", "name": "town"},
        {"ask": "reach"},
        {"ask": "known_by", "name": "town"},
        {"ask": "trial"},
        {"ask": "groups", "name": "town", "most": 4},
    )

    assert len(found) == len(QUESTIONS)
    assert found[0]["answer"] == [asdict(each) for each in bench.columns()]
    assert [each["answer"] for each in found[1:4]] == [
        bench.looks(["job"]),
        bench.values("job", 1),
        asdict(bench.uniqueness(["age"])),
    ]
    assert found[4]["answer"]["state"] == "complete"
    assert [each["state"] for each in found[5]["answer"]] == ["possible", "possible"]
    assert found[6]["answer"] == bench.known_by("town")
    assert found[7]["answer"]["people"] == 5
    assert found[8]["answer"] == bench.groups("town", most=4)
    assert all(each["memory"] > 1e6 for each in found)


def test_what_is_wrong_is_told_and_the_next_question_is_answered(plan):
    lost, wrong, fine = answers(
        plan,
        {"ask": "looks", "names": ["jobb"]},
        {"ask": "coverage", "name": "town", "hierarchy": "nowhere.csv"},
        {"ask": "looks", "names": ["job"]},
    )

    assert lost["kind"] == "DataError"
    assert wrong["kind"] == "HierarchyError"
    assert fine["answer"]["job"]


@pytest.mark.slow
def test_a_killed_process_begins_again_and_errors_come_over_as_themselves(plan):
    asking = Asking(plan)
    try:
        assert asking.ask("uniqueness", names=["age"])["people"] == 5
        first = asking.pid
        os.kill(first, signal.SIGKILL)
        assert asking.ask("uniqueness", names=["age"])["unique"] == 1
        assert asking.pid != first
        with pytest.raises(DataError, match="no column"):
            asking.ask("looks", names=["jobb"])
        with pytest.raises(HierarchyError):
            asking.ask("coverage", name="town", hierarchy="nowhere.csv")
        plan.write_text("[columns", encoding="utf-8")
        with pytest.raises(PlanError) as caught:
            asking.ask("columns")
        assert caught.value.problems[0].place == ""
    finally:
        asking.close()
    assert asking.pid is None


def test_who_is_abandoned_gives_up_whatever_it_works_at(plan, monkeypatch):
    monkeypatch.setattr(module.sys, "executable", "/bin/cat")  # answers nothing that is awaited, and does not end
    asking = Asking(plan)
    asking._process = module.subprocess.Popen(
        ["sleep", "60"], stdin=module.subprocess.PIPE, stdout=module.subprocess.PIPE, encoding="utf-8"
    )
    threading.Timer(0.2, asking.abandon).start()

    with pytest.raises(Lost):
        asking.ask("columns")
    assert asking.pid is None


def test_one_that_dies_again_and_again_is_said_to_be_lost(plan, monkeypatch):
    monkeypatch.setattr(module.sys, "executable", "/bin/false")

    with pytest.raises(Lost, match="ended twice"):
        Asking(plan).ask("columns")
