"""Base rates: how common each value of a sensitive column is, as everybody may know it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.dataset import CodedColumn, visible_labels
from sfumato.data.distinct import text_codes
from sfumato.data.files import Source, read_table
from sfumato.data.variants import variants_among
from sfumato.errors import DataError

LARGEST = 2**31  # of all weights together: loops compare products of two of them


@dataclass(frozen=True, kw_only=True)
class BaseRates:
    """Whole numbers in proportion to how common values are; a missing value is a value of its own.

    >>> rates = BaseRates(weight={"flu": 3, "asthma": 1}, missing=1)
    >>> rates.total, rates.share("flu")
    (5, Fraction(3, 5))
    """

    weight: Mapping[str, int]
    missing: int = 0
    counted: bool = False  # whether these are the rows of the original, counted

    @property
    def total(self) -> int:
        """All weights together."""
        return sum(self.weight.values()) + self.missing

    def share(self, value: str | None) -> Fraction:
        """Return how common a value is (None: a missing one), from 0 to 1."""
        weight = self.missing if value is None else self.weight.get(value, 0)
        return Fraction(weight, self.total) if self.total else Fraction(0)

    def as_dict(self) -> dict[str, Any]:
        """Return the rates as plain data, as release.json may show them."""
        return {"values": dict(self.weight), "missing": self.missing, "counted": self.counted}

    @classmethod
    def from_dict(cls, shown: Mapping[str, Any]) -> BaseRates:
        """Return rates that were written as plain data.

        >>> BaseRates.from_dict(BaseRates(weight={"flu": 3}, missing=1).as_dict()).total
        4
        """
        weight = {str(value): int(count) for value, count in shown["values"].items()}
        return cls(weight=weight, missing=int(shown["missing"]), counted=shown.get("counted") is True)

    @classmethod
    def of(cls, column: CodedColumn) -> BaseRates:
        """Return how common the values of a column are in it."""
        counts = column.occurrences.tolist()
        missing = counts.pop(column.missing) if column.missing >= 0 else 0
        known = [label for code, label in enumerate(column.labels) if code != column.missing]
        return cls(weight=dict(zip(known, counts, strict=True)), missing=missing, counted=True)

    @classmethod
    def as_shown(cls, column: CodedColumn, markers: Sequence[str]) -> BaseRates:
        """Return the same with a missing value named by its marker, as the cells of a randomized column show it."""
        counts = column.occurrences.tolist()
        return cls(weight=dict(zip(visible_labels(column, markers), counts, strict=True)), counted=True)


def read_base_rates(path: Path, missing: Sequence[str], *, of_plan: bool = False) -> BaseRates:
    r"""Read a table of two columns, value and weight; weights may be counts or shares, with up to nine decimals.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rates.csv"
    ...     _ = path.write_text("illness,share\nflu,0.75\nasthma,0.25\n")
    ...     read_base_rates(path, [""]).share("flu")
    Fraction(3, 4)
    """
    table = read_table(Source(path=path, missing=tuple(missing), of_plan=of_plan).as_spelled)
    if table.num_columns != 2:
        raise DataError(
            f"{path.name} was to hold base rates, but has {table.num_columns} columns.\n"
            "It needs two: the values, and how common each is (counts or shares)."
        )
    codes, labels, has_missing = text_codes(table.column(0), missing)
    variants = variants_among(pa.array(labels, pa.string()), np.ones(len(labels), dtype=np.int64))
    if variants is not None:
        raise DataError(
            f"{path.name} was to say how common values are, but has {variants.counts}.\nKeep one spelling each."
        )
    if len(codes) != len(labels) + has_missing:
        raise DataError(f"{path.name} lists {len(codes) - len(labels):,} value(s) again.\nKeep one line a value.")
    numbers, names, _ = text_codes(table.column(1), ())
    try:
        written = [Fraction(names[code]) for code in numbers.tolist()]
    except (ValueError, ZeroDivisionError):
        raise DataError(f"{path.name} has weights that are no numbers.\nGive counts, or shares from 0 to 1.") from None
    scale = math.lcm(*(weight.denominator for weight in written))
    weights = [int(weight * scale) for weight in written]
    if min(weights, default=0) < 0 or not sum(weights):
        raise DataError(f"{path.name} has a weight below 0, or none above.\nGive counts, or shares from 0 to 1.")
    if sum(weights) >= LARGEST:
        divisor = math.gcd(*weights)
        weights = [weight // divisor for weight in weights]
    if sum(weights) >= LARGEST:
        raise DataError(f"{path.name} has weights with too many digits.\nGive counts, or shares with nine decimals.")
    known = {labels[code]: weight for code, weight in zip(codes.tolist(), weights, strict=True) if code < len(labels)}
    return BaseRates(weight=known, missing=sum(weights) - sum(known.values()))
