"""What labels stand for, against sets written down by hand and tables written down by `conftest`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.builders import NestedHierarchy, Widths
from sfumato.data.encoding import encode, encode_column
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.cover import Cover, cover, identity

JOBS = {"health": ["nurse", "doctor"], "food": ["cook", "baker"]}


def original(values, role=Role.QUASI_IDENTIFIER, **spec):
    return encode_column(pa.chunked_array([pa.array(values)]), ColumnSpec(name="c", role=role, **spec), ("",))


def shown(labels, role=Role.QUASI_IDENTIFIER, missing=-1):
    codes = np.arange(len(labels), dtype=np.int32)
    return ReleasedColumn(name="c", role=role, kind=Kind.CATEGORY, codes=codes, labels=tuple(labels), missing=missing)


def read(labels, column, missing=-1, **options):
    """For each label the values that it covers."""
    found = cover(shown(labels, missing=missing), column, **options)
    members = found.members(np.arange(len(labels)))
    return [{column.labels[code] for code in np.flatnonzero(members[:, at])} for at in range(len(labels))]


def test_ranges_of_numbers_hold_the_numbers_between_their_ends():
    ages = original(["20", "25", "30", "40"])

    assert read(["[20, 30]", "[20, 30)", "[21, 29]", "[0, 1000]", "[-inf, 25]", "25"], ages) == [
        {"20", "25", "30"},
        {"20", "25"},
        {"25"},
        {"20", "25", "30", "40"},
        {"20", "25"},
        {"25"},
    ]


def test_a_number_in_other_digits_is_the_same_number():
    column = original(["1", "2.50"])

    found = cover(shown(["1.0", "2.5"]), column)

    assert found.value_of.tolist() == [0, 1]
    assert found.size.tolist() == [1, 1]


def test_a_number_that_does_not_occur_stands_for_the_nearest_one():
    ages = original(["20", "25", "30"])

    assert read(["22", "23", "99", "-5", "[26, 29]"], ages) == [{"20"}, {"25"}, {"30"}, {"20"}, {"25"}]
    assert read(["22", "[26, 29]"], ages, exact=True) == [set(), set()]


def test_a_group_of_one_value_reads_as_that_value_though_its_label_went():
    lands = original(
        ["Kenya", "Peru", "Chile"], hierarchy=NestedHierarchy({"Africa": ["Kenya"], "South": ["Peru", "Chile"]})
    )

    assert read(["Africa", "South"], lands) == [{"Kenya"}, {"Peru", "Chile"}]


def test_a_label_of_the_hierarchy_holds_the_occurring_leaves_below():
    jobs = original(["nurse", "cook", "baker"], hierarchy=NestedHierarchy(JOBS))

    assert read(["health", "food", "*", "cook"], jobs) == [
        {"nurse"},
        {"cook", "baker"},
        {"nurse", "cook", "baker"},
        {"cook"},
    ]


def test_a_label_that_fits_nothing_that_occurs_tells_nothing():
    jobs = original(["nurse", "doctor"], hierarchy=NestedHierarchy(JOBS))

    found = cover(shown(["food", "cook", "nurse"]), jobs)

    assert found.outside.tolist() == [True, True, False]
    assert found.size.tolist() == [2, 2, 1]
    assert read(["food", "cook"], jobs, exact=True) == [set(), set()]


def test_sets_hold_their_members_whatever_those_are():
    colours = original(["blue", "green|grey", "red", "white"])

    assert read(["{blue|red}", "{green\\|grey|white}", "{blue|green\\|grey}"], colours) == [
        {"blue", "red"},
        {"green|grey", "white"},
        {"blue", "green|grey"},
    ]


def test_a_set_may_name_values_that_do_not_occur_where_nothing_declares_them():
    assert read(["{blue|pink}"], original(["blue", "red"])) == [{"blue"}]
    with pytest.raises(DataError):
        read(["{pink|white}"], original(["blue", "red"]))


def test_a_value_that_looks_like_a_set_or_a_range_is_itself():
    column = original(["{a|b}", "a", "b", "[1, 2]"])

    assert read(["{a|b}", "[1, 2]"], column) == [{"{a|b}"}, {"[1, 2]"}]


def test_ranges_of_an_ordered_column_go_by_the_declared_order():
    sizes = original(["S", "L, long", "XL"], kind=Kind.ORDERED, domain=("S", "M", "L, long", "XL"))

    domain = ("S", "M", "L, long", "XL")
    assert read(["[S, L, long]", "[M, XL]", "[M, XL)", "[S, M]", "M"], sizes, domain=domain) == [
        {"S", "L, long"},
        {"L, long", "XL"},
        {"L, long"},
        {"S"},
        {"S", "L, long", "XL"},
    ]


def test_ranges_of_an_ordered_column_may_go_by_its_hierarchy():
    tree = {"low": ["none", "some"], "high": ["much", "most"]}
    degrees = original(["none", "much", "most"], kind=Kind.ORDERED, hierarchy=NestedHierarchy(tree))

    assert read(["[some, much]", "low", "[none, most)"], degrees) == [{"much"}, {"none"}, {"none", "much"}]


def test_a_missing_value_is_a_value_of_its_own():
    ages = original(["20", "", "30"])

    assert read(["", "[20, 30]", "*", "{20|}"], ages, missing=0) == [
        {""},
        {"20", "30"},
        {"20", "30", ""},
        {"20", ""},
    ]


def test_a_blank_cell_of_a_column_without_missing_values_tells_nothing():
    assert read(["", "20"], original(["20", "30"]), missing=0) == [{"20", "30"}, {"20"}]


def test_labels_without_meaning_are_refused_by_name_and_count():
    with pytest.raises(DataError, match=r"'c' of the release shows 2 label\(s\), in 2 row\(s\).*'adult', 'elder'"):
        cover(shown(["20", "adult", "elder"]), original(["20", "30"]))


@pytest.mark.parametrize("label", ["{20|adult}", "[20, adult]", "[adult, old]", "{", "[20, 30", "nan"])
def test_half_understood_is_not_understood(label):
    with pytest.raises(DataError):
        cover(shown([label]), original(["20", "30"]))


def test_labels_of_secret_columns_stay_out_of_messages():
    with pytest.raises(DataError) as raised:
        cover(shown(["leprosy"], role=Role.SENSITIVE), original(["flu"], role=Role.SENSITIVE))

    assert "leprosy" not in str(raised.value)
    assert "1 label(s)" in str(raised.value)


def test_unknown_labels_that_no_row_shows_do_no_harm():
    column = ReleasedColumn(
        name="c",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.CATEGORY,
        codes=np.zeros(2, dtype=np.int32),
        labels=("20", "?"),
    )

    assert cover(column, original(["20", "30"])).size.tolist() == [1, 0]


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_every_label_covers_what_it_means(tables, data):
    example = data.draw(tables.examples())
    comparison = Comparison(example.dataset, example.release)
    for pair in comparison.quasi_identifiers:
        name = pair.original.name
        members = pair.cover.members(np.arange(len(pair.released.labels)))
        for at, label in enumerate(pair.released.labels):
            found = {pair.original.labels[code] for code in np.flatnonzero(members[:, at])}
            assert found == example.covered(name, label)
            assert pair.cover.size[at] == len(found)
            assert (pair.cover.value_of[at] >= 0) == (label in pair.original.labels)


@st.composite
def covers(draw):
    n_codes = draw(st.integers(1, 9))
    sets = draw(st.lists(st.frozensets(st.integers(0, n_codes - 1), min_size=1), min_size=1, max_size=6))
    start, first, last = [0], [], []
    for codes in sets:
        for code in sorted(codes):
            if first and len(first) > start[-1] and last[-1] == code - 1:
                last[-1] = code
            else:
                first.append(code)
                last.append(code)
        start.append(len(first))
    found = Cover(
        start=np.array(start, dtype=np.int64),
        first=np.array(first, dtype=np.int32),
        last=np.array(last, dtype=np.int32),
        value_of=np.full(len(sets), -1, dtype=np.int32),
        outside=np.zeros(len(sets), dtype=np.bool_),
        n_codes=n_codes,
    )
    return found, sets


@given(found_and_sets=covers(), data=st.data())
@settings(deadline=None)
def test_sums_spreads_overlaps_and_choices_follow_from_the_sets(found_and_sets, data):
    found, sets = found_and_sets
    per_code = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=found.n_codes, max_size=found.n_codes)))
    weight = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(sets), max_size=len(sets))))
    low = data.draw(st.integers(0, found.n_codes))
    high = data.draw(st.integers(low, found.n_codes))

    assert found.size.tolist() == [len(codes) for codes in sets]
    assert found.sums(per_code).tolist() == [sum(per_code[code] for code in codes) for codes in sets]
    assert found.overlaps(np.array([low]), np.array([high]))[:, 0].tolist() == [
        sum(low <= code < high for code in codes) for codes in sets
    ]
    spread = [
        sum(w / len(codes) for w, codes in zip(weight, sets, strict=True) if code in codes)
        for code in range(found.n_codes)
    ]
    np.testing.assert_allclose(found.spread(weight), spread, atol=1e-12)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(sets) - 1), max_size=4)), dtype=np.int64)
    members = found.members(chosen)
    assert [set(np.flatnonzero(members[:, at])) for at in range(chosen.size)] == [sets[at] for at in chosen]
    assert found.take(chosen).size.tolist() == [len(sets[at]) for at in chosen]


def test_losses_are_those_of_the_column():
    ages = original(["20", "25", "40", ""])
    jobs = original(["nurse", "doctor", "cook", "baker"], hierarchy=NestedHierarchy(JOBS))

    of_ages = cover(shown(["20", "[20, 25]", "*", "{20|40}", "{25|}", ""], missing=5), ages)
    of_jobs = cover(shown([*jobs.tree.labels]), jobs)

    assert of_ages.loss(ages).tolist() == [0.0, 0.25, 1.0, 1.0, 1.0, 0.0]
    assert of_jobs.loss(jobs).tolist() == jobs.node_loss().tolist()
    assert identity(ages).loss(ages).tolist() == [0.0] * 4


def test_a_range_of_the_hierarchy_that_holds_everything_is_the_root():
    spec = ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, hierarchy=Widths([5, 20]))
    schema = Schema({"age": spec})
    original = encode(pa.table({"age": [20, 30, 39]}), schema)
    release = Release.from_table(pa.table({"age": ["[20, 39]"] * 3}), schema)

    covered = Comparison(original, release).pair("age").cover

    assert covered.size.tolist() == [3]
