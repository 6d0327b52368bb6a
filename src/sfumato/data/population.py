"""A population: all people that the rows of a table could be about, by their quasi-identifiers."""

from __future__ import annotations

from pathlib import Path

from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.files import Source, fitted, read_columns, read_table
from sfumato.data.files.release import write_part
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import Role, Schema
from sfumato.errors import DataError
from sfumato.progress import SILENT, Progress


def population_source(path: Path, schema: Schema, *, of_plan: bool = True) -> Source:
    """Return how a population is read, or raise where there is none, or it lacks a quasi-identifier.

    of_plan: whether a plan names the file, so that its path starts there.
    """
    source = Source(path, missing=schema.missing, of_plan=of_plan)
    found = read_columns(source)
    if absent := [name for name in schema.named(Role.QUASI_IDENTIFIER) if name not in found]:
        raise DataError(
            f"The population {path.name!r} was asked for every quasi-identifier, but lacks: {', '.join(absent)}.\n"
            "Give it these columns, named as in the plan."
        )
    return fitted(source, schema)


def read_population(path: Path, schema: Schema, progress: Progress = SILENT, *, of_plan: bool = True) -> Dataset:
    """Return the quasi-identifiers of a population, coded with what the plan says of these columns; or raise."""
    table = read_table(population_source(path, schema, of_plan=of_plan), progress=progress)
    known = {name: schema.columns[name] for name in schema.named(Role.QUASI_IDENTIFIER)}
    return encode(table.select(list(known)), Schema(known, missing=schema.missing))


def write_population(population: Dataset, path: Path) -> None:
    """Write a population as it is read back, one row a person."""
    write_part(publish(population, Recoding(), ()), path)
