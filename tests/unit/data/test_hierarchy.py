"""Trees of labels, and trees over the codes of a column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.hierarchy import Hierarchy, Tree, some
from sfumato.errors import HierarchyError

JOBS = Hierarchy.from_paths(
    [
        ("nurse", "health", "work", "*"),
        ("doctor", "health", "work", "*"),
        ("cook", "food", "work", "*"),
        ("baker", "food", "work", "*"),
        ("none", "*"),
    ]
)


def test_leaves_come_first_and_parents_after_children():
    assert JOBS.leaves == ("nurse", "doctor", "cook", "baker", "none")
    assert JOBS.labels[JOBS.n_leaves :] == ("health", "food", "work", "*")
    assert all(parent > node for node, parent in enumerate(JOBS.parent[:-1]))
    assert JOBS.parent[-1] == -1
    assert JOBS.height == 3


def test_a_chain_is_one_node_with_the_lower_label():
    hierarchy = Hierarchy.from_paths([("a", "x", "y", "all", "*"), ("b", "x", "y", "all", "*"), ("c", "z", "all", "*")])
    assert hierarchy.ancestors("a") == ("a", "x", "*")
    assert hierarchy.ancestors("c") == ("c", "*")


def test_a_single_value_still_has_a_root():
    hierarchy = Hierarchy.from_paths([("a", "x", "*")])
    assert hierarchy.labels == ("a", "*")
    assert hierarchy.parent == (1, -1)


def test_a_group_may_repeat_its_only_value():
    assert Hierarchy.from_paths([("a", "a", "*"), ("b", "b", "b", "*")]).leaves == ("a", "b")


def test_a_value_may_not_be_the_group_of_others():
    with pytest.raises(HierarchyError, match="both as a value and as a group"):
        Hierarchy.from_paths([("a", "*"), ("b", "a", "c", "*"), ("d", "c", "*")])


def test_a_value_that_looks_like_the_root_is_refused():
    with pytest.raises(HierarchyError, match="more than one place"):
        Hierarchy.from_paths([("*", "*"), ("a", "*")])


@st.composite
def random_paths(draw):
    """Rows of a random tree: each group has one label and one parent."""
    n_groups = draw(st.integers(0, 6))
    parent = [draw(st.integers(-1, group - 1)) for group in range(n_groups)]

    def above(group):
        return () if group < 0 else (f"g{group}", *above(parent[group]))

    owner = draw(st.lists(st.integers(-1, n_groups - 1), min_size=1, max_size=12))
    return [(f"v{value}", *above(group), "*") for value, group in enumerate(owner)]


@settings(max_examples=60, deadline=None)
@given(random_paths())
def test_a_tree_keeps_exactly_the_groups_that_tell_values_apart(rows):
    hierarchy = Hierarchy.from_paths(rows)

    below = {}
    for value, *groups in rows:
        for label in (value, *groups):
            below.setdefault(label, set()).add(value)
    assert set(hierarchy.leaves) == {row[0] for row in rows}
    for value, *groups in rows:
        kept = hierarchy.ancestors(value)
        assert set(kept) <= {value, *groups}
        assert {frozenset(below[label]) for label in kept} == {frozenset(below[label]) for label in (value, *groups)}
    assert Hierarchy.from_paths(hierarchy.paths()).labels == hierarchy.labels


@settings(max_examples=60, deadline=None)
@given(random_paths(), st.data())
def test_a_tree_over_codes_says_what_the_hierarchy_says(rows, data):
    hierarchy = Hierarchy.from_paths(rows)
    occurs = [leaf for leaf in hierarchy.leaves if data.draw(st.booleans())]
    missing = len(occurs) if data.draw(st.booleans()) else -1
    labels = [*occurs, "?"] if missing >= 0 else occurs

    tree = Tree.over(hierarchy, labels, missing)

    assert tree.labels[: len(labels)] == tuple(labels)
    assert tree.labels[-1] == "*"
    for code, label in enumerate(labels):
        chain, node = [], code
        while node >= 0:
            assert tree.first[node] <= code <= tree.last[node]
            chain.append(tree.labels[node])
            node = tree.parent[node]
        assert tuple(chain) == (("?", "*") if code == missing else hierarchy.ancestors(label))
    for node, label in enumerate(tree.labels[len(labels) :], start=len(labels)):
        inside = {code for code, leaf in enumerate(occurs) if label in hierarchy.ancestors(leaf)}
        if label == "*" and missing >= 0:
            inside.add(missing)
        assert set(range(tree.first[node], tree.last[node] + 1)) == inside
        everywhere = sum(label in hierarchy.ancestors(leaf) for leaf in hierarchy.leaves)
        assert tree.leaves[node] == everywhere + (label == "*" and missing >= 0)


def test_cutting_at_a_level_climbs_as_far_as_it_may():
    tree = Tree.over(JOBS, ["nurse", "doctor", "cook", "none", "?"], 4)
    names = np.array(tree.labels)
    assert names[tree.at_level(0)].tolist() == ["nurse", "doctor", "cook", "none", "?"]
    assert names[tree.at_level(1)].tolist() == ["health", "health", "food", "none", "?"]
    assert names[tree.at_level(2)].tolist() == ["work", "work", "work", "none", "?"]
    assert names[tree.at_level(3)].tolist() == ["*"] * 5


def test_some_shows_a_few_and_counts_the_rest():
    assert some(["b", "a"]) == "'a', 'b'"
    assert some("abcdefg", 2) == "'a', 'b' and 5 more"


def test_a_group_that_holds_everything_is_the_root_by_another_name():
    assert Hierarchy.from_nested({"all": {"both": ["a", "b"]}}).same == {"all": "*", "both": "*"}
    assert Hierarchy.from_nested({"all": ["a"]}).same == {"all": "a"}
