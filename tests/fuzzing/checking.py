"""One case, from its number to what is wrong with it."""

from __future__ import annotations

import csv
import random
import tempfile
import traceback
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pyarrow as pa
from pyarrow.csv import write_csv
from pyarrow.parquet import read_table as read_parquet

import sfumato as sf
from fuzzing.covering import covers, value_of
from fuzzing.definitions import as_list, judge
from fuzzing.plans import KNOWLEDGE
from fuzzing.searching import existing
from sfumato.anonymizers.mondrian import growth
from sfumato.anonymizers.term_suppression import search as term_search
from sfumato.api import Published
from sfumato.data import keystream
from sfumato.errors import InputError, Unsatisfiable

# Searches that are there for comparison promise no release where there is one.
COMPARED = {"adaptive", "dfs"}


class DefectError(AssertionError):
    """What must not be."""


@contextmanager
def small_parts():
    """Let several threads share out even a small table."""
    with (
        mock.patch.object(growth, "LARGE", 8),
        mock.patch.object(keystream, "ROWS", 16),
        mock.patch.object(term_search, "_ROWS_AT_A_TIME", 4),
    ):
        yield


def check(case, tried: Counter):
    """Raise DefectError where a case shows a defect; count what was tried."""
    table = case.table()
    tried["cases"] += 1
    for family in case.families:
        tried[f"cases with {family}"] += 1
    with tempfile.TemporaryDirectory() as folder, small_parts():
        (Path(folder) / KNOWLEDGE).write_text(case.public_table(), encoding="utf-8")
        try:
            plan = sf.Plan.from_dict(case.document(), base=Path(folder))
            run = sf.anonymize(table, plan, seed=5, threads=1)
        except Unsatisfiable as error:
            check_refusal(case, error)
            tried["refused, and rightly so"] += 1
            return
        except InputError as error:
            raise DefectError(f"a plan that is in order is refused: {error}") from error
        except Exception as error:
            raise DefectError(f"an error that is none of sfumato's own: {traceback.format_exc()}") from error
        tried["released"] += 1
        if case.n > 4:
            again = sf.anonymize(table, plan, seed=5, threads=2)
            tried["run with two threads as well"] += 1
            if not again.release.data.equals(run.release.data):
                raise DefectError("two threads publish something else than one")
        if case.in_files is not None:
            tried["run from file to file as well"] += 1
            check_files(case, Path(folder), run.release.data)
        shown = published(case, run.release.data)
        description = run.release.description
        check_truth(case, shown, description)
        for place, required in enumerate(case.require):
            held = judge(case, shown, required, description)
            tried[f"judged {required['model']}"] += 1
            if held is False:
                raise DefectError(f"an unsafe release: {required} does not hold (requirement {place + 1})")
        plant(case, plan, table, shown, description, tried)


def check_files(case, folder, table):
    """Raise unless a run from file to file publishes what a run in memory does, label for label."""
    source = pa.table({column.name: [as_text(cell) for cell in column.cells] for column in case.columns})
    write_csv(source, folder / "people.csv")
    document = case.document() | {"source": {"path": "people.csv"}}
    document["release"] = {"shuffle": case.shuffle, "format": case.in_files}
    sf.run(sf.Plan.from_dict(document, base=folder), folder / "run", seed=5, threads=1)
    read = read_csv if case.in_files == "csv" else read_parquet
    written = read(folder / "run" / "release" / f"data.{case.in_files}")
    for name in table.column_names:
        shown, stored = (
            [in_common(case.column(name), cell) for cell in cells.to_pylist()]
            for cells in (table.column(name), written.column(name))
        )
        if shown != stored:
            raise DefectError(f"{name} is {shown} in memory and {stored} in the file")


def in_common(column, cell):
    """Return a cell so that it is the same in memory and in any file."""
    value = value_of(column, as_text(cell) if isinstance(cell, list) else cell)
    return "" if value is None else value


def read_csv(path):
    """Return a CSV file as a table of text, whatever its cells look like."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(header)})


def as_text(cell):
    """Return a cell as CSV has it."""
    return "" if cell is None else "|".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def published(case, table):
    """Return the cells of a release by column, in the order of the original rows."""
    shown = {name: table.column(name).to_pylist() for name in table.column_names}
    if set(shown) != {column.name for column in case.columns}:
        raise DefectError(f"columns are published that differ from those asked for: {sorted(shown)}")
    if table.num_rows != case.n:
        raise DefectError(f"{table.num_rows} of {case.n} rows are published")
    order = range(case.n)
    if case.shuffle:
        order = sorted(order, key=lambda row: int(shown["row"][row]))
    return {name: [cells[row] for row in order] for name, cells in shown.items()}


def masked(case):
    """Return the columns that may be published as labels of their hierarchies."""
    return {name for each in case.require if "diversity" in each["model"] and ("alpha" in each or "alpha_sa" in each)
            for name in as_list(each["sensitive"])}  # fmt: skip


def check_truth(case, shown, description):
    """Raise unless what is published may stand for the original, cell by cell."""
    for column in case.columns:
        cells = shown[column.name]
        for row, (original, cell) in enumerate(zip(column.cells, cells, strict=True)):
            if column.role == "quasi-identifier" or column.name in masked(case):
                right = covers(column, cell, original)
            elif column.role in ("quasi-sensitive", "items"):
                right = set(as_cells(cell)) <= generalized(column, original)
            elif column.role == "sensitive-quasi-identifier":
                right = drawn_well(description["columns"][column.name], as_cells(cell), original)
            else:
                right = value_of(column, cell) == value_of(column, original)
            if not right:
                raise DefectError(f"{column.name} of row {row} is {original!r} and published as {cell!r}")


def as_cells(cell):
    """Return a cell as a list."""
    return [] if cell is None else cell if isinstance(cell, list) else [cell]


def generalized(column, original):
    """Return all that a set may be published as: its members, and of items the groups above them."""
    values = as_cells(original)
    above = {group for value in values for group in (column.paths or {}).get(value, ())}
    return {*values, *above, *("*" for _ in values if column.hierarchy is not None)}


def drawn_well(stated, cell, original):
    """Whether a randomized cell shows eta values of the domain, in its order, with the true one where p is 1.

    Or, where groups are stated, whether it shows the group of the true value.
    """
    if "groups" in stated:
        return original in cell and list(cell) in stated["groups"]
    places = [stated["domain"].index(value) for value in cell]
    true = stated["p"] < 1 or original in cell
    return len(cell) == stated.get("eta", 1) and places == sorted(set(places)) and true


def check_refusal(case, error):
    """Raise when a release exists although none was found, or when the own release was refused."""
    if "The audit rejected" in str(error):
        raise DefectError(f"the own release is refused: {error}")
    if any(option.get("search") in COMPARED for option in case.options.values()):
        return
    if "nothing left to judge" in str(error):
        return  # what is safe keeps nothing of what a requirement is about, and searches do not look for what keeps it
    found = existing(case)
    if found is not None:
        raise DefectError(f"a release exists, for example {found}, but is refused: {error}")


def plant(case, plan, table, shown, description, tried):
    """Spoil a release in several ways: every audit must say what the definition says."""
    rng = random.Random(f"{case.number} spoiled")
    variants = [spoiled(rng, case, shown) for _ in range(3)]
    if "cells" not in case.families:
        variants.append({column.name: list(column.cells) for column in case.columns})
    for variant in variants:
        frame = pa.table({name: pa.array(as_arrow(variant[name])) for name in table.column_names})
        verdicts = sf.audit(Published(lambda frame=frame: frame, description), plan, original=table)
        for required, verdict in zip(case.require, verdicts, strict=True):
            if drawn := case.draws(required):  # every cell shows what was drawn, or none can be trusted
                held = all(variant[name] == shown[name] for name in drawn)
                if held and any(variant[name] != shown[name] for name in variant):
                    held = None  # by other columns, rows may now be taken for others, whose values they do not show
            else:
                held = judge(case, variant, required, description)
            if held is not None and held != (verdict.satisfied or bool(verdict.nothing_to_judge)):
                raise DefectError(
                    f"{required} {'holds' if held else 'fails'}, and the audit says: {verdict}\n{variant}"
                )
            if held is False:
                tried[f"violations found, {required['model']}"] += 1


def as_arrow(cells):
    """Return cells as Arrow takes them: text, or lists of text."""
    if any(isinstance(cell, list) for cell in cells):
        return [None if cell is None else list(map(str, as_cells(cell))) for cell in cells]
    return pa.array([None if cell is None else str(cell) for cell in cells], type=pa.string())


def spoiled(rng, case, shown):
    """Return a release with a few cells changed: by original values, by those of other rows, by made-up classes."""
    variant = {name: list(cells) for name, cells in shown.items()}
    for _ in range(rng.choice([1, 1, 3])):
        column = rng.choice(case.columns)
        row, other = rng.randrange(case.n), rng.randrange(case.n)
        cells = variant[column.name]
        if column.role == "quasi-identifier":
            cells[row] = rng.choice([cells[other], "elsewhere", column.cells[row]])
        elif column.name in masked(case):
            cells[row] = rng.choice([cells[other], column.cells[row], column.cells[other]])
        elif column.role == "sensitive-quasi-identifier":
            cells[row] = cells[row][1:] if isinstance(cells[row], list) and len(cells[row]) > 1 else cells[row]
        elif column.role in ("quasi-sensitive", "items"):
            cells[row] = rng.choice([cells[other], column.cells[row], column.cells[other]])
        elif column.role == "sensitive":
            cells[row] = rng.choice([cells[other], column.cells[other]])
    return variant
