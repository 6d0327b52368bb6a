"""Releases on disk: written, and read back.

    DIR/release/data.csv | .parquet | .xlsx | .dta | .sav    the table
    DIR/release/data.parquet/part-00000.parquet ...          the same in parts, where it was made in parts
    DIR/release/release.json                                 its public description
    DIR/release/README.md                                    the same in words, for whoever receives it

A release that is a table of a database has a folder, too, with the description in it: which table, and what its rows
add up to.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from sfumato.data.description import entries_not_ours, is_description
from sfumato.data.files import Source, digest, fitted, read_columns, read_digested
from sfumato.data.files.csv_release import Dialect, rows_at_once, write_csv
from sfumato.data.files.databases.connections import place_of
from sfumato.data.files.export import write_excel, write_stat
from sfumato.data.files.metadata import needless_in
from sfumato.data.files.source import parts_of
from sfumato.data.hierarchy import some
from sfumato.data.once import seen_once
from sfumato.data.release import FORMAT, Release, describe_columns
from sfumato.data.schema import DEFAULT_MISSING, ColumnSpec, Kind, Role, Schema
from sfumato.data.strays import Stray, StrayKind, stray_columns, stray_entries
from sfumato.disk import read_numbered, unwritable
from sfumato.errors import DataError, OutputError
from sfumato.progress import SILENT, Progress

ReleaseFormat: TypeAlias = Literal["csv", "parquet", "excel", "stata", "spss"]

DESCRIPTION = "release.json"
PARTS = "data.parquet"  # a folder of them, where a table is written in parts
README = "README.md"
RELEASE = "release"
_FILES: dict[str, str] = {
    "csv": "data.csv",
    "parquet": "data.parquet",
    "excel": "data.xlsx",
    "stata": "data.dta",
    "spss": "data.sav",
}
_DATA = tuple(_FILES.values())
_ROWS = 1 << 20  # of a Parquet file, written at once


# Writing.


def write_release(
    release: Release,
    folder: Path,
    format: ReleaseFormat | None = "csv",  # noqa: A002
    *,
    missing: str = "",
    progress: Progress = SILENT,
) -> dict[str, str]:
    """Write data and description into a folder that exists, and return the SHA-256 of each file by name.

    `missing` is what a missing cell shows. Without a format, the data are a table of a database, and only described.
    """
    if format is not None and format not in _FILES:
        raise OutputError(f"The release was to be written as {format!r}.\nThe formats are {', '.join(_FILES)}.")
    stage = progress.stage("write", total=release.total)
    try:
        files = {}
        if format is not None:
            path = folder / _FILES[format]
            for rows in _written(release, path, format, missing):
                stage.advance(rows)
            files = {path.name: digest(path)}
    except OSError as error:
        raise unwritable(folder, error) from None
    stage.done()
    return write_description(release, folder, files, missing=missing)


def write_description(release: Release, folder: Path, files: Mapping[str, str], *, missing: str) -> dict[str, str]:
    """Write what everybody may know of a release beside its files, given their digests; return all digests by name."""
    files = dict(files)
    try:
        if release.readme:
            (folder / README).write_text(release.readme + "\n", encoding="utf-8")
            files[README] = digest(folder / README)
        known = {"format": FORMAT, "rows": release.total, "columns": describe_columns(release)}
        description = {**known, **release.description, "missing": missing, "files": files}
        text = json.dumps(description, indent=1, ensure_ascii=False, default=_plain)
        (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from None
    return {**files, DESCRIPTION: digest(folder / DESCRIPTION)}


def write_part(release: Release, path: Path) -> None:
    """Write a part of a release as Parquet; its columns have the types that they have in all parts."""
    for _ in _write_parquet(release, path, numbers=False):
        pass


def _written(release: Release, path: Path, form: ReleaseFormat, missing: str) -> Iterator[int]:
    match form:
        case "csv":
            return write_csv(release, path, missing)
        case "parquet":
            return _write_parquet(release, path)
        case "excel":
            return write_excel(release, path, missing)
        case _:
            return write_stat(release, path, form, missing)


def _plain(value: Any) -> Any:
    """Return what JSON cannot write as something that it can."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Fraction | Path):
        return str(value)
    raise TypeError(f"release.json cannot hold a {type(value).__name__}")


def _write_parquet(release: Release, path: Path, *, numbers: bool = True) -> Iterator[int]:
    writer = None
    try:
        for part in release.batches(rows_at_once(release, _ROWS), numbers=numbers):
            if writer is None:
                writer = pa_parquet.ParquetWriter(path, part.schema, compression="zstd")
            writer.write_table(part)
            yield part.num_rows
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise DataError(
            f"The release has a column that Parquet cannot hold, among {some(set(map(str, part.schema.types)))}.\n"
            'Convert it to text, or write [release] format = "csv".'
        ) from None
    finally:
        if writer is not None:
            writer.close()


# Reading back.


def read_release(
    path: Path | Source,
    schema: Schema | None = None,
    *,
    like: Source | None = None,
    stored: Source | None = None,
    once: bool = False,
    progress: Progress = SILENT,
) -> Release:
    """Return a release from a run's folder, from the release folder in it, or from a data file or table of any tool.

    `schema` says which column plays which role; a folder's own description can do that as well. Files of other tools
    are read as `like`. A folder whose data are in a database takes them from `stored`. With `once`, equal rows are
    held once where nothing but single values is published.
    """
    if isinstance(path, Source):
        assert schema is not None, "tables of databases have no description"
        return _read_as_release(replace(path, missing=schema.missing), schema, {}, progress)
    folder = release_folder(path)
    if folder is None:
        _refuse_without_description(path)
        if schema is None:
            raise DataError(
                f"{path} was asked for as a release, but has no {DESCRIPTION} that says what its columns are.\n"
                "Name the folder that `sfumato anonymize` wrote."
            )
        source = Source(path, missing=schema.missing, header_row=1)  # lines above a header are published, too
        if like is not None:
            row = like.header_row if like.file is not None and like.file.resolve() == path.resolve() else None
            like = replace(like, header_row=row or 1)
            source = _readable_by(schema, replace(like, path=path, format=None, missing=schema.missing, of_plan=False))
        return _read_as_release(source, schema, {}, progress)
    description = read_description(folder)
    schema = schema_for(description, schema)
    source = _data_of(folder, description, stored)
    source = Dialect.of(description).read(replace(source, missing=schema.missing))
    release = _read_as_release(source, schema, description, progress, once=once)
    digests = {part.name: digest(part) for part in parts_of(source.path)} if source.path.is_dir() else {}
    return replace(release, strays=(*release.strays, *strays_in(folder, description, digests, schema, release)))


def strays_in(
    folder: Path,
    description: Mapping[str, Any],
    digests: Mapping[str, str],
    schema: Schema,
    release: Release,
    *,
    columns: Collection[str] | None = None,
    rows: int | None = None,
) -> tuple[Stray, ...]:
    """Return what does not belong to a release: files, given the digest of each part of its table, and entries.

    `columns` and `rows` say what is published, where the release here does not have all of it.
    """
    rows = release.total if rows is None else rows
    others = sorted({path.name for path in folder.iterdir()} - {*_DATA, DESCRIPTION})
    found = [stray for name in others if (stray := _stray_file(folder / name, description)) is not None]
    if digests:
        told = {name: sha256 for name, sha256 in description.get("files", {}).items() if name.startswith(f"{PARTS}/")}
        inside = {f"{PARTS}/{path.name}" for path in (folder / PARTS).iterdir()}
        seen = {f"{PARTS}/{name}": sha256 for name, sha256 in digests.items()}
        found += [Stray(StrayKind.FILE, name) for name in sorted(inside - told.keys())]
        found += [Stray(StrayKind.CHANGED, name, rows) for name in sorted(told) if seen.get(name) != told[name]]
    files = {README, *_DATA, *(f"{PARTS}/{name}" for name in digests)}
    return (
        *found,
        *stray_entries(
            StrayKind.ENTRIES,
            DESCRIPTION,
            entries_not_ours(description, schema, release, columns or release.order, files),
        ),
    )


def _stray_file(path: Path, description: Mapping[str, Any]) -> Stray | None:
    """Return why a file beside the table does not belong there, or None where release.json names it so."""
    sha256 = description.get("files", {}).get(path.name)
    if path.name != README or sha256 is None or not path.is_file():
        return Stray(StrayKind.FILE, path.name)
    return None if digest(path) == sha256 else Stray(StrayKind.CHANGED, path.name)


def as_release(table: pa.Table, folder: Path, schema: Schema) -> Release:
    """Return a table of a database as the release that a folder describes."""
    description = read_description(folder)
    return Release.from_table(table, schema_for(description, schema), description)


def _data_of(folder: Path, description: Mapping[str, Any], stored: Source | None) -> Source:
    """Return where the table of a release is: in its folder, or in a database."""
    found = [folder / name for name in _DATA if (folder / name).exists()]
    if len(found) == 1:
        return Source(found[0])
    if "table" in description and not found:
        about = description["table"]
        if stored is None and {"database", "name"} <= set(about):
            database = str(about["database"])
            stored = Source(place_of(database, folder), database=database, table=str(about["name"]))
        if stored is None:
            raise DataError(
                f"{folder} describes a table of a database, but nothing says which database.\n"
                "Give the plan that published it, whose [release] names the database, or put the table into the folder "
                "as data.csv."
            )
        return stored
    raise DataError(
        f"{folder} holds {len(found)} data files of a release.\nOne of {' and '.join(_DATA)} belongs there."
    )


def _read_as_release(
    source: Source, schema: Schema, description: Mapping[str, Any], progress: Progress, *, once: bool = False
) -> Release:
    """Return a table as a release; identifiers are not even loaded, but it is known that they are there."""
    dropped = [name for name in read_columns(source) if name in schema.named(Role.IDENTIFIER)]
    source = replace(fitted(source, schema), as_codes=once)
    box, sha256 = _boxed(read_digested(source, drop=dropped, progress=progress))
    release = seen_once(box.pop(), schema, description) if once else Release.from_table(box.pop(), schema, description)
    strays = stray_columns(StrayKind.IDENTIFIER, dropped, release.total)
    strays += stray_entries(StrayKind.METADATA, source.shown, needless_in(source, schema.columns))
    known = description.get("table", {}) if source.database is not None else description.get("files", {})
    name = "sha256" if source.database is not None else source.path.name
    if known.get(name, sha256) != sha256:
        strays += (Stray(StrayKind.CHANGED, source.shown, release.total),)
    return replace(release, strays=(*strays, *release.strays))


def _boxed(read: tuple[pa.Table, str]) -> tuple[list[pa.Table], str]:
    """Return a table in a box, so that whoever takes it out holds the last reference to it."""
    return [read[0]], read[1]


def _readable_by(schema: Schema, source: Source) -> Source:
    """Return how to read a file of another tool: as the plan's source is, unless that shows fewer columns."""

    def shown(way: Source) -> int:
        try:
            return len(set(schema.columns) & set(read_columns(way)))
        except DataError:  # whoever reads it says so
            return 0

    return max(source, replace(source, separator=None, encoding=None), key=shown)


def _refuse_without_description(path: Path) -> None:
    """Raise where a folder holds the table of a release and nothing that describes it."""
    for folder in (path / RELEASE, path):
        found = [folder / name for name in _DATA if (folder / name).exists()]
        if found and not (folder == path and found[0].suffix == ".parquet" and found[0].is_file()):  # a part of a table
            raise DataError(
                f"{folder} holds {found[0].name}, but no {DESCRIPTION}, which says what a release is.\n"
                f"Put it back, or name {found[0]} itself: it is looked at as a table of any tool then."
            )


def release_folder(path: Path) -> Path | None:
    """Return the folder of a release that sfumato wrote, given by one of its names, or None."""
    for folder in (path, path / RELEASE, path.parent if path.name in _DATA else path):
        if (folder / DESCRIPTION).is_file():
            return folder
    return None


def read_description(folder: Path) -> dict[str, Any]:
    """Return what the description in a release folder says, or raise when it is none."""
    path = folder / DESCRIPTION
    refusal = "is no description of a release.\nWrite the release again with this version of sfumato."
    description = read_numbered(path, FORMAT, refusal)
    try:
        Dialect.of(description)
        known = is_description(description)
    except (ValueError, TypeError):
        known = False
    if not known:
        raise DataError(f"{path} {refusal}")
    return description


def schema_for(description: Mapping[str, Any], schema: Schema | None) -> Schema:
    """Return the schema for reading a release: the plan's roles, and what the release says about its cells."""
    marker = str(description.get("missing", ""))
    columns: dict[str, ColumnSpec] = dict(schema.columns) if schema is not None else {}
    for name, about in description["columns"].items():
        spec = columns.get(name) or (schema.spec(name) if schema is not None else None)
        if spec is None:
            if schema is not None:
                continue  # nobody judged it: whoever takes the table will say so
            spec = ColumnSpec(name=name, role=Role(about["role"]))
        kind = Kind(about["kind"]) if "kind" in about else None
        if kind is Kind.SET:  # also what used to be single values: a randomized column shows sets
            spec = replace(spec, kind=kind, separator=str(about.get("separator", spec.separator)))
        elif spec.kind is None:
            spec = replace(spec, kind=kind)
        if spec.role is Role.SENSITIVE_QUASI_IDENTIFIER and spec.domain is None and "domain" in about:
            spec = replace(spec, domain=tuple(map(str, about["domain"])))
        columns[name] = spec
    others = schema.missing if schema is not None else DEFAULT_MISSING
    return Schema(
        columns=columns,
        rest=schema.rest if schema is not None else None,
        missing=(marker, *(other for other in others if other != marker)),
        person=schema.person if schema is not None else None,
    )
