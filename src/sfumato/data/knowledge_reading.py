"""From a file to a knowledge table.

Terms are written in one of two ways, and it shows which:

| file | means |
| --- | --- |
| a cell holds several terms (`fever|cough`), or a list | each line is a row; a label on several lines has as many |
| a cell holds one term | all lines of a label together are its one row |

A label with several rows is linked when *one* of them contains all terms of a record, so taking one way for the other
would hide links. That is why cells that look like several terms are refused when no separator is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.builders import HierarchyFile
from sfumato.data.distinct import text_codes
from sfumato.data.files import Source, read_columns, read_table
from sfumato.data.hierarchy import some
from sfumato.data.knowledge import ASK, Knowledge
from sfumato.data.variants import REMEDY, variants_among
from sfumato.errors import DataError, did_you_mean
from sfumato.progress import SILENT, Progress

FROM_DATA = "data"  # as a prior: estimate it from the original
_SEPARATORS = ("|", ";", ",")


@dataclass(frozen=True, kw_only=True)
class KnowledgeSource:
    """Where a knowledge table is and how it is written: what a plan says under [knowledge]."""

    path: Path
    label: str  # the column of labels
    terms: str | tuple[str, ...]  # the column of terms; several are joined as column=value
    separator: str | None = None  # between the terms of a cell
    prior: str = FROM_DATA  # a column of weights, or "data"
    weights: str | None = None  # a column that says how often who has the label has the term
    hierarchy: Path | None = None  # of the labels, as hierarchies of columns are written
    misses: int = 0  # terms of a record that a label may lack where no label has them all
    unlinked: str = ASK
    normalize: bool = False  # whether all spellings of a label are read as one; else they are refused

    def read(self, progress: Progress = SILENT, *, of_plan: bool = True) -> Knowledge:
        """Read the table."""
        source = Source(path=self.path, of_plan=of_plan).as_spelled
        found = read_columns(source)
        wanted = self._wanted(found, source.path)
        table = read_table(source, drop=frozenset(found) - frozenset(wanted.values()), progress=progress)
        return self.of_table(table, source.missing, str(source.path))

    def of_table(self, table: pa.Table, missing: Sequence[str] = ("",), name: str = "The knowledge table") -> Knowledge:
        """Take an Arrow table as knowledge."""
        self._wanted(table.column_names, name)
        if not table.num_rows:
            raise DataError(
                f"{name} was to hold public knowledge, but has no rows.\nIt needs rows of a label and its terms."
            )
        label_of = _labels(table.column(self.label), self.label, missing, name)
        often = Counter(label_of)
        labels = variants_among(pa.array(list(often), pa.string()), np.array(list(often.values()), dtype=np.int64))
        if labels is not None:
            if not self.normalize:
                raise DataError(
                    f"{name} was to name the secrets in column {self.label!r}, but has {labels.counts}.\n{REMEDY}"
                )
            label_of = [labels.kept.get(label, label) for label in label_of]
        if isinstance(self.terms, str):
            cells, single = _cells(table.column(self.terms), self.terms, self.separator, missing, label_of, name)
        else:
            parts = [_cells(table.column(each), each, self.separator, missing, label_of, name) for each in self.terms]
            single = all(single for _, single in parts)
            cells = [
                [f"{column}={term}" for column, of_column in zip(self.terms, row, strict=True) for term in of_column]
                for row in zip(*(found for found, _ in parts), strict=True)
            ]
        weight = None if self.prior == FROM_DATA else _weights(table.column(self.prior), self.prior, label_of, name)
        likelihood = None
        if self.weights is not None:
            if not single:
                raise DataError(
                    f"Column {self.weights!r} of {name} was to weigh terms, but cells hold several terms.\n"
                    "Write one term a line, each with its weight."
                )
            likelihood = _likelihood(table.column(self.weights), self.weights, label_of, cells, name)
            cells = [
                cell if cell and (of, cell[0]) in likelihood else [] for of, cell in zip(label_of, cells, strict=True)
            ]
        tree = None if self.hierarchy is None else HierarchyFile(self.hierarchy).build((), "The hierarchy of labels")
        more: dict[str, Any] = {"weight": weight, "hierarchy": tree, "misses": self.misses, "unlinked": self.unlinked}
        if single:
            joined: dict[str, list[str]] = {of: [] for of in label_of}
            for of, cell in zip(label_of, cells, strict=True):
                joined[of].extend(cell)
            return Knowledge.from_rows(joined.items(), likelihood=likelihood, **more)
        return Knowledge.from_rows(zip(label_of, cells, strict=True), **more)

    def _wanted(self, found: Sequence[str], where: Path | str) -> dict[str, str]:
        """Return the columns that are needed, by what they are needed for, or raise where some were not found."""
        several = () if isinstance(self.terms, str) else self.terms
        asked = {
            "label": self.label,
            "terms": self.terms if isinstance(self.terms, str) else None,
            **{f"terms {number}": name for number, name in enumerate(several, 1)},
            "prior": None if self.prior == FROM_DATA else self.prior,
            "weights": self.weights,
        }
        wanted = {key: name for key, name in asked.items() if name is not None}
        _check_columns(wanted, found, where)
        return wanted


def read_knowledge(path: Path | str, **how: Any) -> Knowledge:
    r"""Read a knowledge table from a CSV, TSV, Parquet or Arrow file, written as `KnowledgeSource` says.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "diseases.csv"
    ...     _ = path.write_text("disease,symptoms,share\nflu,fever|cough,0.75\ncold,cough,0.25\n")
    ...     table = read_knowledge(path, label="disease", terms="symptoms", separator="|", prior="share")
    >>> table.labels, table.terms, table.weight.tolist()
    (('cold', 'flu'), ('cough', 'fever'), [0.25, 0.75])
    """
    return KnowledgeSource(path=Path(path), **how).read(of_plan=False)


def _check_columns(wanted: dict[str, str], found: Sequence[str], where: Path | str) -> None:
    problems = [
        f"{where} lacks the column {name!r}, which [knowledge] names as {key}.{did_you_mean(name, found)}"
        for key, name in wanted.items()
        if name not in found
    ]
    if problems:
        raise DataError("\n".join([*problems, f"It has: {some(list(found), 20)}."]))
    names = list(wanted.values())
    if len(set(names)) < len(names):
        raise DataError(
            f"[knowledge] gives {', '.join(wanted)} as {some(names)}: one column cannot be two of them.\n"
            "Name a column for each."
        )


def _texts(array: pa.ChunkedArray, missing: Sequence[str]) -> list[str | None]:
    """Return the text of each cell without blanks around it, None where it is missing."""
    codes, labels, _ = text_codes(array, missing)
    texts: list[str | None] = [label.strip() or None for label in labels]
    texts.append(None)
    return [texts[code] for code in codes.tolist()]


def _labels(array: pa.ChunkedArray, column: str, missing: Sequence[str], name: str) -> list[str]:
    if pa.types.is_nested(array.type):
        raise DataError(f"Column {column!r} of {name} holds lists, but each row needs one label.\nName another column.")
    texts = _texts(array, missing)
    labels = [text for text in texts if text is not None]
    if len(labels) < len(texts):
        raise DataError(
            f"Column {column!r} of {name} has no label in {len(texts) - len(labels):,} of {len(texts):,} rows.\n"
            "Give each row its label, or leave these rows out."
        )
    return labels


def _cells(
    array: pa.ChunkedArray, column: str, separator: str | None, missing: Sequence[str], label_of: list[str], name: str
) -> tuple[list[list[str]], bool]:
    """Return the terms of each row, and whether each cell holds one term, of which a label has several rows."""
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        lists = [[str(term).strip() for term in cell or () if term is not None] for cell in array.to_pylist()]
        return [[term for term in cell if term] for cell in lists], False
    if pa.types.is_nested(array.type):
        raise DataError(f"Column {column!r} of {name} holds neither text nor lists.\nName the column of terms.")
    if separator == "":
        raise DataError("The separator of [knowledge] is empty.\nGive what stands between two terms, such as |.")
    texts = _texts(array, missing)
    repeated = len(set(label_of)) < len(label_of)
    if separator is None:
        if not repeated:
            _refuse_several_terms(texts, column, name)
        return [[] if text is None else [text] for text in texts], True
    cells = [[] if text is None else [term.strip() for term in text.split(separator)] for text in texts]
    cells = [[term for term in cell if term] for cell in cells]
    # Where no cell holds two terms, a label on several lines lists its terms one by one: the separator is not in use.
    return cells, repeated and all(len(cell) < 2 for cell in cells)


def _refuse_several_terms(texts: list[str | None], column: str, name: str) -> None:
    """Raise when each label stands on one line and most lines look as if they had several terms."""
    filled = [text for text in texts if text is not None]
    for separator in _SEPARATORS:
        several = sum(separator in text for text in filled)
        if filled and 2 * several > len(filled):
            raise DataError(
                f"Column {column!r} of {name} was to be read with one term in each cell, but {several:,} of "
                f"{len(filled):,} cells contain {separator!r}, and each label has one line only.\n"
                f"Write separator = {separator!r} under [knowledge] if that stands between two terms."
            )


def _weights(array: pa.ChunkedArray, column: str, label_of: list[str], name: str) -> dict[str, float]:
    """Return the prior of each label; a label on several lines has the same weight on each."""
    if pa.types.is_nested(array.type):
        raise DataError(f"Column {column!r} of {name} holds lists, not weights.\nName the column of weights.")
    weight: dict[str, float] = {}
    wrong = 0
    differing = set()
    for label, text in zip(label_of, _texts(array, ("",)), strict=True):
        if text is None:
            continue
        try:
            number = float(text)
        except ValueError:
            wrong += 1
            continue
        if weight.setdefault(label, number) != number:
            differing.add(label)
    if wrong:
        raise DataError(
            f"Column {column!r} of {name} was given as prior, but {wrong:,} of its {len(label_of):,} cells are no "
            "numbers.\n"
            'Correct them, or write prior = "data" to estimate the prior from the original.'
        )
    if differing:
        raise DataError(
            f"Column {column!r} of {name} was given as prior, but {len(differing):,} labels have different weights on "
            "different lines.\nWrite the weight of a label on one of its lines, or the same on all."
        )
    return weight


def exact_weight(text: str) -> Fraction | None:
    """Return a weight that is written as a number, a fraction or a percentage; None where it is none of these.

    >>> exact_weight("0.25"), exact_weight("3/7"), exact_weight("45%"), exact_weight("often")
    (Fraction(1, 4), Fraction(3, 7), Fraction(9, 20), None)
    """
    try:
        return Fraction(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        return None


def _likelihood(
    array: pa.ChunkedArray, column: str, label_of: list[str], cells: list[list[str]], name: str
) -> dict[tuple[str, str], Fraction]:
    """Return the weight of each label and term; a pair with weight 0 does not go together."""
    found: dict[tuple[str, str], Fraction] = {}
    wrong, differing = 0, set()
    for label, cell, text in zip(label_of, cells, _texts(array, ("",)), strict=True):
        weight = None if text is None else exact_weight(text)
        if not cell:
            continue
        if weight is None or not 0 <= weight <= 1:
            wrong += 1
        elif found.setdefault((label, cell[0]), weight) != weight:
            differing.add((label, cell[0]))
    if wrong or differing:
        raise DataError(
            f"Column {column!r} of {name} was given as weights, but {wrong:,} of {len(label_of):,} cells are no number "
            f"from 0 to 1, and {len(differing):,} terms of a label have different ones on different lines.\n"
            "Write the share of those with the label who have the term, as 0.25, 1/4 or 25%."
        )
    return {pair: weight for pair, weight in found.items() if weight}
