from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.conditions import bars_of
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.data.builders import Flat
from sfumato.data.encoding import encode
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy

A, B = 2**53, 2**53 + 1  # one and the same as floats
SCHEMA = Schema(
    {
        "ward": ColumnSpec(name="ward", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
        "account": ColumnSpec(name="account", role=Role.SENSITIVE),
    }
)


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
@pytest.mark.parametrize("anonymizer", [LocalRecoding(), Mondrian()], ids=lambda anonymizer: anonymizer.name)
@pytest.mark.parametrize(
    ("model", "wards"),
    [
        (TCloseness(sensitive="account", t="0.1", distance="ordered"), ["a"] * 4 + ["b"] * 4),
        (LDiversity(sensitive="account", l=2), ["a", "b"] * 4),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_whole_numbers_above_two_to_53_are_different_for_search_and_audit(kind, anonymizer, model, wards):
    accounts = pa.array([A] * 4 + [B] * 4, pa.int64()).cast(kind)
    dataset = encode(pa.table({"ward": wards, "account": accounts}), SCHEMA)
    policy = Policy((KAnonymity(k=2), model))
    workplace = Workplace(rng=np.random.default_rng(1))
    recoding = anonymizer.anonymize(dataset, policy, Recoding(), workplace)
    release = publish(dataset, recoding, [])

    assert model.audit(release).satisfied
    # Wards that differ in their numbers are joined; those that hold both are not.
    assert len(release.column("ward").labels) == (1 if model.name == "t-closeness" else 2)


def test_each_row_has_a_cell_for_each_sensitive_column():
    codes = [np.array(column, dtype=np.int32) for column in ([0, 2, 1], [1, 0, 1])]
    assert bars_of(codes, [3, 2], 3).tolist() == [[0, 2, 1], [4, 3, 4]]
    assert bars_of([], [], 3).shape == (0, 3)
