"""The first thing on the page: whether the release may leave."""

from __future__ import annotations

from sfumato.report import verdict
from sfumato.report.page import render


def test_a_failed_requirement_keeps_the_rows_in_the_house(facts):
    facts["verdicts"][1] |= {"satisfied": False, "reached": 1, "failing": 3, "failing_rows": 40}

    html = render(facts)

    assert "1 of 3 requirements does not hold: the 392 rows must stay in the house." in html
    assert "3 fail with 40 rows." in html
    assert "does not hold</span>" in html


def test_a_verdict_that_says_nothing_clear_counts_as_failed(facts):
    facts["verdicts"][0]["satisfied"] = None

    assert "As the plan asks" not in render(facts)


def test_nothing_required_is_nothing_promised(facts):
    assert "Nothing was required, so nothing is promised" in render(facts | {"verdicts": []})


def test_key_figures_whose_facts_are_missing_are_left_out(facts):
    assert [figure["name"] for figure in verdict.content({"source": {"rows": 3}})["figures"]] == ["rows in"]
    figures = {figure["name"]: figure for figure in verdict.content(facts)["figures"]}
    assert figures["rows out"]["note"] == "8 dropped"


def test_warnings_are_shown_as_found():
    assert verdict.warnings({"warnings": ["Rows keep their order.", "", None]}) == ["Rows keep their order."]
    assert verdict.warnings({"warnings": "none"}) == []


def test_where_it_comes_from_is_said():
    said = verdict.content({"plan": {"path": "p.toml"}, "source": {}, "made": "2025-11-16T08:05:00+00:00"})["origin"]

    assert said == "Plan p.toml, data from memory; 16 November 2025, 08:05 UTC."


def test_rules_and_cells_are_not_taken_for_classes():
    judged = {"model": "rho-uncertainty", "satisfied": True, "groups": 86, "group": "rule", "facts": {"rules": 86}}

    assert verdict.content({"verdicts": [judged]})["figures"] == []


def test_masked_columns_have_a_figure_of_their_own():
    measured = [{"name": "ncp", "value": 0.19}, {"name": "masked-detail", "value": 0.93}]

    figures = {figure["name"]: figure["value"] for figure in verdict.content({"measurements": measured})["figures"]}
    assert figures == {
        "of the detail of quasi-identifiers lost": "19%",
        "of the detail of masked columns lost": "93%",
    }


def test_a_release_that_keeps_nothing_is_announced_as_such(facts):
    facts["measurements"][1]["empty"] = "the quasi-identifiers"

    said = (
        "Every one of 3 requirements holds, but nothing is left of the quasi-identifiers: 392 rows may leave the house."
    )
    assert verdict.one_sentence(facts) == (True, said)
    assert said in render(facts)


def test_where_people_are_counted_people_are_said():
    facts = {
        "source": {"rows": 40, "gathered": 90},
        "release": {"rows": 40},
        "verdicts": [{"model": "k-anonymity", "satisfied": True}],
        "measurements": [{"name": "class-sizes", "facts": {"after": {"classes": 8, "min": 5}}}],
    }
    shown = {figure["name"]: (figure["value"], figure["note"]) for figure in verdict.content(facts)["figures"]}

    assert verdict.one_sentence(facts)[1] == "The requirement holds: the rows of 40 people may leave the house."
    assert shown["people in"] == ("40", "of 90 rows")
    assert shown["people out"] == ("40", "")
    assert shown["people in the smallest class"] == ("5", "")
    assert "rows in" not in shown
    facts["release"]["rows"] = 90  # all rows of each of them
    assert "the rows of 40 people may" in verdict.one_sentence(facts)[1]
    shown = {figure["name"]: (figure["value"], figure["note"]) for figure in verdict.content(facts)["figures"]}
    assert shown["people out"] == ("40", "in 90 rows")
    facts["verdicts"] = [{"model": "k-anonymity", "satisfied": False}]
    assert "the rows of 40 people must stay" in verdict.one_sentence(facts)[1]
