"""Where a table lies and what it is: paths, formats by their name, parts of a folder, names of columns, digests."""

from __future__ import annotations

import hashlib
import importlib
import os
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sfumato.data.hierarchy import some
from sfumato.data.names import repeated
from sfumato.errors import DataError, did_you_mean
from sfumato.progress import Stage

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

    from sfumato.data.files.databases.base import Session

Format: TypeAlias = Literal[
    "csv", "tsv", "transactions", "parquet", "arrow", "excel", "stata", "spss", "sas", "database"
]

_FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "transactions",
    ".dat": "transactions",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "excel"),
    ".dta": "stata",
    **dict.fromkeys((".sav", ".zsav", ".por"), "spss"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "sas"),
}
FORMATS = tuple(dict.fromkeys(_FORMATS.values()))
DATABASE = "database:"  # before the name of a connection, where paths are expected
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
COMMA, POINT = ",", "."
DAY_FIRST, MONTH_FIRST, ISO = "day-month-year", "month-day-year", "year-month-day"
DECIMALS = (POINT, COMMA)
ORDERS = (DAY_FIRST, MONTH_FIRST, ISO)
TEXT_FORMATS = ("csv", "tsv", "transactions")
# Keys of [source] that say how a table is written, and the formats that can be written in several ways.
_HOW = {
    "separator": ("csv", "tsv", "transactions"),
    "encoding": ("csv", "tsv", "transactions", "stata", "spss", "sas"),
    **dict.fromkeys(("header", "header_row", "decimal", "dates"), ("csv", "tsv", "excel")),
    "sheet": ("excel",),
    "labels": ("stata", "spss", "sas"),
}
_DIGESTED = 1 << 20  # bytes digested at once


@dataclass(frozen=True)
class Source:
    """Where a table is and how it is written; `separator` None means: see for yourself."""

    path: Path
    separator: str | None = None  # between cells of a csv file, between items of a transaction
    missing: tuple[str, ...] = ("",)  # cells that are missing; kept here for whoever encodes the table
    format: Format | None = None  # None: by the name of the file
    sets: frozenset[str] = frozenset()  # columns whose cells are cut into members, hardly any cell twice
    encoding: str | None = None  # of text; None here and below: found out
    header: bool | None = None  # whether the first line of a csv file names the columns
    header_row: int | None = None  # the line, from 1 on, that names the columns; those above are left out
    decimal: str | None = None  # mark of decimals in numbers
    dates: str | None = None  # order of day, month and year
    sheet: str | None = None  # of a workbook; None: the only one
    labels: bool = True  # whether codes of Stata, SPSS and SAS show their value labels
    catalog: Path | None = None  # of SAS, with the value labels of a data set
    as_codes: bool = False  # whether columns of typed files become dictionaries, too, where their values repeat
    as_text: frozenset[str] = frozenset()  # columns whose cells stay as they are, whatever they look like
    verbatim: bool = False  # whether those of all columns do
    database: str | None = None  # the name of a connection, or of a file; `path` says where that is, or who it is
    table: str | None = None  # of the database
    query: str | None = None  # in its place
    of_plan: bool = field(default=False, compare=False)  # whether a plan names it, so that its path starts there
    session: Session | None = field(default=None, compare=False, repr=False)  # an open one, where there is one

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "catalog", None if self.catalog is None else Path(self.catalog))

    @property
    def in_catalog(self) -> bool:
        """Whether it is a table of the catalog of a cluster, which only an engine there can read."""
        return self.database is None and self.table is not None

    @property
    def file(self) -> Path | None:
        """The file or folder that holds the table; None where a server does."""
        return None if self.in_catalog or str(self.path) == f"{DATABASE}{self.database}" else self.path

    @property
    def shown(self) -> str:
        """What a reader calls it."""
        if self.in_catalog:
            return f"table {self.table} of the catalog"
        if self.database is None:
            return self.path.name
        return f"{self.path.name}, {f'table {self.table}' if self.table else 'a query'}"

    @property
    def as_spelled(self) -> Source:
        """The same with a header, and cells that nobody takes for numbers or dates of another spelling."""
        return replace(self, header=True, verbatim=True)

    def keeps(self, name: str) -> bool:
        """Whether the cells of a column stay as they are."""
        return self.verbatim or name in self.as_text or name in self.sets


@dataclass(frozen=True)
class Found:
    """Something of how a file is written, and how it is known."""

    key: str  # of [source]
    value: str | bool | int
    reason: str
    told: bool = True  # whether it goes for every column; else the first records do not say, or disagree


@dataclass(frozen=True)
class Reading:
    """What is asked of whoever reads a source."""

    source: Source
    form: Format
    stage: Stage
    drop: Collection[str] = frozenset()  # columns that are not even loaded
    limit: int | None = None  # rows that are enough; a few more may come
    digest: Hash | None = None  # takes all bytes of the file on their way, where a reader passes by all of them

    @property
    def path(self) -> Path:
        """Where the table lies."""
        return self.source.path

    def is_enough(self, rows: int) -> bool:
        """Whether so many rows are all that is asked for."""
        return self.limit is not None and rows >= self.limit


def format_of(source: Source) -> Format:
    """Return how a file is written, by its name, once it is sure that there is something to read."""
    if source.database is not None:
        return "database"
    if source.in_catalog:
        raise DataError(
            f"The source is {source.shown}, which is not of this machine.\n"
            "Use --engine spark, whose session has the catalog, or name a file (path) or a database."
        )
    path = source.path
    _check_exists(source)
    if path.is_dir():
        if source.format not in (None, "parquet"):
            raise DataError(f"{path} was asked for as a {source.format} file, but is a folder.\nName the file in it.")
        return "parquet"
    if not path.is_file():
        raise DataError(f"{path} was asked for as a table, but is no ordinary file.\nSave the data to a file first.")
    if source.format is not None:
        if source.format not in _FORMATS.values():
            raise DataError(
                f"{path} was asked for in an unknown format, {source.format!r}."
                + did_you_mean(str(source.format), set(_FORMATS.values()))
            )
        return source.format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    form = _FORMATS.get(suffixes[-2] if packed and len(suffixes) > 1 else suffixes[-1]) if suffixes else None
    if form is None or (packed and form not in TEXT_FORMATS):
        shown = "".join(suffixes[-2:] if packed else suffixes[-1:])
        raise DataError(
            f"{path} was asked for as a table, but "
            + (f"files whose name ends in {shown!r} are not known here.\n" if shown else "its name has no ending.\n")
            + "Known: .csv .tsv .txt .dat (also with .gz or .zst), .parquet (or a folder of them), .arrow .feather, "
            ".xlsx .xls .xlsb .ods, .dta, .sav .zsav .por, .sas7bdat .xpt."
        )
    return form


def ignored_keys(source: Source) -> list[str]:
    """Return the keys that were given for a source, but mean nothing in its format."""
    form, usual = format_of(source), Source(source.path)
    return [key for key, forms in _HOW.items() if form not in forms and getattr(source, key) != getattr(usual, key)]


def _check_exists(source: Source) -> None:
    path = source.path
    try:
        path.stat()
    except FileNotFoundError:
        raise DataError(
            f"{path} was asked for as a table, but there is no such file.\nCorrect the path{_starting_at(source)}."
        ) from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def _starting_at(source: Source) -> str:
    """Return where the path of a source starts, to go on a sentence."""
    if source.of_plan:
        return ", relative to the plan"
    return "" if source.path.is_absolute() else ", relative to the folder that you are in"


def unreadable(path: Path, error: Exception) -> DataError:
    """Return the error for a path that cannot be read, with the system's reason."""
    number = error.errno if isinstance(error, OSError) else None
    reason = os.strerror(number) if number is not None else "the system refuses it"
    return DataError(f"{path} was asked for as a table, but cannot be read: {reason}.\nCheck its path and permissions.")


def without_rows(path: Path, what: str = "columns") -> DataError:
    """Return the error for a table that has names of columns and nothing below them."""
    return DataError(f"{path} has {what} but no rows.\nNothing can be published from it.")


def needed(module: str, path: Path) -> Any:
    """Return a library that not everybody has, or raise with how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        library = module.partition(".")[0].replace("_", "-")  # the name that pip knows
        raise DataError(
            f"{path} needs a library that is not installed, {library}.\nInstall it: pip install {library}."
        ) from None
    except (ImportError, OSError) as error:
        raise DataError(
            f"{path} needs the library {module}, which is installed but does not start: {error}.\n"
            "Install what it lacks: ODBC, for one, takes a driver manager of the system (unixodbc)."
        ) from None


def parts_of(path: Path) -> list[Path]:
    """Return the parquet files that make up a table, in the order of their names."""
    if not path.is_dir():
        return [path]
    try:
        inside = sorted(path.iterdir())
    except OSError as error:
        raise unreadable(path, error) from None
    parts = [part for part in inside if part.suffix.lower() == ".parquet" and part.name[0] not in "._"]
    if not parts:
        nested = any(part.is_dir() for part in inside)
        raise DataError(
            f"{path} is a folder, but there are no .parquet files in it.\n"
            + ("Folders inside are not searched: name the one with the parts." if nested else "Name a file instead.")
        )
    return parts


def checked_names(names: Sequence[str], path: Path) -> list[str]:
    """Return the names of columns if each can be told from the others."""
    if empty := [position for position, name in enumerate(names, start=1) if not name.strip()]:
        raise DataError(
            f"{path} has columns without a name: {len(empty)} of {len(names)}, the first at position {empty[0]}.\n"
            "Name every column in the header."
        )
    if twice := repeated(names):
        raise DataError(f"{path} has columns with the same name: {some(twice)}.\nGive each column a name of its own.")
    return list(names)


def kept_names(names: Sequence[str], drop: Collection[str], path: Path) -> list[str]:
    """Return the names of the columns that are not dropped; there must be one."""
    kept = [name for name in names if name not in drop]
    if not kept:
        raise DataError(
            f"{path} has no column left: all {len(names)} are to be dropped as identifiers.\n"
            "Give at least one column another role."
        )
    return kept


def digest(path: Path, stop: threading.Event | None = None) -> str:
    """Return the SHA-256 of a file as hexadecimal text; of a folder, that of its parts' names and contents in order.

    Nobody takes what it returns once `stop` was set.
    """
    _check_exists(Source(path))
    try:
        if path.is_dir():
            whole = hashlib.sha256()
            for part in parts_of(path):
                whole.update(os.fsencode(part.name) + b"\0" + bytes.fromhex(digest(part, stop)))
            return whole.hexdigest()
        found = hashlib.sha256()
        with path.open("rb", buffering=0) as file:
            while (block := file.read(_DIGESTED)) and not (stop is not None and stop.is_set()):
                found.update(block)
        return found.hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None


def state_of(path: Path) -> list[tuple[int, ...]]:
    """Return what changes when somebody writes a file, or a part of a folder."""
    states = [part.stat() for part in parts_of(path)]
    return [(state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) for state in states]
