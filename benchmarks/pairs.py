"""How near estimated tables of two and three columns are to the truth, beside what the single tables alone would tell.

    python benchmarks/pairs.py DATA [--quick] [--triples] [--out FOLDER]

DATA has `adult/adult_train.csv.gz`, `adult/adult_test.csv.gz` and `tabular/cps_tax_units.csv.gz`. All pairs of nine
columns of Adult (45,222 complete rows, ages in steps of two years) and of eight columns of 60,000 tax units are
estimated from randomized releases. For each setting: the sums of the L1 errors of the shares by `auto`, by the
published estimator, by the inverse, and of the product of the estimated single tables; the worst table beside the
published estimator; associated pairs (Cramer's V of .2 or more) that are nearer to the truth than the product; how many
95 % intervals cover a count of 20 or more; and how wide they are. With `--triples`, a third of all triples as well.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from figures import Figures

ADULT = ("age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex")
TAX_UNITS = ("fips", "MARS", "age_head", "XTOT", "nu18", "n24", "agi_bin", "EIC")
SETTINGS = (
    *(("sensitive-qid-closeness", "t", value) for value in (0.1, 0.2, 0.3, 0.5)),
    *(("sensitive-qid-diversity", "l", value) for value in (2, 5, 10)),
    *(("local-differential-privacy", "epsilon", value) for value in (0.5, 1, 2)),
)
MOST_CELLS = 12_000
METHODS = ("auto", "paper", "inverse")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--quick", action="store_true", help="one seed, and half of the settings")
    parser.add_argument("--triples", action="store_true", help="tables of three columns as well")
    parser.add_argument("--out", type=Path, help="folder for the tables")
    options = parser.parse_args()
    figures = Figures(options.out)
    columns = ("setting", "tables", *METHODS, "product", "auto/paper", "worst", "associated", "covered", "width", "s")
    for name, table in (("Adult", adult(options.data)), ("tax units", tax_units(options.data))):
        for size in (2, 3) if options.triples else (2,):
            shown = figures.table(f"{name}, tables of {size} columns", *columns)
            for setting in figures.watch(SETTINGS[::2] if options.quick else SETTINGS, f"{name}, {size} columns"):
                for anonymizer in ("randomization", "pram") if setting[1] == "t" else ("randomization",):
                    for seed in (1,) if options.quick else (1, 2):
                        release = randomized(table, setting, anonymizer, seed)
                        shown.row(f"{anonymizer} {setting[1]} = {setting[2]}", *compared(table, release, size))


def adult(data: Path) -> pd.DataFrame:
    parts = [pd.read_csv(data / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test")]
    table = pd.concat(parts, ignore_index=True)
    table = table[~(table == "?").any(axis=1)]
    table["age"] = table["age"] // 2 * 2
    return table[[*ADULT, "native-country"]].astype(str)


def tax_units(data: Path) -> pd.DataFrame:
    table = pd.read_csv(data / "tabular" / "cps_tax_units.csv.gz").sample(60_000, random_state=1)
    table["age_head"] = table["age_head"] // 3 * 3
    return table[[*TAX_UNITS]].astype(str)


def randomized(table: pd.DataFrame, setting: tuple[str, str, float], anonymizer: str, seed: int) -> Any:
    """Return the release of the columns that have enough values for the setting."""
    model, parameter, value = setting
    names = [name for name in table if parameter != "l" or table[name].nunique() > value]
    plan = sf.Plan.from_dict(
        {
            "columns": {
                name: {"role": "sensitive-quasi-identifier", "domain": sorted(table[name].unique())} for name in names
            },
            "require": [{"model": model, parameter: dict.fromkeys(names, value), "anonymizer": anonymizer}],
            "anonymizers": {anonymizer: {"dependence": "allow"}},
            "release": {"shuffle": False},
        }
    )
    return sf.anonymize(table[names], plan, seed=seed, measure=False, attack=False).release


def compared(table: pd.DataFrame, release: Any, size: int) -> Sequence[Any]:
    """Return the figures of one row."""
    names = list(release.description["columns"])
    single = {name: sf.reconstruct(release, [name]).counts / len(table) for name in names}
    errors: dict[str, list[float]] = {}
    nearer, covered, widths, spent = [], [], [], 0.0
    for chosen in list(combinations(names, size))[:: 1 if size == 2 else 3]:
        if math.prod(single[name].size for name in chosen) > MOST_CELLS:
            continue
        found = {}
        for method in METHODS:
            begin = time.process_time()
            found[method] = sf.reconstruct(release, list(chosen), method=method)
            spent += (time.process_time() - begin) * (method == "auto")
        truth = counted(table, found["auto"].axes)
        shares = {method: answer.counts / len(table) for method, answer in found.items()}
        shares["product"] = reduce(np.multiply.outer, [single[name] for name in chosen])
        for method, share in shares.items():
            errors.setdefault(method, []).append(float(np.abs(share - truth / len(table)).sum()))
        if size == 2 and cramers_v(truth) >= 0.2:
            nearer.append(errors["auto"][-1] < errors["product"][-1])
        low, high = found["auto"].interval()
        large = truth >= 20
        covered.append(((low <= truth) & (truth <= high))[large])
        widths.append(((high - low) / np.maximum(truth, 1))[large])
    total = {method: sum(each) for method, each in errors.items()}
    worst = max((a / p for a, p in zip(errors["auto"], errors["paper"], strict=True) if a > 0.02), default=0.0)
    return (
        *(len(errors["auto"]), *(total[method] for method in (*METHODS, "product"))),
        *(total["auto"] / total["paper"], worst, f"{sum(nearer)} of {len(nearer)}"),
        *(float(np.concatenate(covered).mean()), float(np.median(np.concatenate(widths)))),
        spent / len(errors["auto"]),
    )


def counted(table: pd.DataFrame, axes: Sequence[Any]) -> Any:
    """Return the true counts."""
    shape = tuple(len(axis.labels) for axis in axes)
    codes = [pd.Categorical(table[axis.name], categories=axis.labels).codes.astype(np.int64) for axis in axes]
    return np.bincount(np.ravel_multi_index(codes, shape), minlength=math.prod(shape)).reshape(shape)


def cramers_v(counts: Any) -> float:
    """Return Cramer's V of a table of two columns."""
    shares = counts / counts.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    squares = (shares - expected)[expected > 0] ** 2 / expected[expected > 0]
    return math.sqrt(float(squares.sum()) / (min(counts.shape) - 1))


if __name__ == "__main__":
    main()
