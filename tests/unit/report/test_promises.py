"""A card for each requirement."""

from __future__ import annotations

import pytest

from sfumato.report import promises
from sfumato.report.page import render


def test_each_promise_shows_what_it_does_not_stop(facts):
    html = render(facts)

    assert html.count("What it promises") == html.count("What it does not stop") == 3
    assert "required at least <strong>5</strong>" in html
    assert "required at most <strong>0.5</strong>" in html


def test_parameters_are_what_a_verdict_holds_besides_its_findings(facts):
    assert promises.parameters(facts["verdicts"][1]) == [("sensitive", "job"), ("l", "2"), ("kind", "distinct")]
    assert promises.parameters({"model": "x", "groups": 1, "t": None, "known_from": {"prior": "kept in the run"}}) == []


def test_a_card_says_where_public_inputs_came_from(facts):
    facts["verdicts"][0]["known_from"] = {"prior": "counted in the original"}

    assert "prior counted in the original" in render(facts)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ({"satisfied": True, "groups": 6, "group": "class"}, "6 classes judged, all of them pass."),
        ({"satisfied": False, "groups": 1, "failing": 1}, "1 group judged, 1 fail."),
        ({"satisfied": False, "groups": 2, "failing": 1, "failing_rows": 1}, "2 groups judged, 1 fail with 1 row."),
        ({"satisfied": True, "groups": 0}, "There was nothing to judge."),
    ],
)
def test_what_was_judged_is_counted(verdict, words):
    assert promises.content({"verdicts": [verdict]})[0]["judged"] == words


def test_the_mark_and_the_bar_stand_on_one_scale():
    [card] = promises.content({"verdicts": [{"reached": 10, "required": 5, "bound": "at least"}]})

    assert card["gauge"]["reached_at"] == 2 * card["gauge"]["required_at"]
    assert card["gauge"]["bound"] == "at least"
    assert promises.content({"verdicts": [{"reached": 3}]})[0]["gauge"] is None
