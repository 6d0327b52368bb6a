"""Groups made by hand, step by step."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.hierarchy import Hierarchy
from sfumato.editing.grouping import Draft, Grouping
from sfumato.errors import PolicyError

ROWS = {"Bern": 5, "Genf": 3, "Chur": 2, "Rom": 1}
SWISS = Grouping(ROWS, {"Bern": "West", "Genf": "West", "West": "Swiss", "Chur": "Swiss"})


def lines(made):
    return made.text.splitlines()


def test_values_move_into_a_new_group_and_groups_into_a_larger_one():
    made = Grouping(ROWS).moved(["Bern", "Genf"], "West").moved(["West", "Chur"], " Swiss ")

    assert made == SWISS
    assert lines(made) == ["Bern;West;Swiss;*", "Genf;West;Swiss;*", "Chur;Swiss;*", "Rom;*"]
    assert made.alone == ["Rom"]
    assert made.groups == ["Swiss", "West"]


def test_a_group_is_named_with_the_one_above_it():
    assert lines(Grouping(ROWS).moved(["Chur"], "East > Swiss > Alps"))[2] == "Chur;East;Swiss;Alps;*"


def test_what_is_in_a_ticked_group_goes_with_it():
    assert SWISS.moved(["West", "Bern"], "Europe").path("Bern") == ["West", "Europe"]


def test_what_is_taken_out_stands_alone_and_an_empty_group_is_gone():
    made = SWISS.taken_out(["Bern", "Genf"])

    assert made.alone == ["Bern", "Genf", "Rom"]
    assert made.groups == ["Swiss"]


def test_a_group_is_renamed_split_put_into_a_larger_one_and_dissolved():
    assert SWISS.renamed("West", "Romandie").path("Genf") == ["Romandie", "Swiss"]
    split = SWISS.split("West", ["Genf"], "Lake")
    assert (split.path("Genf"), split.path("Bern")) == (["Lake", "Swiss"], ["West", "Swiss"])
    assert SWISS.put_under("West", "Low").path("Bern") == ["West", "Low", "Swiss"]
    assert SWISS.put_under("Swiss", "Alps").path("Chur") == ["Swiss", "Alps"]
    assert SWISS.dissolved("West").path("Bern") == ["Swiss"]
    assert SWISS.dissolved("Swiss").path("Bern") == ["West"]
    assert SWISS.dissolved("Swiss").alone == ["Chur", "Rom"]


def test_the_tree_counts_values_and_rows_at_any_depth():
    (swiss,) = SWISS.tree()

    assert (swiss.name, swiss.size, swiss.rows, swiss.values) == ("Swiss", 3, 10, ("Chur",))
    assert [(each.name, each.number, each.size, each.rows) for each in swiss.groups] == [("West", 1, 2, 8)]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda: SWISS.moved([], "West"), "Nothing is ticked"),
        (lambda: SWISS.moved(["nowhere"], "West"), "Nothing is ticked"),
        (lambda: SWISS.moved(["Rom"], " "), "needs a name"),
        (lambda: SWISS.moved(["Rom"], "*"), "needs a name"),
        (lambda: SWISS.moved(["Rom"], "Chur"), "'Chur' is a value"),
        (lambda: SWISS.moved(["Swiss"], "West"), "in itself"),
        (lambda: SWISS.moved(["West"], "West"), "in itself"),
        (lambda: SWISS.moved(["Rom"], "a > b > a"), "in itself"),
        (lambda: SWISS.taken_out(["Rom"]), "in a group"),
        (lambda: SWISS.renamed("West", "Swiss"), "already"),
        (lambda: SWISS.renamed("West", "Rom"), "'Rom' is a value"),
        (lambda: SWISS.split("West", ["Chur"], "Lake"), "0 of 2"),
        (lambda: SWISS.split("West", ["Bern", "Genf"], "Lake"), "2 of 2"),
        (lambda: SWISS.put_under("West", "Swiss"), "already"),
    ],
)
def test_what_cannot_be_done_says_why_and_changes_nothing(step, words):
    with pytest.raises(PolicyError, match=words):
        step()


# Steps, as a form carries them.


def carried(draft):
    return Draft.read(draft.written, draft.steps)


def test_every_step_can_be_undone_after_it_went_through_a_form():
    first = Draft.of([["Bern", 5], ["Genf", 3]], {})
    draft = carried(first.after("move", ["Bern"], "West"))
    assert draft.earlier[0][0] == "'Bern' put into West"
    draft = carried(draft.after("rename.0", [], "Low"))
    draft = carried(draft.after("level.0", [], "Swiss"))
    assert draft.now.path("Bern") == ["Low", "Swiss"]

    for expected in (["Low"], ["West"], []):
        draft = carried(draft.after("undo", [], ""))
        assert draft.now.path("Bern") == expected
    with pytest.raises(PolicyError, match="nothing to undo"):
        draft.after("undo", [], "")


@pytest.mark.parametrize("do", ["rename.7", "rename", "dissolve.x", "split.99999999999", "nonsense", ""])
def test_a_step_that_does_not_exist_is_refused(do):
    with pytest.raises(PolicyError):
        Draft(SWISS).after(do, ["Bern"], "Lake")


@pytest.mark.parametrize(
    "now",
    [
        "",
        "[]",
        "{}",
        '{"rows": 1, "above": {}}',
        '{"rows": {"a": "x"}, "above": {}}',
        '{"rows": {"a": 1e999}, "above": {}}',
        '{"rows": {"a": 1}, "above": {"a": "b", "b": "a"}}',
        '{"rows": {"a": 1, "b": 1}, "above": {"a": "b"}}',
        '{"rows": {"\\ud800": 1}, "above": {}}',
        "[" * 100_000,
    ],
)
def test_what_did_not_come_from_a_page_is_refused(now):
    with pytest.raises(PolicyError):
        Draft.read(now, [])


def test_steps_are_let_go_where_there_is_no_room(monkeypatch):
    draft = Draft.of([[f"value {n}", 1] for n in range(500)], {})
    for n in range(30):
        draft = draft.after("move", [f"value {n}"], "g" * 150)
    assert len(carried(draft).earlier) == 20

    monkeypatch.setattr("sfumato.editing.grouping._MOST", 5_000)
    assert sum(map(len, draft.steps)) <= 5_000


NAMES = st.sampled_from(["Bern", "Genf", "Chur", "Rom", "West", "East", "Swiss", "Alps", "*", "", "x > y"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["move", "out", "undo", *(f"{do}.{n}" for n in range(3) for do in ("move", "rename"))])
            | st.sampled_from([f"{do}.{n}" for n in range(3) for do in ("split", "level", "dissolve")]),
            st.lists(NAMES, max_size=4),
            NAMES,
        ),
        max_size=12,
    )
)
def test_whatever_is_done_the_file_is_a_hierarchy_of_all_values(steps):
    draft = Draft.of(list(ROWS.items()), {})
    for step in steps:
        try:
            draft = carried(draft.after(*step))
        except PolicyError:
            continue
        made = Hierarchy.from_paths([line.split(";") for line in draft.now.text.splitlines()])
        assert set(made.leaves) == set(ROWS)
        assert json.loads(draft.written)["rows"] == ROWS
        assert sum(group.size for group in draft.now.tree()) + len(draft.now.alone) == len(ROWS)
