"""Kinds of columns, inferred with care."""

import pyarrow as pa
import pytest

from sfumato.data.kinds import infer_kind, missing_markers
from sfumato.data.schema import Kind


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["1", "2.5", "-3", "+4", "1e5", ".5", "0"], Kind.NUMBER),
        (["01", "02"], Kind.CATEGORY),
        (["1", "x"], Kind.CATEGORY),
        ([" 1"], Kind.CATEGORY),
        (["٣"], Kind.CATEGORY),
        ([], Kind.CATEGORY),
    ],
)
def test_kinds_are_inferred_with_care(labels, kind):
    assert infer_kind(labels, pa.string()) is kind


def test_words_for_missing_count_among_numbers_only():
    assert missing_markers(["1", "2", "3", "unknown"], pa.string()) == ["unknown"]
    assert missing_markers(["a", "b", "c", "unknown"], pa.string()) == []
    assert missing_markers(["a", "", "NA"], pa.string()) == ["", "NA"]
    assert missing_markers(["1", "2"], pa.int64()) == []
