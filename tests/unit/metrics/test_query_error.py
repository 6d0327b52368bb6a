from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.dataset import CodedSets, DistinctRows
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.errors import PolicyError
from sfumato.metrics import query_error
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.query_error import QueryError, _chosen, _draw, _set_column, _Sides, _Terms, _Values

SIZES = ["S", "M", "L, long", "XL"]


def asked(choice, labels, query):
    """The values that a query asks for."""
    if isinstance(choice, _Values):
        return {label for label, chosen in zip(labels, choice.chosen[:, query], strict=True) if chosen}
    return set(labels[choice.low[query] : choice.high[query]])


def between(example, name, values):
    """The values of the domain that a query asks for: of numbers and ordered columns all from the first to the last."""
    if name == "age":
        numbers = [Decimal(age) for age in values if age]
        return {
            each
            for each in example.domain(name)
            if (each == "" and "" in values) or (each != "" and numbers and min(numbers) <= each <= max(numbers))
        }
    if name == "size" and values - {""}:
        places = [SIZES.index(size) for size in values - {""}]
        return {*SIZES[min(places) : max(places) + 1], *(values & {""})}
    return values


@pytest.mark.slow
@given(data=st.data(), with_terms=st.booleans(), share=st.floats(0.1, 0.9), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_counts_and_estimates_equal_a_plain_tally(tables, data, with_terms, share, seed):
    example = data.draw(tables.examples())
    subset = tuple(sorted(data.draw(st.sets(st.integers(0, 3)))))
    comparison = Comparison(example.dataset, example.release)
    sides = _Sides(comparison, _set_column(comparison) if with_terms else None)
    n_queries = 3

    actual, estimate, without = sides.answers(subset, share, n_queries, np.random.default_rng(seed))

    rng = np.random.default_rng(seed)  # the same queries again
    columns = [example.dataset.quasi_identifiers[at] for at in subset]
    choices = [_draw(column, share, n_queries, rng) for column in columns]
    terms = example.dataset.columns["terms"].labels
    chosen = _chosen(len(terms), share, n_queries, rng) if with_terms else None
    for query in range(n_queries):
        wanted = {
            column.name: asked(choice, column.labels, query) for column, choice in zip(columns, choices, strict=True)
        }
        any_of = (
            {term for term, is_chosen in zip(terms, chosen[:, query], strict=True) if is_chosen} if with_terms else None
        )

        def holds(row, any_of=any_of):
            return any_of is None or bool(row["terms"] & any_of)

        exactly = sum(
            holds(row) and all(row[name] in values for name, values in wanted.items()) for row in example.before
        )
        expected = 0.0
        for row in example.after:
            part = float(holds(row))
            for name, values in wanted.items():
                left = example.open(name, row[name])
                part *= len(left & between(example, name, values)) / len(left)
            expected += part
        assert actual[query] == exactly
        assert estimate[query] == pytest.approx(expected, abs=1e-9)
        starred = float(sum(map(holds, example.after)))
        for column in columns:
            domain = example.domain(column.name)
            starred *= len(domain & between(example, column.name, wanted[column.name])) / max(len(domain), 1)
        assert without[query] == pytest.approx(starred, abs=1e-9)


@pytest.mark.parametrize("largest", [3, 255, 256, 700])
def test_records_of_a_cell_are_counted_however_many_there_are(largest):
    rng = np.random.default_rng(largest)
    distinct_of = np.repeat(np.arange(4, dtype=np.int32), [largest, 0, 2, largest])
    sets = [np.flatnonzero(rng.random(5) < 0.7) for _ in distinct_of]
    start = np.concatenate([[0], np.cumsum([len(terms) for terms in sets])])
    items = np.concatenate(sets).astype(np.int32)
    column = CodedSets(name="terms", role=Role.QUASI_SENSITIVE, items=items, start=start, labels=tuple("abcde"))
    distinct = DistinctRows(np.zeros((4, 0), np.int32), np.bincount(distinct_of, minlength=4), distinct_of)
    chosen = rng.random((5, 64)) < 0.3

    counts = _Terms(column, distinct, np.arange(5, dtype=np.int32)).hits(chosen)(0, 4)

    plain = np.zeros((4, 64), dtype=int)
    for number, terms in zip(distinct_of, sets, strict=True):
        plain[number] += chosen[terms].any(axis=0)
    assert np.array_equal(counts, plain)


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_queries_ask_for_as_many_values_as_they_should(tables, share):
    row = {"job": "cook", "colour": "red", "illness": "flu", "terms": frozenset()}
    rows = [row | {"age": age, "size": size} for age in ("20", "30", "60", "") for size in ("S", "M", "XL", "")]
    age, job, _, size = tables.Example(rows, []).dataset.quasi_identifiers
    rng = np.random.default_rng(0)

    of_ages, of_sizes = _draw(age, share, 50, rng), _draw(size, share, 50, rng)

    width = {0.05: 1, 0.5: 2, 1.0: 3}[share]
    for choice in (of_ages, of_sizes):
        assert (choice.high - choice.low == width).all()
        assert choice.low.min() == 0
        assert choice.high.max() == 3  # the missing value comes last and stays outside
    assert _draw(job, share, 5, rng).chosen.all()
    assert (_chosen(10, share, 5, rng).sum(axis=0) == {0.05: 1, 0.5: 5, 1.0: 10}[share]).all()


def test_an_unchanged_release_answers_exactly(tables):
    rng = np.random.default_rng(1)
    rows = [
        {
            "age": str(rng.choice(["20", "30", "60"])),
            "job": str(rng.choice(["cook", "nurse", "farmer"])),
            "colour": "red",
            "size": str(rng.choice(["S", "M", "XL"])),
            "illness": "flu",
            "terms": frozenset(rng.choice(["cough", "fever", "rash"], 2).tolist()),
        }
        for _ in range(60)
    ]
    example = tables.Example(rows, rows)

    for terms in (True, False):
        measured = QueryError(queries=50, terms=terms).measure(example.dataset, example.release)
        assert measured.value == pytest.approx(0.0, abs=1e-12)
        assert [part["columns"] for part in measured.facts["dimensions"]] == [1, 3, 4]
        assert measured.facts["queries"] == 150
        assert measured.facts["terms"] == ("terms" if terms else None)


def test_half_the_records_give_half_the_counts(pair_of):
    columns = {"age": [20, 30] * 10, "job": ["cook", "nurse"] * 10}
    halved = {name: values[:10] for name, values in columns.items()}

    measured = QueryError(queries=20).measure(*pair_of(columns, halved))

    assert measured.value == pytest.approx(0.5)
    assert measured.facts["median"] == pytest.approx(0.5)
    assert measured.facts["worst_tenth"] == pytest.approx(0.5)


def test_the_seed_decides(pair_of):
    rng = np.random.default_rng(0)
    ages = rng.integers(20, 60, 200)
    columns = {"age": ages, "job": rng.choice(["cook", "nurse", "baker"], 200)}
    wide = {"age": [f"[{age // 10 * 10}, {age // 10 * 10 + 9}]" for age in ages], "job": columns["job"]}
    pair = pair_of(columns, wide)

    one, again, other = (QueryError(queries=50, seed=seed).measure(*pair).value for seed in (0, 0, 1))

    assert one == again
    assert one != other
    assert one > 0


def test_queries_that_nobody_fits_are_drawn_anew_but_not_for_ever(pair_of):
    # Each record differs from the others in all three columns: few random triples of single values exist.
    columns = {name: [f"{name}{row}" for row in range(4)] for name in "abc"}

    measured = QueryError(dimensions=(3,), selectivity=0.001, queries=40).measure(*pair_of(columns, columns))

    (dimension,) = measured.facts["dimensions"]
    assert 0 < dimension["queries"] < 40
    assert dimension["queries"] + dimension["empty"] == 40


def test_transactions_are_asked_about_their_items_alone(pair_of):
    dataset, _ = pair_of({"a": [["x", "y"], ["y"], ["z"]]}, {"a": [["x"], ["y"], ["z"]]}, roles={"a": "items"})
    release = Release.from_table(pa.table({"a": [["x", "new"], [], ["z"]]}), dataset.schema)

    measured = QueryError(queries=30, selectivity=0.3).measure(dataset, release)  # one item a query

    assert {part["columns"] for part in measured.facts["dimensions"]} == {0}
    assert 0 < measured.value < 1  # x and z come out right, y gives 0 instead of 2


def test_huge_tables_are_asked_less_often(pair_of, monkeypatch):
    columns = {"age": list(range(50))}
    monkeypatch.setattr(query_error, "_WORK", 3_000)
    monkeypatch.setattr(query_error, "_FEWEST", 7)

    assert QueryError().measure(*pair_of(columns, columns)).facts["queries"] == 3_000 // 200
    monkeypatch.setattr(query_error, "_WORK", 3)
    assert QueryError().measure(*pair_of(columns, columns)).facts["queries"] == 7


@pytest.mark.parametrize(
    "options", [{"selectivity": 0.0}, {"selectivity": 1.5}, {"queries": 0}, {"dimensions": ()}, {"dimensions": (0, 1)}]
)
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(PolicyError):
        QueryError(**options)


def test_the_error_stands_beside_that_of_a_release_without_any_detail(pair_of):
    ages = {"age": [20] * 50 + list(range(20, 60))}
    starred = {"age": ["*"] * 90}

    kept, gone = (QueryError(queries=200).measure(*pair_of(ages, published)) for published in (ages, starred))

    assert kept.value == 0
    assert 0 < kept.worst == gone.worst == pytest.approx(gone.value)
    assert "with no detail left" in kept.note
    assert "can exceed 100 %" in kept.explanation  # as it does where small counts are off
