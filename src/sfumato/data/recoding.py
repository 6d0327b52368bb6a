"""The decision of an anonymizer: what is published instead of the original values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets, Codes


@dataclass(frozen=True, eq=False)
class Labelled:
    """A column of published labels: row r shows labels[codes[r]]."""

    codes: Codes  # (n,)
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Recoding:
    """New columns for those that change; everything else is published as it is.

    Steps of a pipeline build on one another: each gets the recoding so far and returns a new one.
    """

    columns: Mapping[str, Labelled | CodedSets] = field(default_factory=dict)
    keep_row: NDArray[np.bool_] | None = None  # (n,); None keeps all
    class_of: Codes | None = None  # (n,): rows that are published with equal quasi-identifiers, when a step knows it
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the anonymizer has to say, for the holder's report
    public: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by column: what release.json shall add

    def with_columns(self, columns: Mapping[str, Labelled | CodedSets], **changes: Any) -> Recoding:
        """Return this recoding with further columns replaced."""
        return replace(self, columns={**self.columns, **columns}, **changes)
