"""Hierarchies from files, trees and builders, and what is said when they are wrong."""

import datetime
import gzip
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.builders import (
    Dates,
    Edges,
    Flat,
    Given,
    HierarchyFile,
    NestedHierarchy,
    Prefix,
    Widths,
    hierarchy_source,
)
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.labels import parse_range
from sfumato.errors import HierarchyError, PolicyError
from tables_on_disk import zstd

SECRET = "Xylophonist"
NAME = "The hierarchy of column 'job'"


def from_file(folder, content, name="h.csv", *, secret=False):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return HierarchyFile(path).build([], NAME, secret=secret)


def paths(hierarchy):
    return {leaf: hierarchy.ancestors(leaf) for leaf in hierarchy.leaves}


# Files.


@pytest.mark.parametrize(
    "content",
    [
        "nurse;health;*\ndoctor;health;*\ncook;*\n",
        "\ufeffnurse;health;*\r\ndoctor;health;*\r\ncook;*",
        "nurse,health,*\ndoctor,health,*\n\ncook,*\n",
        "nurse\thealth\t*\ndoctor\thealth\t*\ncook\t*\n",
        '"nurse";"health";*\ndoctor;health;*\ncook;;*\n',
        "nurse;health\ndoctor;health\ncook\n",
    ],
)
def test_a_file_has_one_line_a_value(tmp_path, content):
    assert paths(from_file(tmp_path, content)) == {
        "nurse": ("nurse", "health", "*"),
        "doctor": ("doctor", "health", "*"),
        "cook": ("cook", "*"),
    }


def test_quotes_keep_separators_and_semicolons_come_first(tmp_path):
    hierarchy = from_file(tmp_path, '"a;b";x,y;*\nc;x,y;*\nd;*\n')
    assert hierarchy.ancestors("a;b") == ("a;b", "x,y", "*")


def test_a_toml_file_holds_a_tree(tmp_path):
    hierarchy = from_file(tmp_path, "young = [17, 18]\n[old]\nretired = [70, 71]\nworking = [40, true]\n", "h.toml")
    assert hierarchy.leaves == ("17", "18", "70", "71", "40", "true")
    assert hierarchy.ancestors("70") == ("70", "retired", "old", "*")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("h.csv", b"", "is empty"),
        ("h.csv", b"\n\n", "is empty"),
        ("h.toml", b"", "is empty"),
        ("h.csv", b"Xylophonist;\xff;*\n", "not UTF-8 text: line 1"),
        ("h.csv", b"a;*\nXylophonist;\x00;*\n", "zero bytes"),
        ("h.csv", b"Xylophonist;a;*\nXylophonist;a;*\n", "more than once: 1 line(s) too many"),
        ("h.csv", b"Xylophonist;a;b;a;*\nc;b;a;*\n", "circle"),
        ("h.csv", b"x;a;b;*\ny;b;a;*\n", "circle"),
        ("h.csv", b"Xylophonist;b;*\nb;Xylophonist;*\n", "both as a value and as a group"),
        ("h.csv", b"x;a;p;*\ny;a;p;*\nz;a;q;*\nu;a;q;*\n", "below two parents"),
        ("h.csv", b'"Xylophonist;*\n', "a quote that does not fit, near line"),
        ("h.toml", b"Xylophonist = [", "not valid TOML"),
        ("h.toml", b"Xylophonist = 5", "has a int where a table or a plain list"),
        ("h.toml", b"Xylophonist = [[1]]", "has a list where a table or a plain list"),
    ],
)
def test_a_broken_file_is_refused_without_showing_secrets(tmp_path, name, content, said):
    with pytest.raises(HierarchyError) as caught:
        from_file(tmp_path, content, name, secret=True)
    assert said in str(caught.value)
    assert NAME in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "\n" in str(caught.value)


def test_values_are_shown_when_they_are_no_secret(tmp_path):
    with pytest.raises(HierarchyError, match="'cook'"):
        from_file(tmp_path, "x;cook;*\ny;cook;*\ncook;*\n")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(HierarchyError, match="not found"):
        HierarchyFile(tmp_path / "none.csv").build([], NAME)
    with pytest.raises(HierarchyError, match="no ordinary file"):
        HierarchyFile(tmp_path).build([], NAME)


# Widths.


def test_whole_numbers_show_both_ends():
    hierarchy = Widths([5, 10]).build(["-3", "-1", "0", "4", "5", "17", "19"], NAME)
    assert hierarchy.ancestors("-3") == ("-3", "[-5, -1]", "*")  # [-10, -1] holds the same values
    assert hierarchy.ancestors("0") == ("0", "[0, 4]", "[0, 9]", "*")
    assert hierarchy.ancestors("17") == ("17", "[15, 19]", "*")
    assert hierarchy.leaves == ("-3", "-1", "0", "4", "5", "17", "19")


def test_other_numbers_leave_the_upper_end_out():
    hierarchy = Widths([0.1, 0.5], origin=0.05).build(["0.05", "0.1", "0.15", "0.3", "1e-1"], NAME)
    assert hierarchy.ancestors("0.1") == ("0.1", "[0.05, 0.15)", "*")
    assert Widths(["2.5"]).build(["1", "2", "3"], NAME).ancestors("2") == ("2", "[0, 2.5)", "*")


def test_edges_are_exact_where_floats_are_not():
    labels = [f"0.{tenth}" for tenth in range(1, 10)]
    hierarchy = Widths([0.3]).build(labels, NAME)
    assert hierarchy.ancestors("0.3")[1] == "[0.3, 0.6)"
    assert hierarchy.ancestors("0.6")[1] == "[0.6, 0.9)"


def test_a_width_of_one_is_the_whole_number_itself():
    assert Widths([1, 10]).build(["1", "2", "12", "13"], NAME).ancestors("1") == ("1", "[0, 9]", "*")
    assert Widths([1]).build(["1", "2"], NAME).ancestors("1") == ("1", "*")


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.decimals(-1000, 1000, places=2).map(str) | st.integers(-(10**20), 10**20).map(str), min_size=1),
    st.sampled_from([(5, 10), ("0.25", "1.5"), (7,), (0.1, 0.7)]),
    st.sampled_from([0, 3, "0.5"]),
)
def test_every_number_lies_in_its_ranges_and_ranges_lie_in_one_another(labels, widths, origin):
    hierarchy = Widths(widths, origin).build(sorted(labels), NAME)
    assert set(hierarchy.leaves) == labels
    for leaf in hierarchy.leaves:
        inside = (Fraction(leaf), Fraction(leaf))
        for label in hierarchy.ancestors(leaf)[1:-1]:
            low, high = (Fraction(end) for end in label[1:-1].split(", "))
            assert low <= inside[0]
            assert inside[1] <= high if label.endswith("]") or inside[1] != Fraction(leaf) else inside[1] < high
            assert parse_range(label) is not None
            inside = (low, high)


@pytest.mark.parametrize(
    "widths",
    [[], 0, -5, [5, 0], [5, 7], [10, 5], [5, 5], ["x"], [float("nan")], [float("inf")], [True], None, {}, [None]],
)
def test_widths_that_do_not_nest_are_refused(widths):
    with pytest.raises(PolicyError, match="widths was given as"):
        Widths(widths)


@pytest.mark.parametrize("origin", ["x", float("nan"), None, True, Fraction(1, 3)])
def test_an_origin_must_be_a_decimal_number(origin):
    with pytest.raises(PolicyError, match="origin was given as"):
        Widths([5], origin)


def test_what_is_no_number_is_counted():
    labels = ["1", SECRET, "nan", "inf", "1e9999", "2.5"]
    with pytest.raises(HierarchyError, match=f"4 of the 6 .*'{SECRET}'"):
        Widths([5]).build(labels, NAME)
    with pytest.raises(HierarchyError) as caught:
        Widths([5]).build(labels, NAME, secret=True)
    assert SECRET not in str(caught.value)


# Prefixes.


def test_codes_lose_their_last_characters():
    hierarchy = Prefix(5).build(["12345", "12399", "13000", "12", "9"], NAME)
    assert hierarchy.ancestors("12345") == ("12345", "123**", "1****", "*")
    assert hierarchy.ancestors("12") == ("12", "*")  # alone in 1*, which therefore is 12
    assert Prefix([3, 1]).build(["1234", "1239", "1300", "12"], NAME).ancestors("1234") == ("1234", "123*", "1***", "*")


def test_short_codes_stay_as_they_are():
    hierarchy = Prefix([3, 1]).build(["12", "19", "1234", "1235"], NAME)
    assert hierarchy.ancestors("12") == ("12", "1*", "*")
    assert hierarchy.ancestors("1234") == ("1234", "123*", "*")
    level = {label: hierarchy.level[node] for label, node in hierarchy.node_of.items()}
    assert (level["123*"], level["1*"], level["*"]) == (1, 2, 3)


@pytest.mark.parametrize("lengths", [0, -1, [], [1, 2], [2, 2], [2, 0], True, [True], ["2"], "2", 2.0, None])
def test_lengths_must_fall(lengths):
    with pytest.raises(PolicyError, match="prefix was given as"):
        Prefix(lengths)


# Dates.


def test_days_fall_into_months_quarters_years_and_decades():
    days = ["2024-05-03", "2024-05-04", "2024-06-01", "2024-07-01", "2025-01-01", "2031-01-01"]
    hierarchy = Dates(["month", "quarter", "year", "decade"]).build(days, NAME)
    assert hierarchy.ancestors("2024-05-03") == ("2024-05-03", "2024-05", "2024-Q2", "2024", "2020s", "*")


def test_weeks_go_with_years_of_weeks():
    days = ["2024-12-30", "2025-01-02", "2025-01-06", "2024-12-29", "2024-01-01", "2019-01-01"]
    hierarchy = Dates(["week", "year", "decade"]).build(days, NAME)
    assert hierarchy.ancestors("2024-12-30") == ("2024-12-30", "2025-W01", "2025-W**", "202*-W**", "*")
    assert hierarchy.ancestors("2024-12-29") == ("2024-12-29", "2024-W**", "202*-W**", "*")


@pytest.mark.parametrize(
    "label",
    [
        "2024-05-03",
        "2024-05-03 10:30:00",
        "2024-05-03T10:30:00.123456789Z",
        "2024-05-03 10:30:00+02:00",
        "2024-05-03T10:30",
    ],
)
def test_times_count_as_their_day(label):
    assert Dates("year").build([label, "2024-07-01", "2023-01-01"], NAME).ancestors(label)[1] == "2024"


def test_what_is_no_date_is_counted():
    with pytest.raises(HierarchyError, match=f"3 of the 4 .*'{SECRET}'"):
        Dates("month").build(["2024-02-30", "5.3.2024", SECRET, "2024-02-29"], NAME)
    with pytest.raises(HierarchyError) as caught:
        Dates("month").build([SECRET], NAME, secret=True)
    assert SECRET not in str(caught.value)


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.dates(), min_size=1),
    st.sampled_from([["week", "year", "decade"], ["month", "quarter", "year", "decade"]]),
)
def test_leaves_are_in_the_order_of_time(days, levels):
    hierarchy = Dates(levels).build([str(day) for day in days], NAME)
    assert list(hierarchy.leaves) == [str(day) for day in sorted(days)]


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([], "dates was given as"),
        (5, "dates was given as"),
        (["year", "month"], "does not rise"),
        (["month", "month"], "does not rise"),
        (["moth"], "Did you mean 'month'"),
        (["week", "month"], "two months"),
        (["week", "quarter"], "two months"),
    ],
)
def test_levels_of_dates_must_nest(levels, said):
    with pytest.raises(PolicyError, match=said):
        Dates(levels)


# What a plan says.


def test_a_plan_can_name_every_source(tmp_path):
    assert hierarchy_source("zip.csv", tmp_path) == HierarchyFile(tmp_path / "zip.csv")
    assert hierarchy_source(Path("/x/zip.csv"), tmp_path) == HierarchyFile(Path("/x/zip.csv"))
    assert hierarchy_source({"prefix": 3}, tmp_path) == Prefix(3) == Prefix([3, 2, 1])
    assert hierarchy_source({"widths": [5, 10], "origin": 1}, tmp_path) == Widths([5, 10], 1)
    assert hierarchy_source({"widths": 5}, tmp_path) == Widths([5])
    assert hierarchy_source({"dates": ["month", "year"]}, tmp_path) == Dates(["month", "year"])
    assert hierarchy_source({"flat": True}, tmp_path) == Flat()
    tree = {"health": ["nurse"], "prefix": ["cook"]}  # a label may be called like a builder
    assert hierarchy_source(tree, tmp_path) == NestedHierarchy(tree)
    given_one = Hierarchy.flat(["a", "b"])
    assert hierarchy_source(given_one, tmp_path) == Given(given_one)
    assert hierarchy_source(given_one, tmp_path).build(["c"], NAME) is given_one
    assert hierarchy_source(Flat(), tmp_path) == Flat()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"prefx": 5}, "Did you mean 'prefix'"),
        ({"widhts": [5, 10]}, "Did you mean 'widths'"),
        ({"width": 5, "origin": 2}, "Did you mean 'widths'"),
        ({"date": "month"}, "Did you mean 'dates'"),
        ({"flat": False}, "flat was given as False"),
        ({"origin": 5}, "without widths"),
        ({"prefix": 5, "origin": 5}, "do not go together"),
        ({"prefix": 5, "widths": [5]}, "do not go together"),
        ({}, "without content"),
        (5, "given as int"),
        (["a", "b"], "given as list"),
        (None, "given as NoneType"),
    ],
)
def test_a_slip_in_a_plan_is_named(value, said):
    with pytest.raises(PolicyError, match=said):
        hierarchy_source(value, Path())


def test_a_tree_of_one_group_is_a_tree():
    built = hierarchy_source({"care": ["nurse", "doctor"]}, Path()).build([], "It")

    assert built.paths() == [("nurse", "*"), ("doctor", "*")]  # all there is lies below the group, so it is the root


def test_flat_and_prefix_do_not_depend_on_the_order_of_rows():
    for source in (Flat(), Prefix(1), Dates("year")):
        labels = ["2024-05-03", "2023-01-01", "2022-01-01"]
        assert source.build(labels, NAME) == source.build(labels[::-1], NAME)


def test_dates_of_arrow_are_understood():
    assert Dates("year").build([str(datetime.datetime(2024, 1, 2, 3, 4, 5, 6))], NAME).n_leaves == 1


def test_hierarchies_of_absurd_depth_are_refused_at_once():
    with pytest.raises(PolicyError, match=r"prefix was given as 1,000,000,000, which makes as many levels"):
        Prefix(1_000_000_000)
    tree = ["Rome", "Oslo"]
    for level in range(5_000):
        tree = {f"a{level}": tree, f"b{level}": [f"x{level}"]}
    with pytest.raises(HierarchyError, match="more than 200 levels"):
        NestedHierarchy(tree).build(["Rome"], "The hierarchy")


# Edges.


def test_edges_cut_numbers_into_given_ranges():
    hierarchy = Edges([[0, 10, 25, 99], [0, 25, 99]]).build(["0", "10", "24", "25", "99"], NAME)
    assert hierarchy.ancestors("24") == ("24", "[10, 24]", "[0, 24]", "*")
    assert hierarchy.ancestors("99") == ("99", "[25, 99]", "*")
    assert Edges([0, 0.5, 1]).build(["0.2", "0.3", "0.5", "1"], NAME).ancestors("0.5") == ("0.5", "[0.5, 1]", "*")


@pytest.mark.parametrize("edges", [[], [1], [2, 1], [[0, 5, 9], [0, 6, 9]], [[0, 5, 9], [0, 8]], "0", [[0, 9], []]])
def test_edges_that_do_not_lie_in_one_another_are_refused(edges):
    with pytest.raises(PolicyError, match="edges"):
        Edges(edges)


def test_numbers_outside_the_edges_are_counted_not_shown():
    with pytest.raises(HierarchyError, match="1 of the 2 values") as refused:
        Edges([0, 5, 9]).build(["3", "4711"], NAME)
    assert "4711" not in str(refused.value)


LINES = "Köln;NRW;*\nBonn;NRW;*\nUlm;BW;*\nAalen;BW;*\n"


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstd)])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "windows-1252", "utf-16"])
def test_files_may_be_packed_and_in_other_encodings(tmp_path, ending, pack, encoding):
    for name, text in {"h.csv": LINES, "h.toml": 'NRW = ["Köln", "Bonn"]\nBW = ["Ulm", "Aalen"]\n'}.items():
        path = tmp_path / (name + ending)
        path.write_bytes(pack(text.encode(encoding)))
        assert HierarchyFile(path).build(["Köln"], "It").ancestors("Köln") == ("Köln", "NRW", "*")


def test_builders_that_are_given_all_at_once_do_not_go_together():
    every = {"prefix": 1, "widths": [5], "origin": 0, "edges": [0], "dates": "year", "flat": True}
    with pytest.raises(PolicyError, match="do not go together"):
        hierarchy_source(every, ".")
