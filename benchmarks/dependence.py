"""What it costs to look for columns that tell masked values: a made-up table of many columns.

    python benchmarks/dependence.py [--rows 10000000] [--columns 240]

One row in five is masked. The columns beside the masked one are drawn by chance, of 2 to 1,000,000 values and of a
different one in nearly every row; one in eight is text of three words. Their content is held once for all columns of a
kind, so the table fits into memory; it is looked at as often as there are columns.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.dependence import Question, given_away
from sfumato.data.dataset import CodedColumn, Dataset
from sfumato.data.distinct import carry
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Kind, Role, Schema

VALUES = (2, 10, 50, 200, 1_000, 30_000, 1_000_000)
DISEASES = 40


def made_up(rows: int, columns: int) -> tuple[Dataset, Recoding]:
    """Return a table, and what is published of its masked column."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, DISEASES, rows).astype(np.int32)
    labels = tuple(f"disease {code}" for code in range(DISEASES))
    shown = np.where(rng.random(rows) < 0.2, DISEASES, codes).astype(np.int32)
    ill = CodedColumn(name="disease", role=Role.SENSITIVE, kind=Kind.CATEGORY, codes=codes, labels=labels)
    kinds = [pa.array(rng.integers(0, values, rows)).cast(pa.string()) for values in VALUES]
    words = pa.array([f"{one} word{two} of{three}" for one, two, three in rng.integers(0, 40, (4_000, 3)).tolist()])
    kinds.append(words.take(pa.array(rng.integers(0, 4_000, rows))))
    carried = [carry(pa.chunked_array([kind])) for kind in kinds]
    names = [f"c{number}" for number in range(columns)]
    table = pa.table({name: carried[number % len(carried)] for number, name in enumerate(names)})
    dataset = Dataset(Schema(), {"disease": ill}, table, rows, ("disease", *names))
    return dataset, Recoding(columns={"disease": Labelled(shown, (*labels, "*"))})


def main() -> None:
    """Print CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=240)
    given = parser.parse_args()
    dataset, recoding = made_up(given.rows, given.columns)
    begun, cpu = time.perf_counter(), time.process_time()
    found = given_away(dataset, recoding, [Question("disease", Fraction(1, 3), frozenset({"disease"}))])
    print(f"{given.rows:,} rows, {given.columns} columns: {time.process_time() - cpu:.1f} s of CPU time, ", end="")
    print(f"{time.perf_counter() - begun:.1f} s; {len(found)} columns tell masked values")


if __name__ == "__main__":
    main()
