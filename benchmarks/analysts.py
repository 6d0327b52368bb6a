"""What an analyst gets from a generalized release of Adult, beside the truth.

    python benchmarks/analysts.py DATA [--numbers] [--out FOLDER]

DATA is a folder with `adult/adult_train.csv.gz`. Age, hours, education (years) and capital gain are quasi-identifiers
without hierarchies, beside sex and race; income is sensitive. Estimates are those of `sf.load`: means with bounds that
hold for sure, counts of age by sex, and a regression of the share above 50K, each beside the same from the original.
The release shows ranges, or the mean of each class (`[release] shows`). With `--numbers`, the four columns of numbers
are the only quasi-identifiers, and `mondrian` stands beside `microaggregation`.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from figures import Figures
from sfumato.data.files import Source, read_table

NUMBERS = ("age", "hours-per-week", "education-num", "capital-gain")
BINS = (17, 30, 45, 60, 91)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--numbers", action="store_true", help="compare mondrian and microaggregation")
    parser.add_argument("--out", type=Path, help="folder for the tables")
    options = parser.parse_args()
    table = read_table(Source(path=options.data / "adult" / "adult_train.csv.gz"))
    table = table.select([*NUMBERS, "sex", "race", "income"])
    figures = Figures(options.out)
    if options.numbers:
        _of_numbers(table.select([*NUMBERS, "income"]), figures)
        return
    means = figures.table("Means", "k", "shows", "column", "truth", "estimate", "surely from", "to")
    counts = figures.table("Counts of age by sex", "k", "shows", "mean error", "largest error", "inside the bounds")
    slopes = figures.table("Regression of income above 50K", "k", "shows", "term", "truth", "estimate", "std. error")
    for k, shows in product((5, 20, 100), ("range", "mean")):
        loaded = sf.load(sf.anonymize(table, _plan(k, shows), seed=1, measure=False, attack=False).release)
        for name in NUMBERS:
            (mean,) = loaded.mean(name)
            truth = np.asarray(table[name], dtype=float).mean()
            means.row(k, shows, name, *(f"{figure:.2f}" for figure in (truth, mean.value, mean.lower, mean.upper)))
        counts.row(k, shows, *_counted(table, loaded))
        fit = loaded.regression("income", ["age", "education-num", "sex"], value=">50K")
        for term, truth in _slopes(table).items():
            estimate, error = fit[term]
            slopes.row(k, shows, term, f"{truth:.4f}", f"{estimate:.4f}", f"{error:.4f}")


def _of_numbers(table: pa.Table, figures: Figures) -> None:
    shown = figures.table(
        "Numbers", "k", "anonymizer", "shows", "groups", "capital gain", "moved", "variance lost", "s"
    )
    truth = {name: np.asarray(table[name], dtype=float) for name in NUMBERS}
    ways = (("mondrian", "range"), ("mondrian", "mean"), ("microaggregation", "range"))
    for k, (anonymizer, shows) in product((5, 20), ways):
        columns = {name: {"role": "quasi-identifier"} for name in NUMBERS} | {"income": {"role": "sensitive"}}
        require = [{"model": "k-anonymity", "k": k, "anonymizer": anonymizer}]
        plan = {"columns": columns, "require": require, "release": {"shows": shows, "shuffle": False}}
        began = time.process_time()
        run = sf.anonymize(table, sf.Plan.from_dict(plan), seed=1, attack=False)
        spent = time.process_time() - began
        loaded = sf.load(run.release)
        (moved,) = (found.value for found in run.measurements if found.name == "statistics")
        lost = [np.mean((loaded.numbers(name).midpoint - truth[name]) ** 2) / truth[name].var() for name in NUMBERS]
        figures_of = (f"{loaded.mean('capital-gain')[0].value:.2f}", f"{moved:.4f}", f"{np.mean(lost):.4f}")
        shown.row(k, anonymizer, shows, run.verdicts[0].groups, *figures_of, f"{spent:.1f}")


def _plan(k: int, shows: str) -> sf.Plan:
    columns = {name: {"role": "quasi-identifier"} for name in (*NUMBERS, "sex", "race")}
    columns["income"] = {"role": "sensitive"}
    require = [{"model": "k-anonymity", "k": k}]
    return sf.Plan.from_dict({"columns": columns, "require": require, "release": {"shows": shows}})


def _counted(table: pa.Table, loaded: sf.Loaded) -> list[str]:
    age, sex = np.asarray(table["age"], dtype=float), np.asarray(table["sex"], dtype=str)
    errors, inside = [], []
    for row in loaded.table(["age", "sex"], bins={"age": BINS}).table().to_pylist():
        if row["age"] == "elsewhere" or row["sex"] == "*":
            continue
        low, _, high = row["age"].strip("[)").partition(", ")
        truth = int(((age >= float(low)) & (age < float(high)) & (sex == row["sex"])).sum())
        errors.append(abs(row["count"] - truth) / truth)
        inside.append(row["lower"] <= truth <= row["upper"])
    return [f"{np.mean(errors):.2%}", f"{max(errors):.2%}", f"{sum(inside)} of {len(inside)}"]


def _slopes(table: pa.Table) -> dict[str, float]:
    sex = np.asarray(table["sex"], dtype=str)
    age, years = (np.asarray(table[name], dtype=float) for name in ("age", "education-num"))
    design = np.column_stack([np.ones(len(sex)), age, years, sex == "Female"])
    rich = np.char.startswith(np.asarray(table["income"], dtype=str), ">50K")
    found = np.linalg.lstsq(design, rich.astype(float), rcond=None)[0]
    return dict(zip(("age", "education-num", "sex = Female"), found[1:].tolist(), strict=True))


if __name__ == "__main__":
    main()
