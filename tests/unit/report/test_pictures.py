"""Columns before and after."""

from __future__ import annotations

import re

from sfumato.report import pictures
from sfumato.report.page import render


def test_many_rare_values_together_get_no_bar(facts):
    drawn = next(entry for entry in facts["measurements"] if entry["name"] == "column-distributions")
    postcode = next(column for column in drawn["facts"]["columns"] if column["name"] == "zip")

    html = render(facts)

    assert len(postcode["bins"]) == 27
    row = re.search(r'<div class="row" title="\(16 further values\).*?</div>', html, re.DOTALL).group()
    assert "<rect" not in row


def test_labels_in_pictures_are_short_and_whole_in_the_table(facts):
    drawn = next(entry for entry in facts["measurements"] if entry["name"] == "column-distributions")
    job = next(column for column in drawn["facts"]["columns"] if column["name"] == "job")
    job["bins"][0] = "The whole label " * 20

    html = render(facts)

    shown = re.findall(r'<span class="label"><bdi>(.*?)</bdi>', html)
    assert max(map(len, shown)) <= 72
    assert f"<bdi>{'The whole label ' * 20}</bdi>" in html


def column(**facts):
    about = {"name": "age", "kind": "category", "bins": ["a", "b"], "before": [3, 1], "after": [1, 3]} | facts
    found = pictures.content({"measurements": [{"name": "column-distributions", "facts": {"columns": [about]}}]})
    return found["pictures"][0] if found else None


def test_shares_are_of_the_rows_that_have_a_value():
    assert column().table.rows == [["a", "3", "1", "75%", "25%"], ["b", "1", "3", "25%", "75%"]]


def test_a_column_that_stayed_says_so():
    assert column(moved=0.0, role="sensitive").note == "Sensitive; the distribution is unchanged."
    assert column(moved=0.5).note == "50% of the rows moved."
    assert column(published_as_sets=True).note == (
        "randomized: cells count in parts for all values they show, not as an analyst computes them back."
    )


def test_numbers_in_bins_are_steps_and_the_missing_ones_words():
    drawn = column(
        kind="number", bins=["0..1", "1..2", "(missing)"], before=[1, 2, 1], after=[2, 1, 1], edges=[0, 1, 2]
    )

    assert drawn.plot.kind == "histogram"
    assert drawn.note == " Missing: 25% before, 25% after."


def test_a_column_without_bins_has_no_picture():
    assert column(bins=[]) is None


def test_items_of_sets_have_no_joint_share():
    many = {"kind": "set", "bins": [f"item {i}" for i in range(20)], "before": [9] * 20, "after": [8] * 20}
    measured = {"name": "column-distributions", "facts": {"columns": [{"name": "drugs", **many}]}}

    facts = {"source": {"rows": 10}, "release": {"rows": 10}, "measurements": [measured]}
    [picture] = pictures.content(facts)["pictures"]

    assert picture.plot.rows[-1].label == "(9 further values)"
    assert picture.plot.rows[-1].value == ""  # their shares would add up to far more than all rows
