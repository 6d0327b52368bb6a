"""Who can still be learned about although every requirement holds."""

from __future__ import annotations

import pytest

from sfumato.report import exposed
from sfumato.report.page import render
from sfumato.report.text import summary


def attack(exposed, *, about=(), answered_by=("sensitive-qid-closeness",), guessed=0):
    return {
        "attack": "set-inference",
        "title": f"Guessing {exposed}",
        "threshold": 0.5,
        "answered_by": list(answered_by),
        "about": list(about),
        "after": {"people": 1000, "exposed": exposed, "worst": 0.617},
        "control": {"people": 1000, "exposed": guessed, "worst": 0.317},
    }


def verdict(columns=("job",), *, satisfied=True):
    return {
        "model": "sensitive-qid-closeness",
        "columns": list(columns),
        "satisfied": satisfied,
        "reached": 0.29,
        "required": 0.3,
        "measure": "largest distance",
        "bound": "at most",
    }


def held(*attacks, **changes):
    return {"release": {"rows": 1000}, "verdicts": [verdict(**changes)], "attacks": list(attacks)}


def test_the_headline_says_what_holds_and_who_can_still_be_learned_about():
    facts = held(attack(201, about=["job"]), attack(451, about=["job"]))
    said = "Within the promise, an intruder can still be surer than 50% about 451 of 1,000 people."

    assert summary(facts, 140).splitlines()[:2] == ["The requirement holds: 1,000 rows may leave the house.", said]
    assert said in render(facts)


def test_every_attack_that_succeeds_is_named_with_its_reason_most_people_first():
    facts = held(attack(201, about=["job"]), attack(0, about=["job"]), attack(451, about=["job"], guessed=7))

    found = list(exposed.lines(facts))

    reason = "within the promise of sensitive-qid-closeness (largest distance at most 0.3)"
    assert found == [
        ("451 of 1,000", "Guessing 451: sure up to 61.7% (a guess: 31.7%, for 7)", reason),
        ("201 of 1,000", "Guessing 201: sure up to 61.7% (a guess: 31.7%)", reason),
    ]
    assert "201 of 1,000" in render(facts)
    assert "201 of 1,000" in summary(facts)


@pytest.mark.parametrize(
    "facts",
    [
        held(attack(5, about=["household"])),  # the requirement is about another column
        held(attack(5, about=["job"], answered_by=["k-anonymity"])),
        held(attack(5, about=["job"]), satisfied=False),
    ],
)
def test_what_no_requirement_answers_is_not_within_a_promise(facts):
    assert exposed.headline(facts).endswith("5 of 1,000 people: no requirement of the plan speaks of this intruder.")
    assert [why for _, _, why in exposed.lines(facts)] == [exposed.BEYOND]


def test_what_is_within_the_promise_is_not_hidden_behind_what_is_not():
    facts = held(attack(900, answered_by=[]), attack(28, about=["job"]))

    assert exposed.headline(facts) == (
        "Within the promise, an intruder can still be surer than 50% about 28 of 1,000 people; one of whom no "
        "requirement speaks, about 900 of 1,000 people."
    )


def test_masks_that_hide_nothing_are_counted():
    facts = held() | {"steps": [{"facts": {"masked_values": 339, "vacuous_masked_values": 141}}]}

    [(masks, hides, _)] = exposed.lines(facts)
    assert (masks, hides.split(":")[0]) == ("141 of 339", "masks hide a single true value (41.6%)")
    assert "141 of 339" in summary(facts)


def test_where_nobody_is_exposed_that_is_said():
    said = "No attack that was tried makes an intruder surer than 50% of anything about anybody."

    assert exposed.headline(held(attack(0))) == said
    assert exposed.headline(held()) == ""  # nothing to attack
    assert exposed.headline(held() | {"pending": ["attack"]}) == "What an intruder can still learn was left for later."


def test_an_attack_of_an_earlier_version_is_answered_as_its_class_says():
    old = attack(5)
    del old["answered_by"], old["about"]

    assert exposed.headline(held(old)).startswith("Within the promise")


def test_a_rare_value_that_gains_much_is_told_without_its_name():
    finding = {"people": 990, "exposed": 9, "worst": 0.444, "private": {"value": "HIV"}}
    finding["facts"] = {"by_gain": 9, "factor": 10.0}
    finding["facts"]["largest_gain"] = {"in_table": 0.005, "in_class": 0.444, "times": 88.0}
    facts = held(attack(9) | {"after": finding})
    [(_, how, _)] = exposed.lines(facts)

    assert how.endswith("one value: 0.50% in the table, 44.4% in one class, 88 times as likely")
    learned = "learn about 9 of 990 people that a rare value is over 10 times as likely as in the table"
    assert learned in exposed.headline(facts)
    assert "HIV" not in how + exposed.headline(facts)
    finding["facts"]["by_gain"] = 5  # some are exposed by confidence
    assert "a value with a confidence above 50%, or that a rare value is over 10" in exposed.headline(facts)
