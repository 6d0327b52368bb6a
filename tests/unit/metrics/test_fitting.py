from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.dataset import DistinctRows
from sfumato.metrics import fitting as module
from sfumato.metrics.fitting import fitting, project

SIZES = (2, 3, 4)


@st.composite
def some_rows(draw):
    row = st.tuples(*(st.integers(0, size - 1) for size in SIZES))
    found = draw(st.dictionaries(row, st.integers(1, 5), max_size=12))
    codes = np.array(sorted(found), dtype=np.int32).reshape(-1, len(SIZES))
    weight = np.array([found[tuple(row)] for row in codes.tolist()], dtype=np.int64)
    return DistinctRows(
        codes=codes, weight=weight, distinct_of=np.repeat(np.arange(weight.size), weight).astype(np.int32)
    )


@given(distinct=some_rows(), columns=st.lists(st.integers(0, 2), unique=True))
@settings(deadline=None)
def test_a_projection_adds_up_what_looks_the_same(distinct, columns):
    codes, weight = project(distinct, columns, [SIZES[column] for column in columns])

    found, expected = Counter(), Counter()
    for row, count in zip(codes.tolist(), weight, strict=True):
        found[tuple(row)] += count
    for row, count in zip(distinct.codes.tolist(), distinct.weight, strict=True):
        expected[tuple(row[column] for column in columns)] += count
    assert found == expected


@given(
    distinct=some_rows(), n_predicates=st.integers(1, 4), seed=st.integers(0, 99), block=st.sampled_from([1, 3, 1000])
)
@settings(deadline=None)
def test_fitting_equals_the_plain_sum_of_products(distinct, n_predicates, seed, block):
    rng = np.random.default_rng(seed)
    tables = [rng.random((size, n_predicates)) for size in SIZES]
    by_predicate = rng.integers(0, 5, (distinct.weight.size, n_predicates))
    whole, module._BLOCK = module._BLOCK, block
    try:
        found = fitting(distinct.codes, distinct.weight, tables, n_predicates)
        varied = fitting(distinct.codes, lambda first, last: by_predicate[first:last], tables, n_predicates)
        untested = fitting(distinct.codes, distinct.weight, [], n_predicates)
    finally:
        module._BLOCK = whole

    for predicate in range(n_predicates):
        products = [
            np.prod([tables[column][code, predicate] for column, code in enumerate(row)])
            for row in distinct.codes.tolist()
        ]
        np.testing.assert_allclose(found[predicate], sum(products * distinct.weight))
        np.testing.assert_allclose(varied[predicate], sum(products * by_predicate[:, predicate]))
        assert untested[predicate] == distinct.weight.sum()
