"""A source in codes, part by part, as the whole would be coded."""

from __future__ import annotations

import os

import numpy as np
import pytest

from in_parts import ROWS, Here, K, people, plan_of, written_in_files
from sfumato.data.encoding import encode
from sfumato.data.files.typed import row_groups
from sfumato.engines import tasks
from sfumato.engines.coding import code
from sfumato.engines.tasks import Splits
from sfumato.errors import DataError


@pytest.fixture
def splits(tmp_path):
    (tmp_path / "table").mkdir()
    plan = plan_of(written_in_files(tmp_path / "table"), K)
    return plan, Splits(plan.source, frozenset({"name"}), row_groups(plan.source.path, ["name"], 50))


def no_columns(template, books, rows):
    return ()


def test_parts_have_the_codes_of_the_whole_and_their_columns_know_how_common_values_are(splits, tmp_path):
    plan, source = splits
    coded = code(Here(), tmp_path, source, plan.schema, 20, no_columns)
    whole = encode(people().drop_columns(["name"]), plan.schema)
    assert coded.rows == ROWS
    assert [part.first for part in coded.parts] == np.cumsum([0, *(part.rows for part in coded.parts)])[:-1].tolist()
    for name in ("age", "region", "illness"):
        found = np.concatenate([tasks.coded_part(tmp_path, part.name).column(name).codes for part in coded.parts])
        assert np.array_equal(found, whole.column(name).codes)
        assert np.array_equal(coded.template.column(name).counts, np.bincount(found))


def test_a_source_that_is_written_meanwhile_is_no_source(splits, tmp_path):
    plan, source = splits

    def write(template, books, rows):
        os.utime(plan.source.path / "part-0.parquet", (1, 1))
        return ()

    with pytest.raises(DataError, match="changed while it was read"):
        code(Here(), tmp_path, source, plan.schema, None, write)
