from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.release import Release
from sfumato.metrics.suppression import Suppression


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_it_counts_what_is_no_longer_shown(tables, data):
    example = data.draw(tables.examples())

    measured = Suppression().measure(example.dataset, example.release)
    columns = {column["name"]: column for column in measured.facts["columns"]}

    assert measured.value == (example.n_dropped / len(example.before) if example.before else 0.0)
    for name in tables.QIS:
        shown = Counter(row[name] for row in example.after if row[name] in example.values(name))
        generalized = len(example.after) - shown.total()
        surplus = shown - Counter(row[name] for row in example.before)
        assert columns[name]["generalized"] == generalized
        assert columns[name]["replaced"] == surplus.total() == 0
    before, after = (sum(len(row["terms"]) for row in rows) for rows in (example.before, example.after))
    assert (columns["terms"]["items_before"], columns["terms"]["items"]) == (before, after)
    assert columns["terms"]["changed"] == pytest.approx(1 - after / before if before else 0.0)


def test_replaced_values_show_where_one_became_more_frequent(pair_of):
    dataset, release = pair_of({"a": ["x", "x", "y", "z"]}, {"a": ["x", "x", "x", "*"]})

    column = Suppression().measure(dataset, release).facts["columns"][0]

    assert column == {
        "name": "a",
        "role": "quasi-identifier",
        "kind": "category",
        "generalized": 1,
        "replaced": 1,
        "changed": 0.5,
        "empty": False,
    }


def test_several_values_where_there_was_one_count_as_generalized(pair_of):
    dataset, _ = pair_of({"a": ["x", "y"]}, {"a": ["x", "y"]}, roles={"a": "sensitive-quasi-identifier"})
    release = Release.from_table(pa.table({"a": [["x", "y"], ["y"]]}), dataset.schema)

    column = Suppression().measure(dataset, release).facts["columns"][0]

    assert (column["generalized"], column["changed"]) == (1, 0.5)


def test_a_randomized_column_is_neither_kept_nor_generalized():
    people = pa.table({"job": ["nurse", "cook", "clerk", "nurse"] * 50})
    plan = sf.Plan.from_dict(
        {
            "columns": {"job": {"role": "sensitive-quasi-identifier", "domain": ["clerk", "cook", "nurse"]}},
            "require": [{"model": "sensitive-qid-closeness", "t": {"job": 0.2}}],
        }
    )
    run = sf.anonymize(people, plan, seed=1)
    about = run.release.description["columns"]["job"]

    [column] = next(m for m in run.measurements if m.name == "suppression").facts["columns"]

    assert not {"generalized", "replaced"} & set(column)
    true = about["p"] + (1 - about["p"]) * about["eta"] / 3
    assert column["randomized"] == {"values": 3, "shown": about["eta"], "true": pytest.approx(true)}


def test_what_nothing_is_left_of_is_named(pair_of):
    columns = {"a": ["x", "y", "z", "x"], "b": ["1", "2", "3", "4"]}
    starred = {"a": ["*"] * 4, "b": ["*"] * 4}

    nothing = Suppression().measure(*pair_of(columns, starred))
    half = Suppression().measure(*pair_of(columns, columns | {"a": ["*"] * 4}))
    same = Suppression().measure(*pair_of({"a": ["x"] * 4}, {"a": ["x"] * 4}))

    assert nothing.empty == "the quasi-identifiers"
    assert nothing.warning == "Nothing is left of the quasi-identifiers: every row shows the same."
    assert (half.empty, half.warning) == ("", "Nothing is left of column 'a': every row shows the same.")
    assert (same.empty, same.warning) == ("", "")  # there was nothing to lose


def test_terms_that_are_all_gone_are_named(tables):
    row = {"age": "20", "job": "cook", "colour": "red", "size": "S", "illness": "flu"}
    example = tables.Example([row | {"terms": frozenset({"fever"})}] * 4, [row | {"terms": frozenset()}] * 4)

    assert "'terms'" in Suppression().measure(example.dataset, example.release).empty
