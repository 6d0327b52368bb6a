"""What terms are worth to those who use a release: a table of a term and a number above 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

from sfumato.data.files import Source, read_table
from sfumato.data.schema import ColumnSpec
from sfumato.errors import DataError

MOST = 1_000_000  # what a term may be worth, and as little as one part of it


def read_worth(path: Path) -> tuple[tuple[str, Fraction], ...]:
    r"""Read a table of two columns, term and worth; a term that is not in it is worth 1.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "worth.csv"
    ...     _ = path.write_text("term,worth\nrash,5\ncough,0.5\n")
    ...     read_worth(path)
    (('cough', Fraction(1, 2)), ('rash', Fraction(5, 1)))
    """
    table = read_table(Source(path=path, of_plan=True).as_spelled)
    if table.num_columns != 2:
        raise DataError(
            f"{path.name} was to say what terms are worth, but has {table.num_columns} columns.\n"
            "It needs two: the terms, and what each is worth."
        )
    terms = [str(term or "").strip() for term in table.column(0).to_pylist()]
    try:
        worth = [Fraction(str(each).strip()) for each in table.column(1).to_pylist()]
    except (ValueError, ZeroDivisionError):
        worth = []
    if not worth or len(set(terms)) < len(terms) or not all(Fraction(1, MOST) <= each <= MOST for each in worth):
        raise DataError(
            f"{path.name} was to say what terms are worth, but has no line, a term twice, or something else than a "
            f"number from one millionth to {MOST:,}.\nWrite each term once, with a number such as 2 or 0.5."
        )
    return tuple(sorted(zip(terms, worth, strict=True)))


def worth_of(specs: Iterable[ColumnSpec | None]) -> Mapping[str, Fraction] | None:
    """Return what terms of some columns are worth, as they are called alone and joined; None where no plan says it."""
    given = [(spec.name, term, worth) for spec in specs if spec is not None for term, worth in spec.worth or ()]
    if not given:
        return None
    alone = {term: worth for _, term, worth in given}
    return {**alone, **{f"{name}={term}": worth for name, term, worth in given}}
