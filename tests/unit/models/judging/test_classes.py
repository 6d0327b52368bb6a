from __future__ import annotations

import gc
import weakref
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.judging import classes
from sfumato.models.judging.classes import at_most, classes_of, values_of


def column(codes, labels, *, name="a", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY, missing=-1):
    codes = np.array(codes, dtype=np.int32)
    return ReleasedColumn(name=name, role=role, kind=kind, codes=codes, labels=tuple(labels), missing=missing)


def release(*columns, n_rows=None):
    n_rows = columns[0].codes.size if n_rows is None else n_rows
    return Release(
        columns={c.name: c for c in columns}, carried=None, n_rows=n_rows, order=tuple(c.name for c in columns)
    )


def tally(release):
    return Counter(classes_of(release).size.tolist())


@pytest.mark.slow
def test_classes_are_found_once_and_go_with_their_release():
    made = release(column([0, 1, 1], "xy"))
    found = classes_of(made)
    alive = weakref.ref(found)

    assert classes_of(made) is found
    del made, found
    gc.collect()
    assert alive() is None


def test_counts_are_shared_by_audits_that_follow_one_another():
    made = release(column([0, 1, 1], "xy"), column([0, 1, 0], "uv", name="s", role=Role.SENSITIVE))
    values = values_of(made.column("s"), 3)
    counts = classes_of(made).counts(made.column("s"), values.value_of)

    LDiversity(sensitive="s", l=2).audit(made)
    TCloseness(sensitive="s", t=1).audit(made)
    assert classes_of(made).counts(made.column("s"), values.value_of) is counts


def test_two_codes_with_one_label_are_one_value():
    assert tally(release(column([0, 1, 2, 2], ["[20, 29]", "[20, 29]", "30"]))) == {2: 2}


def test_a_missing_value_differs_from_a_text_that_looks_like_its_marker():
    assert tally(release(column([0, 0, 1], ["", ""], missing=1))) == {2: 1, 1: 1}


def test_labels_that_do_not_occur_are_no_values():
    made = release(column([1, 1, 3], ["never", "x", "nor", "y", ""], missing=4, role=Role.SENSITIVE))
    values = values_of(made.column("a"), 3)

    assert values.known == ["x", "y"]
    assert not values.has_missing
    assert len(values) == 2


def test_numbers_are_told_apart_by_value():
    made = release(column([0, 1, 2, 3], ["1", "1.0", "2", "about 3"], kind=Kind.NUMBER, role=Role.SENSITIVE))
    values = values_of(made.column("a"), 4)

    assert values.value_of.tolist() == [0, 0, 1, 2]
    assert values.labels == [["1", "1.0"], ["2"], ["about 3"]]


@pytest.mark.parametrize("largest", [2**62, 1000, 30])
def test_many_columns_are_renumbered_before_keys_overflow(monkeypatch, largest):
    monkeypatch.setattr(classes, "LARGEST", largest)
    rng = np.random.default_rng(5)
    base = rng.integers(0, 3, (40, 60))
    rows = base[rng.integers(0, 40, 300)]
    made = release(*(column(rows[:, j], "xyz", name=f"q{j}") for j in range(60)))

    assert tally(made) == Counter(Counter(map(tuple, rows.tolist())).values())


def test_a_quasi_identifier_of_sets_splits_rows_by_the_whole_set():
    table = pa.table({"a": [["u", "v"], ["v", "u"], ["u"], [], None, ["u", "v", "w"]], "b": ["1"] * 6})
    roles = {"a": Role.QUASI_IDENTIFIER, "b": Role.QUASI_IDENTIFIER}
    schema = Schema({name: ColumnSpec(name=name, role=role) for name, role in roles.items()})
    verdict = KAnonymity(k=2).audit(Release.from_table(table, schema))

    assert (verdict.groups, verdict.failing) == (4, 2)


@pytest.mark.parametrize("codes", [[0, 1, 2], [0, -1, 1]])
def test_a_code_without_a_label_is_no_release(codes):
    with pytest.raises(DataError, match="Column 'a' has rows without a label"):
        classes_of(release(column(codes, "xy")))


def test_a_column_of_another_length_is_no_release():
    with pytest.raises(DataError, match="Column 'a' has 3 rows, the release 4"):
        classes_of(release(column([0, 1, 1], "xy"), n_rows=4))


def test_a_column_that_is_not_there_cannot_be_judged(release_of):
    made = release_of({"a": ["x"], "s": ["1"], "note": ["u"]}, carried=("note",))
    for model in (LDiversity(sensitive="illness", l=2), TCloseness(sensitive="illness", t=0.2)):
        with pytest.raises(DataError, match="which the release does not have"):
            model.audit(made)
    with pytest.raises(DataError, match="'note', which has role 'other'"):
        LDiversity(sensitive="note", l=2).audit(made)


def test_a_quasi_identifier_cannot_be_judged_as_sensitive(release_of):
    with pytest.raises(DataError, match="'a', which is a quasi-identifier"):
        TCloseness(sensitive="a", t=0.2).audit(release_of({"a": ["x"], "s": ["1"]}))


def test_a_column_of_sets_cannot_be_judged(release_of):
    with pytest.raises(DataError, match="'s', which holds sets"):
        LDiversity(sensitive="s", l=2).audit(release_of({"a": ["x"], "s": [["1", "2"]]}))


def test_pairs_are_counted_the_same_way_in_a_table_and_by_sorting():
    rng = np.random.default_rng(7)
    made = release(
        column(rng.integers(0, 400, 500), [str(i) for i in range(400)]),
        column(rng.integers(0, 300, 500), [str(i) for i in range(300)], name="s", role=Role.SENSITIVE),
    )
    found, column_s = classes_of(made), made.column("s")
    counts = found.counts(column_s, np.arange(300))  # far more cells than rows: sorted
    expected = Counter(zip(found.class_of.tolist(), column_s.codes.tolist(), strict=True))

    pairs = zip(counts.class_of.tolist(), counts.value.tolist(), strict=True)
    assert dict(zip(pairs, counts.count.tolist(), strict=True)) == expected
    assert counts.total(300).tolist() == np.bincount(column_s.codes, minlength=300).tolist()


@pytest.mark.parametrize("largest", [2**62, 1])
def test_ratios_are_compared_exactly_whether_or_not_they_fit(monkeypatch, largest):
    monkeypatch.setattr(classes, "LARGEST", largest)
    third = Fraction(1, 3)
    tiny = Fraction(1, 10**18)
    big = np.array([10**9, 10**9 + 1]), np.array([3 * 10**9, 3 * 10**9])

    assert at_most(*big, third).tolist() == [True, False]
    assert at_most(*big, third - tiny).tolist() == [False, False]
    assert at_most(*big, third + tiny).tolist() == [True, False]
    assert at_most(np.array([0, 5]), np.array([7, 1]), Fraction(0)).tolist() == [True, False]


def test_a_changed_release_is_another_release():
    made = release(column([0, 0, 1, 1], "xy"))
    assert KAnonymity(k=2).audit(made).satisfied

    changed = replace(made, columns={"a": column([0, 0, 0, 1], "xy")})
    assert not KAnonymity(k=2).audit(changed).satisfied
