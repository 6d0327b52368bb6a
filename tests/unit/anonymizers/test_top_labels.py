"""The label above all values of a built hierarchy: published in place of `*`, except for missing values."""

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.builders import Dates, Edges, Prefix, Widths
from sfumato.data.hierarchy import Hierarchy

SPLIT = {
    "widths": ({"hierarchy": {"widths": [5, 10, 20, 100]}}, [*range(60, 79)], "[60, 79]"),
    "edges": ({"hierarchy": {"edges": [[0, 18, 65, 120], [0, 18, 120]]}}, [20, 30, 70, 80], "[18, 120]"),
    "prefix": ({"kind": "category", "hierarchy": {"prefix": 5}}, ["10115", "10243", "10369", "10405"], "10***"),
    "dates": ({"kind": "date", "hierarchy": {"dates": ["month", "year"]}}, ["2024-01-05", "2024-04-01"], "2024"),
}
ANONYMIZERS = ("local-recoding", "full-domain", "mondrian")


def released(values, column, k, anonymizer="local-recoding", **more):
    plan = sf.Plan.from_dict(
        {
            "columns": {"x": {"role": "quasi-identifier", **column}},
            "require": [{"model": "k-anonymity", "k": k, "anonymizer": anonymizer}],
            **more,
        }
    )
    return sf.anonymize(pa.table({"x": values}), plan, attack=False)


@pytest.mark.slow
@pytest.mark.parametrize("anonymizer", ANONYMIZERS)
@pytest.mark.parametrize("name", SPLIT)
def test_rows_that_share_nothing_else_share_the_top_label(name, anonymizer):
    column, values, top = SPLIT[name]
    run = released(values, column, len(values), anonymizer)

    shown = set(run.release.data["x"].to_pylist())
    assert shown <= {top, "[60, 78]", "[20, 80]", "[2024-01-05, 2024-04-01]"}, shown
    assert anonymizer == "mondrian" or shown == {top}


@pytest.mark.slow
@pytest.mark.parametrize("anonymizer", ANONYMIZERS)
def test_the_top_label_never_hides_that_a_value_is_missing(anonymizer):
    ages = [*map(str, range(60, 79)), *[""] * 3]
    column = {"kind": "number", "hierarchy": {"widths": [5, 10, 20]}}

    apart = released(ages, column, 3, anonymizer).release.data["x"].to_pylist()
    assert apart.count(None) == 3
    assert "*" not in apart
    together = released(ages, column, 22, anonymizer).release.data["x"].to_pylist()
    assert set(together) == {"*"}
    some = released(ages[:-1], column, 19, anonymizer).release.data["x"].to_pylist()
    assert set(some) == {"*"}  # two missing ones would stand alone


def test_a_recipient_reads_the_top_label_as_a_range():
    column, values, _ = SPLIT["widths"]
    run = released(values, column, len(values))
    (mean,) = sf.load(run.release).mean("x")
    assert (mean.lower, mean.upper, mean.open_rows) == (60, 79, 0)


def test_all_that_lies_below_it_is_lost():
    column, values, _ = SPLIT["prefix"]
    measured = {each["name"]: each for each in released(values, column, len(values)).facts["measurements"]}
    assert measured["ncp"]["value"] == 1


@pytest.mark.parametrize(
    ("built", "values"),
    [
        (Widths([5, 10, 20, 100]), ["60", "63", "71", "78"]),
        (Edges([[0, 18, 65, 120], [0, 18, 120]]), ["20", "30", "70"]),
        (Prefix(4), ["1011", "1012", "1021"]),
        (Dates(["month", "quarter", "year", "decade"]), ["2024-01-05", "2024-02-01", "2024-03-07"]),
    ],
)
def test_the_top_keeps_its_level_and_larger_groups_stand_for_it(built, values):
    hierarchy = built.build(values, "It")
    top = hierarchy.with_top()

    assert top.height == hierarchy.height
    label = top.labels[-2]
    assert list(top.below[-2]) == list(top.below[-1]) == list(range(len(values)))
    levels = [top.level[top.node_of[each]] for each in top.ancestors(values[0])]
    assert levels == sorted(set(levels))
    assert top.with_top() == top
    assert {top.same.get(each, each) for each, only in hierarchy.same.items() if only == "*"} == {label}


def test_what_lies_below_several_groups_or_none_has_no_top():
    for hierarchy in (Hierarchy.flat("ab"), Widths([10]).build(["1", "11"], "It"), Hierarchy.flat("a")):
        assert hierarchy.with_top() is hierarchy


def test_a_secret_keeps_the_distances_of_its_hierarchy():
    columns = {
        "x": {"role": "quasi-identifier"},
        "s": {"role": "sensitive", "hierarchy": {"widths": [5, 10, 20]}, "kind": "category"},
    }
    require = [{"model": "t-closeness", "sensitive": "s", "t": 1, "distance": "hierarchical"}]
    plan = sf.Plan.from_dict({"columns": columns, "require": require})
    table = pa.table({"x": ["a", "a", "b", "b"], "s": ["60", "61", "78", "79"]})
    (verdict,) = sf.audit(table, plan)
    assert verdict.reached == 0.5
