"""The legend of a column: level and members of each label that is published, and of no other."""

from __future__ import annotations

from sfumato.data.hierarchy import Hierarchy
from sfumato.data.legend import legend_of

TREE = Hierarchy.from_nested(
    {"work": {"health": ["nurse", "doctor"], "food": ["cook", "baker", "butcher"]}, "none": ["pupil", "retired"]}
)


def test_labels_above_values_have_their_level_and_all_values_below_them_whether_or_not_they_occur():
    assert legend_of(TREE, ["food", "work", "nurse", "*", "stranger"], members=True) == {
        "food": {"level": 1, "members": ["cook", "baker", "butcher"]},
        "work": {"level": 2, "members": ["nurse", "doctor", "cook", "baker", "butcher"]},
    }


def test_members_are_left_out_where_they_are_not_to_be_told():
    assert legend_of(TREE, ["none"], members=False) == {"none": {"level": 1}}
