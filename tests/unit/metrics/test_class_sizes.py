from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics.class_sizes import ClassSizes


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_every_class_is_in_the_one_bin_that_its_size_belongs_to(tables, data):
    example = data.draw(tables.examples())

    measured = ClassSizes().measure(example.dataset, example.release)

    for suffix, side, rows in (("_before", "before", example.before), ("", "after", example.after)):
        sizes = list(example.classes(rows).values())
        for part in measured.facts["bins"]:
            inside = [size for size in sizes if part["from"] <= size <= part["to"]]
            assert part[f"classes{suffix}"] == len(inside)
            assert part[f"rows{suffix}"] == sum(inside)
        assert measured.facts[side] == {
            "classes": len(sizes),
            "rows": len(rows),
            "min": min(sizes, default=0),
            "median": median(sizes) if sizes else 0.0,
            "max": max(sizes, default=0),
        }


def test_bins_follow_one_another_up_to_the_largest_class(pair_of):
    columns = {"age": [20] * 60 + [30] * 7 + [40]}

    measured = ClassSizes().measure(*pair_of(columns, columns))

    assert [(part["from"], part["to"]) for part in measured.facts["bins"]] == [
        *((size, size) for size in (1, 2, 3, 4)),
        (5, 9),
        (10, 19),
        (20, 49),
        (50, 60),
    ]
    assert (measured.value, measured.before) == (1.0, 1.0)
