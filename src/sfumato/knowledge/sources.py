"""What tables say: lines of a label with its terms, filtered, from files of any kind that sfumato reads.

Annotation files of ontologies (`.hpoa`, or a table with the columns `qualifier` and `aspect`) list what a disease does
not have, and how it is inherited, beside what it has: unless something else is asked for, phenotypes that are there
are kept (aspect P, no NOT).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.data.files import Source, read_columns, read_digested
from sfumato.data.files.text import opened
from sfumato.data.hierarchy import some
from sfumato.data.kinds import is_list, value_type
from sfumato.data.knowledge_reading import exact_weight
from sfumato.errors import DataError, PolicyError, did_you_mean
from sfumato.progress import SILENT, Progress

ANNOTATIONS = ("aspect=P", "qualifier!=NOT")  # of an ontology: what a disease has
# What the terms of HPO for frequencies mean: the middle of their ranges.
FREQUENCIES = {
    "HP:0040280": Fraction(1),  # obligate
    "HP:0040281": Fraction(9, 10),  # very frequent: 80 to 99 %
    "HP:0040282": Fraction(55, 100),  # frequent: 30 to 79 %
    "HP:0040283": Fraction(17, 100),  # occasional: 5 to 29 %
    "HP:0040284": Fraction(1, 40),  # very rare: 1 to 4 %
    "HP:0040285": Fraction(0),  # excluded
}


def frequency(text: str) -> Fraction | None:
    """Return how often a term goes with a label, as annotations write it; None where that is no frequency.

    >>> frequency("3/7"), frequency("HP:0040283"), frequency("often")
    (Fraction(3, 7), Fraction(17, 100), None)
    """
    return FREQUENCIES[text] if text in FREQUENCIES else exact_weight(text)


@dataclass(frozen=True)
class Where:
    """Which lines count: those with a value in a column, or those without it."""

    column: str
    value: str
    is_not: bool = False

    @classmethod
    def parse(cls, text: str) -> Where:
        """Read what was written as column=value or column!=value.

        >>> Where.parse("aspect=P"), Where.parse("qualifier!=NOT").is_not
        (Where(column='aspect', value='P', is_not=False), True)
        """
        column, sign, value = text.partition("=")
        if not sign or not column.rstrip("!"):
            raise PolicyError(f"--where was given as {text!r}.\nWrite --where column=value, or column!=value.")
        return cls(column.removesuffix("!"), value, column.endswith("!"))

    def __str__(self) -> str:
        return f"{self.column}{'!' if self.is_not else ''}={self.value}"


@dataclass(frozen=True, eq=False)
class Lines:
    """A table as it was read: some of its columns, the lines that count, and where it came from."""

    table: pa.Table
    sha256: str
    rows: int  # before lines were left out
    where: tuple[Where, ...]

    def texts(self, column: str, missing: Sequence[str] = ("",)) -> list[str | None]:
        """Return the text of each cell without blanks around it, None where it is missing."""
        cells = (None if cell is None else str(cell).strip() for cell in self.table.column(column).to_pylist())
        return [None if cell in (None, *missing) else cell for cell in cells]

    def sets(self, column: str, separator: str | None) -> list[list[str]]:
        """Return the terms of each cell: a list, several in a text, or one."""
        if is_list(self.table.column(column).type):
            cells = self.table.column(column).to_pylist()
            return [[str(term).strip() for term in cell or () if term not in (None, "")] for cell in cells]
        texts = self.texts(column)
        if separator is None:
            return [[] if text is None else [text] for text in texts]
        return [[term.strip() for term in (text or "").split(separator) if term.strip()] for text in texts]


def read_lines(path: Path, columns: Sequence[str], where: Sequence[Where], progress: Progress = SILENT) -> Lines:
    """Read some columns of a table, and keep the lines that are asked for."""
    if path.suffix == ".hpoa" or path.name.endswith(".hpoa.gz"):
        table, sha256 = _read_annotations(path)
        names = table.column_names
    else:
        source = Source(path=path).as_spelled
        names = read_columns(source)
        wanted = {*columns, *(each.column for each in where), "qualifier", "aspect"}
        _check(columns, where, names, path)
        table, sha256 = read_digested(source, drop=frozenset(names) - wanted, progress=progress)
    _check(columns, where, names, path)
    asked = {each.column for each in where}
    if {"qualifier", "aspect"} <= set(names):
        where = [*where, *(each for each in map(Where.parse, ANNOTATIONS) if each.column not in asked)]
    rows = table.num_rows
    for each in where:
        column = table.column(each.column)
        cells = pc.fill_null(column.cast(value_type(column.type)).cast(pa.string()), "")
        same = pc.equal(pc.utf8_trim_whitespace(cells), each.value)
        table = table.filter(pc.invert(same) if each.is_not else same)
    if not table.num_rows:
        kept = f" with {', '.join(map(str, where))}" if where else ""
        raise DataError(f"{path} was to give a knowledge table, but has no lines{kept}.\nName another, or other lines.")
    return Lines(table, sha256, rows, tuple(where))


def _check(columns: Sequence[str], where: Sequence[Where], names: Sequence[str], path: Path) -> None:
    for name in (*columns, *(each.column for each in where)):
        if name not in names:
            raise DataError(
                f"{path} was to be read by its column {name!r}, which it lacks.{did_you_mean(name, names)}\n"
                f"It has: {some(list(names), 20)}."
            )


def _read_annotations(path: Path) -> tuple[pa.Table, str]:
    """Read tab-separated annotations below lines of comment, as HPO publishes them."""
    found = hashlib.sha256()
    with opened(path, found) as stream:
        text = b"".join(stream.blocks())
    lines = text.split(b"\n")
    comments = next((place for place, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    # In older versions, the head is the last line of comment.
    first = comments - 1 if comments and b"\t" in lines[comments - 1] else comments
    body = b"\n".join([lines[first].lstrip(b"#").lower(), *lines[first + 1 :]])
    options = pa.csv.ParseOptions(delimiter="\t", quote_char=False)
    try:
        head = lines[first].lstrip(b"#").lower().decode("utf-8").strip().split("\t")
        as_text = pa.csv.ConvertOptions(column_types=dict.fromkeys(head, pa.string()))
        return pa.csv.read_csv(pa.py_buffer(body), parse_options=options, convert_options=as_text), found.hexdigest()
    except (pa.ArrowInvalid, UnicodeDecodeError, IndexError):
        raise DataError(
            f"{path} was to be annotations of an ontology, but is no table with tabs between cells, below lines of "
            "comment.\nGive the file as it is published, or a CSV file."
        ) from None


def counted_lines(
    labels: Sequence[str | None], sets: Sequence[Sequence[str]], persons: Sequence[str | None] | None
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield what counts once: a line, or all lines of a person with a label, as the label and its different terms."""
    if persons is None:
        yield from ((label, frozenset(terms)) for label, terms in zip(labels, sets, strict=True) if label is not None)
        return
    of: dict[tuple[str, str], set[str]] = {}
    for label, terms, person in zip(labels, sets, persons, strict=True):
        if label is not None and person is not None:
            of.setdefault((label, person), set()).update(terms)
    yield from ((label, frozenset(terms)) for (label, _), terms in of.items())
