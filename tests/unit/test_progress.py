"""How long work says that it goes on."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Phase
from sfumato.pipeline import Case
from sfumato.progress import SILENT, WORDS, Lines, Watcher, announce, way_of

PEOPLE = pa.table({"age": [31, 32, 58, 59], "job": ["nurse", "cook", "cook", "nurse"]})
PLAN = sf.Plan.from_dict(
    {
        "columns": {"age": {"role": "quasi-identifier"}, "job": {"role": "sensitive"}},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
)


@pytest.fixture
def lines(tmp_path):
    return Lines(tmp_path / "progress.jsonl")


def told(lines):
    return [json.loads(line) for line in lines.path.read_text(encoding="utf-8").splitlines()]


def steps(lines):
    return [(each["part"], each["piece"], each["done"], each["total"]) for each in told(lines) if "piece" in each]


def test_a_run_announces_its_parts_in_plain_words_and_goes_through_them_in_order(lines, tmp_path):
    Case(PLAN, PEOPLE, progress=lines).make_folder(tmp_path / "run", lambda facts: "", seed=1)
    lines.end(0)

    first, *_, last = told(lines)
    announced = [part["id"] for part in first["parts"]]
    seen = list(dict.fromkeys(part for part, *_ in steps(lines)))
    assert announced == ["read", "encode", "knowledge", "mondrian", "publish", "write", "audit", "measure", "attack"]
    assert seen == announced[1:]  # a frame is not read
    assert all(part["words"][0].isupper() and part["id"] not in part["words"] for part in first["parts"])
    assert (last["event"], last["exit"]) == ("end", 0)
    assert [each["seconds"] for each in told(lines)] == sorted(each["seconds"] for each in told(lines))


def test_what_is_left_for_later_is_not_announced(lines, tmp_path):
    Case(PLAN, PEOPLE, progress=lines).make_folder(tmp_path / "run", lambda facts: "", seed=1, measure=False)

    announced = [part["id"] for part in told(lines)[0]["parts"]]
    assert announced[-2:] == ["audit", "attack"]


@pytest.mark.parametrize(
    ("ask", "parts"),
    [
        (lambda progress: sf.audit(PEOPLE, PLAN, original=PEOPLE, progress=progress), ["read", "audit"]),
        (lambda progress: sf.attack(PEOPLE, PLAN, original=PEOPLE, progress=progress), ["read", "encode", "attack"]),
        (lambda progress: sf.measure(PEOPLE, PLAN, original=PEOPLE, progress=progress), ["read", "encode", "measure"]),
        (lambda progress: sf.sweep(PLAN, {"k": [2]}, frame=PEOPLE, progress=progress), ["read", "encode", "sweep"]),
    ],
)
def test_every_verb_announces_its_parts_and_ends_in_the_last(lines, ask, parts):
    ask(lines)

    assert [part["id"] for part in told(lines)[0]["parts"]] == parts
    assert steps(lines)[-1][0] == parts[-1]
    done, total = steps(lines)[-1][2:]
    assert done == total > 0


def test_pieces_belong_to_the_part_under_way_and_never_go_back(lines):
    lines.announce({"read": "Reading", "know": "Knowing", "audit": "Judging"})
    lines.enter("know")
    lines.stage("read", 3).done()
    lines.stage("audit", 2).done()

    assert steps(lines) == [
        ("know", "know", 0, None),
        ("know", "read", 0, 3),
        ("know", "read", 3, 3),
        ("audit", "audit", 0, 2),
        ("audit", "audit", 2, 2),
    ]


def test_frequent_news_are_told_now_and_then(lines, monkeypatch):
    monkeypatch.setattr("sfumato.progress._EVERY", 3600)
    stage = lines.stage("audit", 1000)
    for _ in range(1000):
        stage.advance()
    stage.done()

    assert [done for _, _, done, _ in steps(lines)] == [0, 1000]


def test_a_file_that_cannot_be_written_stops_no_work(tmp_path):
    lines = Lines(tmp_path / "no folder" / "progress.jsonl")

    lines.stage("audit", 2).done()

    assert list(tmp_path.iterdir()) == []


def test_who_does_not_want_the_parts_is_not_told_them():
    assert not isinstance(SILENT, Watcher)
    announce(SILENT, ["read"])


def test_every_phase_and_every_part_has_words():
    assert {make.phase for make in ANONYMIZERS.values()} == set(Phase)
    assert len({phase.words for phase in Phase} | set(WORDS.values())) == len(Phase) + len(WORDS)


def test_lines_that_nobody_understands_tell_nothing():
    way = way_of(["", "{", "[]", '{"event": "step"}', '{"event": "step", "part": "a", "done": 1, "total": null}'])

    assert [part["state"] for part in way.parts] == ["now"]
    assert way.share == 0.0
