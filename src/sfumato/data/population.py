"""A population: all people that the rows of a table could be about, by their quasi-identifiers."""

from __future__ import annotations

from pathlib import Path

from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.files.release import write_part
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import Role, Schema
from sfumato.errors import DataError
from sfumato.progress import SILENT, Progress


def read_population(path: Path, schema: Schema, progress: Progress = SILENT) -> Dataset:
    """Return the quasi-identifiers of a population, coded with what the plan says of these columns; or raise."""
    names = schema.named(Role.QUASI_IDENTIFIER)
    table = read_table(Source(path, missing=schema.missing, of_plan=True), progress=progress)
    absent = [name for name in names if name not in table.column_names]
    if absent:
        raise DataError(
            f"The population {path.name!r} was asked for every quasi-identifier, but lacks: {', '.join(absent)}.\n"
            "Give it these columns, named as in the plan."
        )
    return encode(
        table.select(list(names)), Schema({name: schema.columns[name] for name in names}, missing=schema.missing)
    )


def write_population(population: Dataset, path: Path) -> None:
    """Write a population as it is read back, one row a person."""
    write_part(publish(population, Recoding(), ()), path)
