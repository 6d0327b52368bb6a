"""From a source to codes, in parts: tallies of pieces add up to one codebook, by which each piece is coded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sfumato.data.codebook import Codebook
from sfumato.data.dataset import CodedColumn, Dataset, starts_of
from sfumato.data.encoding import Codebooks, add_tallies
from sfumato.data.files.source import state_of
from sfumato.data.schema import Schema
from sfumato.engines import tasks
from sfumato.engines.regions import Cluster
from sfumato.engines.tasks import Part, Splits
from sfumato.engines.workroom import keep
from sfumato.errors import DataError

ROWS_A_PART = 1 << 20
PARTS_AT_MOST = 256  # of a table; larger tables have larger parts

Choose = Callable[[Dataset, Codebooks, int], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Coded:
    """A table in codes, in parts of a work folder."""

    template: Dataset  # columns without their rows, which know how common each value is
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return sum(part.rows for part in self.parts)


def code(
    cluster: Cluster, room: Path, splits: Splits, schema: Schema, rows_a_part: int | None, choose: Choose
) -> Coded:
    """Write a table in codes; `choose` names columns whose distinct rows are counted, or refuses the table."""
    before = state_of(splits.source.path)
    tallied = cluster.each(partial(tasks.tally_split, splits, schema), splits.numbers, "count values")
    rows = [each[1] for each in tallied]
    books = Codebooks.of(add_tallies(each[0] for each in tallied), schema)
    template = books.encode(tallied[0][2].empty_table())
    keep(room / "books", books)
    keep(room / "template", template)
    columns = choose(template, books, sum(rows))
    firsts = starts_of(rows).tolist()
    size = rows_a_part or max(ROWS_A_PART, -(-sum(rows) // PARTS_AT_MOST))
    work = partial(tasks.code_split, room, splits, columns, size)
    found = cluster.each(work, list(zip(splits.numbers, firsts, strict=False)), "code rows")
    if state_of(splits.source.path) != before:
        raise DataError(
            f"{splits.source.path} changed while it was read, so nobody knows what was read.\n"
            "Start again when nobody writes it."
        )
    counts = {name: book.counts for name, book in books.by_column.items() if isinstance(book, Codebook)}
    counted = {
        name: replace(column, counts=counts[name]) if isinstance(column, CodedColumn) else column
        for name, column in template.columns.items()
    }
    return Coded(replace(template, columns=counted), tuple(part for each in found for part in each))
