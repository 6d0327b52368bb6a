"""Which label stands for an item, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baskets import SPEC, table_of
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.release import Release
from sfumato.data.schema import Schema
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.general_items import general_items, item_sides

TREE = Hierarchy.from_nested({"low": ["a", "c"], "high": {"mid": ["e", "f"], "top": ["h"]}})


def compared(before, after, hierarchy=TREE):
    schema = Schema({"basket": replace(SPEC, hierarchy=Given(hierarchy) if hierarchy is not None else None)})
    comparison = Comparison(encode(table_of(before), schema), Release.from_table(table_of(after), schema))
    sides = item_sides(comparison, "basket")
    general = general_items(comparison, "basket", sides)
    return (
        sides,
        general,
        {
            label: (sides.labels[general.node_of[code]], float(general.loss[general.node_of[code]]))
            for code, label in enumerate(sides.labels[: sides.n_original])
        },
    )


def test_an_item_stands_under_the_lowest_published_label_above_it():
    before = ["ab", "cef", "fh"]
    after = [["low"], ["low", "mid"], ["mid", "high"]]
    sides, general, found = compared(before, after)

    assert found["a"] == found["c"] == ("low", pytest.approx(1 / 4))
    assert found["e"] == found["f"] == ("mid", pytest.approx(1 / 4))
    assert found["h"] == ("high", pytest.approx(2 / 4))
    assert found["b"] == ("b", 0)  # a sensitive item is in no hierarchy
    assert general.any
    assert {sides.labels[code]: int(many) for code, many in enumerate(general.items_of) if many > 1} == {
        "low": 2,
        "mid": 2,
    }


def test_an_item_that_is_published_stands_for_itself():
    _, _, found = compared(["ab", "c"], [["a", "low"], ["low"]])

    assert (found["a"], found["c"][0]) == (("a", 0), "low")


def test_without_a_hierarchy_a_balanced_tree_stands_in_and_other_labels_stand_for_nothing():
    labels = "acefhijkl"
    _, general, found = compared([labels, "b"], [["a .. f", "something else"], []], hierarchy=None)

    assert {label for label, (node, _) in found.items() if node == "a .. f"} == set("acef")
    assert found["a"][1] == pytest.approx(3 / 8)
    assert found["h"] == ("h", 0)
    _, nothing, _ = compared([labels, "b"], [labels, "b"], hierarchy=None)
    assert general.any
    assert not nothing.any
