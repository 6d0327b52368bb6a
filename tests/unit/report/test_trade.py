"""Pictures of a sweep: what can be chosen upwards and across."""

from __future__ import annotations

import pytest

from sfumato.report.trade import axes, css_of, most_exposed, shown_losses

LOSSES = [
    {"name": "a", "title": "A", "unit": "share", "better": "lower", "main": True, "frontier": [0, 1], "knee": None},
    {"name": "b", "title": "B", "unit": "", "better": "higher", "main": True, "frontier": [1], "knee": 1},
    {"name": "c", "title": "C", "unit": "", "better": "lower", "main": True, "frontier": [0], "falls": True},
    {"name": "d", "title": "D", "unit": "", "better": "lower", "main": False, "frontier": [0]},
]


def cell(k, mode, strictness, a, b, exposed):
    return {
        "holds": True,
        "values": {"k": k, "mode": mode},
        "strictness": strictness,
        "measurements": [{"name": "a", "value": a}, {"name": "b", "value": b}],
        "attacks": [
            {"title": "Within", "exposed": exposed, "people": 10, "promised": True},
            {"title": "Beyond", "exposed": 10, "people": 10, "promised": False},
        ],
    }


@pytest.fixture
def facts():
    return {
        "settings": [{"name": "k", "values": [2, 50]}, {"name": "mode", "values": ["fast", "slow"]}],
        "requirements": [{"model": "k-anonymity", "varied": True}],
        "loss": LOSSES[0],
        "losses": LOSSES,
        "cells": [cell(2, "fast", 0.0, 0.1, 5, 4), cell(50, "slow", 1.0, 0.4, 3, 1), {"holds": False}],
    }


def test_losses_that_fall_or_are_minor_are_not_offered_unless_taken(facts):
    assert [loss["name"] for loss in shown_losses(facts)] == ["a", "b"]
    facts["loss"] = LOSSES[2]
    assert [loss["name"] for loss in shown_losses(facts)] == ["a", "b", "c"]


def test_every_loss_and_who_is_exposed_can_be_seen_against_strictness_and_every_setting(facts):
    trade = axes(facts)
    assert trade["up"] == ["A", "B", "Most people exposed"]
    assert trade["across"] == ["strictness", "k", "mode"]
    assert len(trade["pictures"]) == 9
    assert all(len(picture["plot"].dots) == 2 for picture in trade["pictures"])
    assert [len(picture["plot"].line) for picture in trade["pictures"]] == [1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_each_loss_has_its_own_looks(facts):
    one, other = shown_losses(facts)
    assert [css_of(one, place) for place in (0, 1)] == ["is-frontier", "is-frontier"]
    assert [css_of(other, place) for place in (0, 1)] == ["is-dominated", "is-knee"]


def test_points_say_who_can_still_be_learned_about_within_the_promises_first(facts):
    assert most_exposed(facts["cells"][0])["title"] == "Within"
    titles = [dot.title for picture in axes(facts)["pictures"] for dot in picture["plot"].dots]
    assert all("exposed 4 of 10 (Within)" in title or "exposed 1 of 10 (Within)" in title for title in titles)
    del facts["cells"][0]["attacks"][0]
    assert most_exposed(facts["cells"][0])["title"] == "Beyond"


def test_where_nothing_holds_there_is_nothing_to_draw(facts):
    facts["cells"] = [{"holds": False}]
    assert axes(facts) is None
