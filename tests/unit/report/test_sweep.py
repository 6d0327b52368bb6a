"""A sweep on a page and in a terminal."""

from __future__ import annotations

import pytest

from sfumato.report.sweep import headline, name_of, render_sweep, sweep_text

LOSS = {"name": "ncp", "title": "Detail lost", "unit": "share", "better": "lower"}


def combination(k, loss, **facts):
    measured = [
        LOSS | {"value": loss, "about": "loss", "main": True},
        {"name": "risk", "title": "Risk", "unit": "share", "value": 1 / k, "about": "risk", "main": True},
        {"name": "minor", "title": "Minor", "unit": "", "value": 1, "about": "loss", "main": False},
    ]
    return {
        "values": {"k": k, "strict": True},
        "holds": True,
        "verdicts": [{"model": "k-anonymity", "reached": k}],
        "measurements": measured,
        "attacks": [{"attack": "linking", "title": "Linking", "exposed": 3, "people": 12, "promised": True}],
        "loss": loss,
        "strictness": k / 8,
        "seconds": 0.5,
        "frontier": False,
        "knee": False,
    } | facts


@pytest.fixture
def swept():
    failed = {"values": {"k": 99, "strict": True}, "holds": False, "reason": "Too few <rows>.", "seconds": 0.1}
    return {
        "plan": {"path": "plan.toml"},
        "settings": [{"name": "k", "values": [2, 4, 8, 99]}, {"name": "strict", "values": [True]}],
        "requirements": [{"model": "k-anonymity", "varied": True}],
        "loss": LOSS | {"frontier": [0, 1, 2], "knee": 1},
        "losses": [
            LOSS | {"main": True, "falls": False, "frontier": [0, 1, 2], "knee": 1},
            {"name": "risk", "title": "Risk", "unit": "share", "better": "lower", "main": True, "falls": True},
            {"name": "minor", "title": "Minor", "unit": "", "better": "lower", "main": False, "falls": False},
        ],
        "cells": [
            combination(2, 0.1, frontier=True),
            combination(4, 0.15, frontier=True, knee=True),
            combination(8, 0.6, frontier=True),
            failed,
        ],
    }


def test_main_losses_are_columns_and_what_falls_with_strictness_is_none(swept):
    page = render_sweep(swept)

    combinations = page.split('id="combinations"')[1]
    head = combinations.split("<thead><tr>")[1].split("</tr>")[0]
    assert head.count("Detail lost") == head.count("Most exposed") == 1
    assert "Risk" not in head
    assert "Minor" not in head
    assert "no price of it: Risk." in page
    assert "15%*" in combinations  # on the frontier
    assert "25%" in combinations  # 3 of 12 exposed
    assert "Exposed: Linking" in combinations


def test_the_knee_is_told_with_the_loss_that_it_is_of(swept):
    title = swept["loss"]["title"].lower()

    assert headline(swept).endswith(f"by {title}, the knee is at k=4, strict=true: 15%.")
    straight = {**swept, "cells": [{**cell, "knee": False} for cell in swept["cells"]]}
    assert headline(straight).endswith(f"by {title}, the frontier has no clear knee.")


def test_what_cannot_be_met_says_why_in_harmless_words(swept):
    page = render_sweep(swept)

    assert "Too few &lt;rows&gt;." in page
    assert "cannot be met" in page
    assert "knee: k=4, strict=true" in page


def test_the_command_repeats_what_was_varied(swept):
    assert "sfumato sweep plan.toml --vary k=2,4,8,99 --vary strict=true --out DIR" in render_sweep(swept)


def test_the_terminal_shows_every_combination(swept):
    lines = sweep_text(swept).splitlines()

    assert max(map(len, lines)) <= 80
    assert [line.split()[2:] for line in lines[-5:-2]] == [["10%*", "25%"], ["15%!", "25%"], ["60%*", "25%"]]
    assert lines[-2].endswith("cannot be met")
    assert lines[-1] == "* none that is at least as strict loses less; ! the knee"


def test_the_terminal_shows_as_many_losses_as_fit_and_cuts_no_name(swept):
    first = swept["losses"][0]
    several = swept | {
        "losses": [first, *(first | {"title": f"Average size {place} of a class"} for place in range(4))]
    }

    for width in (40, 60, 100, 200):
        lines = sweep_text(several, width).splitlines()
        head = next(line for line in lines if line.startswith("combination"))
        shown = head.count("Average size")

        assert max(map(len, lines[lines.index(head) :])) <= max(width, 56)
        assert shown == sum(f"Average size {place} of a class" in head for place in range(4))
        assert (shown == 4) == (width == 200)


def test_a_sweep_in_which_nothing_holds_says_so(swept):
    nothing = swept | {"cells": swept["cells"][-1:], "loss": None}

    assert "Nothing holds" in render_sweep(nothing)
    assert headline(nothing) in sweep_text(nothing).replace("\n", " ")


def test_combinations_are_named_as_they_are_asked_for():
    assert name_of({"values": {"k": 5, "strict": False, "rho": "1/3"}}) == "k=5, strict=false, rho=1/3"
