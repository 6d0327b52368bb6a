"""What round bounds of ranges cost, and how many people's exact figures stay out of print.

    python benchmarks/bounds.py [DATA] [--out FOLDER]

The same classes are asked of Mondrian with `bounds = "exact"` (smallest and largest value of a class) and with
`bounds = "grid"`. Incomes are made up; with DATA, a folder with `adult/adult_train.csv.gz`, Adult follows. No column
has a hierarchy. Loss is the normalized certainty penalty of all quasi-identifiers; in print are people who find their
own figure in the release, and alone those of them whose figure nobody else has.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from figures import Figures
from sfumato.data.files import Source, read_table

ADULT = ("age", "fnlwgt", "education-num", "sex", "race", "hours-per-week", "capital-gain")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA")
    parser.add_argument("--out", type=Path, help="folder for the table")
    options = parser.parse_args()
    tables = {"incomes": _incomes(3_000), "skewed incomes": _incomes(30_000, skewed=True)}
    if options.data is not None:
        source = read_table(Source(path=options.data / "adult" / "adult_train.csv.gz"))
        tables |= {"Adult, age": source.select(ADULT[:1]), "Adult": source.select(ADULT)}
    shown = Figures(options.out).table("Bounds of ranges", "table", "rows", "k", "bounds", "loss", "in print", "alone")
    for title, table in tables.items():
        for k in (5, 20):
            for bounds in ("exact", "grid"):
                shown.row(title, table.num_rows, k, bounds, *_measured(table, k, bounds))


def _incomes(n_rows: int, *, skewed: bool = False) -> pa.Table:
    rng = np.random.default_rng(5)
    pay = np.exp(rng.normal(10.5, 0.8, n_rows)).astype(int) if skewed else rng.integers(18_000, 250_000, n_rows)
    return pa.table({"income": pay, "sex": rng.choice(["f", "m"], n_rows)})


def _measured(table: pa.Table, k: int, bounds: str) -> list[str]:
    plan = sf.Plan.from_dict(
        {
            "columns": {name: {"role": "quasi-identifier"} for name in table.column_names},
            "require": [{"model": "k-anonymity", "k": k, "anonymizer": "mondrian"}],
            "anonymizers": {"mondrian": {"bounds": bounds}},
        }
    )
    run = sf.anonymize(table, plan, seed=1)
    (loss,) = [found.value for found in run.measurements if found.name == "ncp"]
    (found,) = [exposure.after for exposure in run.exposures if exposure.attack == "printed-figures"]
    in_print = max(found.facts["in_print"].values())
    return [f"{loss:.4f}", f"{in_print / found.people:.1%}", f"{found.exposed / found.people:.1%}"]


if __name__ == "__main__":
    main()
