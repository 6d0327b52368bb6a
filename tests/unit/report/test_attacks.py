"""Attacks beside the original and a guess."""

from __future__ import annotations

from sfumato.report import attacks
from sfumato.report.page import render
from sfumato.report.wording import UNKNOWN


def test_every_attack_stands_beside_the_original_and_a_guess(real):
    shown = attacks.content(real)

    assert [card["title"] for card in shown["cards"]] == [entry["title"] for entry in real["attacks"]]
    for card in shown["cards"]:
        assert [line["side"] for line in card["lines"]] == ["Original", "Release", "A guess"]
    (linking,) = [card for card in shown["cards"] if "by quasi-identifiers" in card["title"]]
    assert linking["lines"][0]["worst"] == "100%"


def test_without_the_original_two_bars_are_left():
    finding = {"people": 4, "exposed": 1, "worst": 0.5, "mean": None}
    entry = {"attack": "x", "title": "Look", "intruder": "Looks.", "threshold": 0.5, "before": None}

    shown = attacks.content({"attacks": [entry | {"after": finding, "control": finding | {"exposed": 0}}]})

    assert [word for _, word in shown["pictures"][0].legend] == ["release", "a guess"]
    assert shown["pictures"][0].table.rows == [["Look", "25%", "0%"]]
    assert [line["mean"] for line in shown["cards"][0]["lines"]] == [UNKNOWN, UNKNOWN]


def test_no_attack_is_no_part():
    assert attacks.content({"attacks": []}) is None


def test_a_sample_is_said_to_be_one():
    finding = {"people": 1000, "exposed": 1, "worst": 0.5, "mean": None, "facts": {"looked_at": 200}}
    entry = {"title": "Look", "intruder": "Looks.", "threshold": 0.5, "after": finding}

    [card] = attacks.content({"attacks": [entry]})["cards"]
    assert card["sampled"] == "Worked out for 200 of 1,000 people; all would take too long."
    assert "Worked out for 200 of 1,000 people" in render({"attacks": [entry]})
    finding["facts"]["looked_at"] = 1000
    assert attacks.content({"attacks": [entry]})["cards"][0]["sampled"] == ""


def test_the_page_names_the_rare_value_that_gains_most():
    facts = {"factor": 10.0, "by_gain": 9, "largest_gain": {"in_table": 0.005, "in_class": 0.444, "times": 88.0}}
    finding = {"people": 990, "exposed": 9, "worst": 0.444, "mean": None, "facts": facts, "private": {"value": "HIV"}}
    [card] = attacks.content({"attacks": [{"title": "Look", "intruder": "Looks.", "after": finding}]})["cards"]

    assert "over 10 times as likely" in card["gain"]
    assert card["gain"].endswith("Largest gain: HIV: 0.50% in the table, 44.4% in one class, 88 times as likely.")


def test_the_page_counts_groups_without_a_class_of_their_own():
    facts = {"groups": 236, "joined": 47, "joined_people": 139, "joined_looked_at": 60}
    finding = {"people": 4000, "exposed": 120, "worst": 0.9, "mean": None, "facts": facts}
    [card] = attacks.content({"attacks": [{"title": "Look", "intruder": "Looks.", "after": finding}]})["cards"]

    assert card["joined"] == (
        "47 of 236 groups of equal people could form a class and have none: 139 people. "
        "The attack looked at 60 of them and counts for all."
    )
