"""Classes of labels, joined: a tree over all of them, neighbours first, and labels that cover what they stand for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.anonymizers.joining import LabelledClasses
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import ColumnSpec, Role, Schema

PLACES = Hierarchy.from_nested({"north": {"coast": ["a", "b"], "hills": ["c"]}, "south": ["d", "e", "f"]})
SCHEMA = Schema(
    columns={
        "place": ColumnSpec(name="place", role=Role.QUASI_IDENTIFIER, hierarchy=Given(PLACES)),
        "sex": ColumnSpec(name="sex", role=Role.QUASI_IDENTIFIER, hierarchy=Given(Hierarchy.flat(["x", "y"]))),
    }
)


def classes(places, sexes="x"):
    """Return one class for each pair of labels, a row each."""
    dataset = encode(pa.table({"place": list("abcdef"), "sex": list("xyxyxy")}), SCHEMA)
    pairs = [(place, sex) for place in places for sex in sexes]
    columns = {}
    for at, column in enumerate(dataset.quasi_identifiers):
        codes = np.array([column.tree.labels.index(pair[at]) for pair in pairs], dtype=np.int32)
        columns[column.name] = Labelled(codes, column.tree.labels)
    made = Recoding(columns, class_of=np.arange(len(pairs), dtype=np.int32))
    return dataset, LabelledClasses.of(dataset, made)


def below(parent, node):
    """The classes that a node of the tree of unions stands for."""
    children = np.flatnonzero(parent == node)
    return {int(node)} if not children.size else set().union(*(below(parent, child) for child in children))


def test_classes_below_one_label_are_joined_before_others():
    _, made = classes(["a", "b", "c", "d", "e"])
    parent = made.parents()
    unions = [below(parent, node) for node in range(5, parent.size)]

    assert unions[-1] == {0, 1, 2, 3, 4}
    assert {0, 1} in unions  # the coast
    assert {0, 1, 2} in unions  # the north
    assert {3, 4} in unions  # the south


@given(
    places=st.lists(st.sampled_from([*"abcdef", "coast", "north", "south", "*"]), min_size=1, unique=True),
    sexes=st.sampled_from(["x", "xy", "xy*"]),
    data=st.data(),
)
def test_unions_show_the_lowest_labels_that_cover_their_classes(places, sexes, data):
    dataset, made = classes(places, sexes)
    parent = made.parents()
    n = made.class_of.size

    assert (parent < 0).sum() == 1
    assert below(parent, int(np.flatnonzero(parent < 0)[0])) == set(range(n))
    assert (np.bincount(parent[parent >= 0], minlength=parent.size)[n:] == 2).all()

    node = data.draw(st.integers(0, parent.size - 1))
    members = sorted(below(parent, node))
    node_of = np.arange(n)
    node_of[members] = node
    labels, class_of = made.joined(node_of)

    for column, before in zip(dataset.quasi_identifiers, made.label_of, strict=True):
        tree, shown = column.tree, labels[column.name].codes
        first, last = tree.first[before[members]].min(), tree.last[before[members]].max()
        covering = [each for each in range(tree.first.size) if tree.first[each] <= first and tree.last[each] >= last]
        narrowest = min(tree.last[each] - tree.first[each] for each in covering)
        assert {(tree.first[each] <= first, tree.last[each] - tree.first[each]) for each in shown[members]} == {
            (True, narrowest)
        }
        others = np.setdiff1d(np.arange(n), members)
        assert np.array_equal(shown[others], before[others])
    alike = {}
    for row in range(n):
        alike.setdefault(tuple(int(labels[name].codes[row]) for name in labels), set()).add(int(class_of[row]))
    assert all(len(found) == 1 for found in alike.values())
    assert len(alike) == len(set(class_of.tolist()))


def test_classes_that_show_something_else_than_labels_are_left_alone():
    dataset, made = classes(["a", "d"])
    ranges = Labelled(np.zeros(2, dtype=np.int32), ("[1, 2]",))

    assert LabelledClasses.of(dataset, Recoding({"place": ranges, "sex": ranges}, class_of=made.class_of)) is None
    assert LabelledClasses.of(dataset, Recoding(class_of=made.class_of)) is None
    assert LabelledClasses.of(dataset, Recoding()) is None
