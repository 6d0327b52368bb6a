"""Transactions under rho-uncertainty: the experiments of Jia et al. (2014), with growth against all other methods.

    python benchmarks/rho_uncertainty.py [--quick] [--out FOLDER] [--data FOLDER] [--threads 2] [--only WORD]

Figures 1 to 7 and Table 3 of the paper, for all methods and all four tables: BMS-POS, BMS-WebView-2 and Retail where
--data names a folder with transactions/bms_pos.txt.gz, bms_webview2.txt.gz and retail.txt.gz (one record a line), else
made-up tables of as many items with popular and rare ones, of 50,000 records unless --records says how many, which are
called so; Syn is made as the paper says, all items alike. 40 % of the types of items are sensitive, drawn at random.
Every release is audited.

NS is the share of occurrences withheld; NS/s relates it to dropping everything sensitive, which is the number to look
at, because s depends on the draw. Times are CPU seconds of the search alone, after all loops were compiled. "Whole" is
a published search without divide and conquer.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from figures import Figures, Table
from made_up_baskets import baskets
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.partial_suppression import PartialSuppression
from sfumato.anonymizers.published.drop_sensitive import DropSensitive
from sfumato.anonymizers.published.global_suppression import GlobalSuppression
from sfumato.anonymizers.published.permutation import Permutation
from sfumato.anonymizers.published.td_control import TdControl
from sfumato.data.dataset import CodedSets, Dataset
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import Unsatisfiable
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.item_loss import ItemLoss, distances
from sfumato.metrics.rule_retention import RuleRetention
from sfumato.models.base import Policy
from sfumato.models.rho_uncertainty import RhoUncertainty

SHARE = 0.4  # of the types of items that is sensitive
TMAX = 300  # as in the paper's Table 3
QUICK = 8_000  # records of each table in a quick run
MADE_UP = 50_000  # records of a table that stands in for one: more of them say nothing more
METHODS = {
    "best": PartialSuppression(),
    "best, rules": PartialSuppression(goal="rules"),
    "best, distribution": PartialSuppression(goal="distribution"),
    "mine": PartialSuppression(search="mine", tmax=TMAX),
    "mine, restored": PartialSuppression(search="mine", tmax=TMAX, restore=True),
    "dist": PartialSuppression(search="dist", tmax=TMAX),
    "dist, restored": PartialSuppression(search="dist", tmax=TMAX, restore=True),
    "mine, whole": PartialSuppression(search="mine", parts=1),
    "dist, whole": PartialSuppression(search="dist", parts=1),
    "global": GlobalSuppression(),
    "td-control": TdControl(splits=16),
    "drop-sensitive": DropSensitive(),
}


@dataclass(frozen=True)
class Data:
    """A table of sets by name."""

    name: str
    start: np.ndarray
    items: np.ndarray
    n_items: int

    def first(self, n_records: int) -> Data:
        """Return the first records."""
        end = int(self.start[n_records])
        return replace(self, start=self.start[: n_records + 1], items=self.items[:end])

    def cut_off(self, length: int) -> Data:
        """Return records of at most so many items, the first ones."""
        place = np.arange(self.items.size) - np.repeat(self.start[:-1], np.diff(self.start))
        size = np.minimum(np.diff(self.start), length)
        return replace(self, start=np.concatenate([[0], np.cumsum(size)]), items=self.items[place < length])

    def dataset(self, seed: int) -> Dataset:
        """Return the table with a draw of sensitive items."""
        sensitive = np.zeros(self.n_items, dtype=np.bool_)
        chosen = np.random.default_rng(seed).choice(self.n_items, round(SHARE * self.n_items), replace=False)
        sensitive[chosen] = True
        labels = tuple(f"{item:07d}" for item in range(self.n_items))
        column = CodedSets(
            name="items", role=Role.ITEMS, items=self.items, start=self.start, labels=labels, sensitive=sensitive
        )
        named = tuple(label for label, secret in zip(labels, sensitive, strict=True) if secret)
        schema = Schema({"items": ColumnSpec(name="items", role=Role.ITEMS, kind=Kind.SET, sensitive_items=named)})
        return Dataset(schema, {"items": column}, None, self.start.size - 1, ("items",))


@dataclass(frozen=True)
class Result:
    """What a method made of a table."""

    dataset: Dataset
    release: Release
    cpu: float
    parts: int
    safe: bool

    def loss(self) -> dict[str, float]:
        """Return NS, NS/s, the loss with that of generalized items, and the distances of shares."""
        measured = ItemLoss(column="items").of(Comparison(self.dataset, self.release))
        facts = measured.facts
        return {
            "NS": facts["withheld"] / facts["occurrences_before"],
            "NS/s": facts["relative_to_dropping_all_sensitive"],
            "loss": measured.value,
            "KL": facts["kl_divergence"],
            "sym-KL": facts["symmetric_divergence"],
        }


def run(method: object, dataset: Dataset, rho: str, threads: int, seed: int = 1) -> Result:
    """Let a method loose on a table, and audit what it returns."""
    model = RhoUncertainty(column="items", rho=rho)
    workplace = Workplace(rng=np.random.default_rng(seed), threads=threads)
    before = time.process_time()
    recoding = method.anonymize(dataset, Policy((model,)), Recoding(), workplace)
    cpu = time.process_time() - before
    release = Release({"items": recoding.columns["items"]}, None, dataset.n_rows, ("items",))
    # A release without any sensitive item gives the audit nothing to judge: no rule leads to one.
    safe = model.audit(release).satisfied or bool(model.nothing_to_judge(release))
    assert safe or isinstance(method, Permutation), f"{method} made an unsafe release"
    return Result(dataset, release, cpu, recoding.facts["items"].get("parts", 1), safe)


def read(path: Path, name: str) -> Data:
    """Return a transaction file of numbered items; items of a record stay in the order of their numbers."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [sorted(set(map(int, line.split()))) for line in file]
    flat = np.array([item for record in records for item in record])
    distinct, items = np.unique(flat, return_inverse=True)
    start = np.concatenate([[0], np.cumsum([len(record) for record in records])]).astype(np.int64)
    return Data(name, start, items.astype(np.int32), distinct.size)


class Source(NamedTuple):
    """A table of the paper, and how one of its size is made up."""

    name: str
    file: str
    records: int
    items: int
    mean_length: float
    longest: int
    skew: float = 1.0

    def table(self, folder: Path | None, most: int | None) -> Data:
        """Return the table itself where its file is in the folder, else one that is made up and called so."""
        path = folder / "transactions" / self.file if folder is not None and self.file else None
        if path is not None and path.is_file():
            data = read(path, self.name)
            return data.first(min(most or self.records, data.start.size - 1))
        drawn = baskets(
            min(most or MADE_UP, self.records),
            self.items,
            mean_length=self.mean_length,
            longest=self.longest,
            skew=self.skew,
            seed=1,
        )
        return Data(f"{self.name} (made up)", *drawn, self.items)


SOURCES = (
    Source("POS", "bms_pos.txt.gz", 515_597, 1_657, 6.5, 164),
    Source("WV", "bms_webview2.txt.gz", 77_512, 3_340, 4.6, 161),
    Source("Retail", "retail.txt.gz", 88_162, 16_470, 10.3, 76),
    Source("Syn", "", 493_193, 5_000, 4.2, 50, 0.0),
)


def tables(options: argparse.Namespace) -> Iterator[Data]:
    """Yield the four tables; the first records of each when it shall be quick."""
    for source in SOURCES:
        yield source.table(options.data, options.records)


def losses(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figures 1 and 2, and the CPU seconds of Table 3."""
    table = figures.table(
        "Figures 1 and 2: loss and distance of shares",
        "data", "method", "rho", "NS", "NS/s", "loss", "KL", "sym-KL", "CPU s",
    )  # fmt: skip
    names = [
        "best",
        "best, distribution",
        "mine",
        "mine, whole",
        "mine, restored",
        "dist",
        "dist, whole",
        "dist, restored",
        "global",
        "td-control",
        "drop-sensitive",
    ]
    for each in data:
        dataset = each.dataset(1)
        for rho in ("0.3", "0.7") if options.quick else ("0.3", "0.5", "0.7"):
            seconds = {}
            for name in figures.watch(names, f"{each.name}, rho {rho}"):
                found = run(METHODS[name], dataset, rho, options.threads)
                seconds[name] = found.cpu
                table.row(each.name, name, float(rho), *found.loss().values(), found.cpu)
            print(f"  mine / best in CPU seconds: {seconds['mine'] / seconds['best']:.1f}")
    _plots_by_data(table, data, x="rho", ys=("NS/s", "sym-KL"), log={"sym-KL": "y"})


def draws(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """The means over five draws of sensitive items."""
    table = figures.table("Five draws of sensitive items", "data, rho", "mean NS/s", "least", "most", "CPU s")
    for each in data:
        for rho in ("0.7", "0.3"):
            found = [
                run(METHODS["best"], each.dataset(seed), rho, options.threads)
                for seed in figures.watch(range(1, 3 if options.quick else 6), f"{each.name}, rho {rho}")
            ]
            ratios = [result.loss()["NS/s"] for result in found]
            cpu = float(np.mean([result.cpu for result in found]))
            table.row(f"{each.name}, {rho}", float(np.mean(ratios)), min(ratios), max(ratios), cpu)


def _plots_by_data(
    table: Table, data: list[Data], *, x: str, ys: Sequence[str], log: Mapping[str, str] | None = None
) -> None:
    """Draw each y over x, one picture a table, one line a method."""
    for each in data:
        for y in ys:
            table.plot(x=x, y=y, by="method", log=(log or {}).get(y, ""), where={"data": each.name})


def rules(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 3: rules kept in tables cut off at five items; all rules, and those without sensitive items."""
    table = figures.table(
        "Figure 3: rules kept, cut off at 5",
        "data", "method", "rho", "rules .3", "rules .7", "J .3", "J .7", "J .3 none", "J .7 none", "NS",
    )  # fmt: skip
    for each in data:
        dataset = each.cut_off(5).dataset(1)
        for rho in ("0.3", "0.7") if options.quick else ("0.3", "0.5", "0.7"):
            names = ("best", "best, rules", "best, distribution", "mine", "dist", "global", "td-control")
            for name in figures.watch(names, each.name):
                method = METHODS[name]
                if isinstance(method, PartialSuppression):
                    method = replace(method, parts=1)
                found = run(method, dataset, rho, options.threads)
                kept = RuleRetention(column="items").of(Comparison(found.dataset, found.release)).facts["confidences"]
                table.row(
                    each.name,
                    name,
                    float(rho),
                    *(row["consequent_not_sensitive"]["before"] for row in kept),
                    *(row["consequent_not_sensitive"]["jaccard"] for row in kept),
                    *(row["nothing_sensitive"]["jaccard"] for row in kept),
                    found.loss()["NS"],
                )
    _plots_by_data(table, data, x="rho", ys=("J .3", "J .7"))


def times(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Table 3: CPU seconds at rho 0.7 and tmax 300, on tables of all sizes."""
    table = figures.table("Table 3: time at rho 0.7", "data", "method", "CPU s", "parts", "NS", "peak MB so far")
    for each in data:
        dataset = each.dataset(1)
        for name in figures.watch(("best", "best, distribution", "mine", "dist", "global", "td-control"), each.name):
            found = run(METHODS[name], dataset, "0.7", options.threads)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            table.row(each.name, name, found.cpu, found.parts, found.loss()["NS"], peak)


def scale_up(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 4: time over fifths of every table, with and without divide and conquer."""
    table = figures.table(
        "Figure 4: time over fifths", "data", "fifths", "method", "CPU s", "parts", "ratio to one fifth"
    )
    methods = {name: METHODS[name] for name in ("best", "best, distribution", "mine, whole", "dist, whole")}
    methods |= {name: replace(METHODS[name], tmax=500) for name in ("mine", "dist")}
    for whole in data:
        first: dict[str, float] = {}
        for fifths in figures.watch((1, 3, 5) if options.quick else range(1, 6), whole.name):
            dataset = whole.first((whole.start.size - 1) * fifths // 5).dataset(1)
            for name, method in methods.items():
                found = run(method, dataset, "0.7", options.threads)
                first.setdefault(name, found.cpu)
                table.row(whole.name, fifths, name, found.cpu, found.parts, found.cpu / max(first[name], 1e-9))
    _plots_by_data(table, data, x="fifths", ys=("CPU s",))


def partitions(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 5: loss and time over tmax, on every table."""
    table = figures.table("Figure 5: loss and time over tmax", "data", "tmax", "method", "NS", "CPU s", "parts")
    for each in data:
        dataset = each.dataset(1)
        sizes = (20, 100, 500) if options.quick else (100, 300, 500, 1000, 2000)
        for tmax in figures.watch(sizes, each.name):
            for name in ("mine", "dist"):
                found = run(replace(METHODS[name], tmax=tmax), dataset, "0.7", options.threads)
                table.row(each.name, tmax, name, found.loss()["NS"], found.cpu, found.parts)
    _plots_by_data(table, data, x="tmax", ys=("NS", "CPU s"), log={"NS": "x", "CPU s": "x"})


def buffers(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 6: loss and time over the size of the buffer, on every table."""
    table = figures.table("Figure 6: loss and time over the buffer", "data", "buffer", "method", "NS", "CPU s")
    for each in data:
        dataset = each.dataset(1)
        sizes = (10**2, 10**4, 10**6) if options.quick else (10**3, 10**4, 10**5, 10**6)
        for size in figures.watch(sizes, each.name):
            for name in ("mine", "dist"):
                found = run(replace(METHODS[name], buffer_size=size), dataset, "0.7", options.threads)
                table.row(each.name, size, name, found.loss()["NS"], found.cpu)
    _plots_by_data(table, data, x="buffer", ys=("NS", "CPU s"), log={"NS": "x", "CPU s": "xy"})


def permutations(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 7: against permutation, which keeps every item; so shares of pairs with a sensitive item are compared."""
    table = figures.table(
        "Figure 7: against permutation, rho = 1/p",
        "data", "method", "p", "sym-KL of items", "sym-KL of pairs", "CPU s", "safe",
    )  # fmt: skip
    for each in data:
        dataset = each.dataset(1)
        for p in figures.watch((4, 10) if options.quick else (4, 6, 8, 10), each.name):
            methods = {name: METHODS[name] for name in ("best", "best, distribution", "mine", "dist")}
            for name, method in {**methods, "permutation": Permutation(p=p)}.items():
                try:
                    found = run(method, dataset, str(Fraction(1, p)), options.threads)
                except Unsatisfiable:  # permutation, where an item is in more than one record of p
                    table.row(each.name, name, p, None, None, None, "impossible")
                    continue
                before, after = pair_counts(found)
                pairs = distances(before, after)[1] if after.any() else None  # no pair is left: nothing to compare
                safe = "yes" if found.safe else "no"
                table.row(each.name, name, p, found.loss()["sym-KL"], pairs, found.cpu, safe)
    _plots_by_data(table, data, x="p", ys=("sym-KL of pairs",), log={"sym-KL of pairs": "y"})


def pair_counts(found: Result) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each sensitive item occurs together with each other item, before and after."""
    column = found.dataset.columns["items"]
    width = len(column.labels)
    keys = []
    for side in (column, found.release.sets("items")):
        secret = column.sensitive[side.items]
        record = np.repeat(np.arange(side.start.size - 1), np.diff(side.start))
        n_plain = np.bincount(record[~secret], minlength=side.start.size - 1)
        plain_start = np.concatenate([[0], np.cumsum(n_plain)])
        many = n_plain[record[secret]]
        place = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        other = side.items[~secret][np.repeat(plain_start[record[secret]], many) + place]
        keys.append(np.repeat(side.items[secret].astype(np.int64), many) * width + other)
    distinct = np.unique(np.concatenate(keys))
    before, after = (np.bincount(np.searchsorted(distinct, each), minlength=distinct.size) for each in keys)
    return before, after


PARTS: dict[str, Callable[[Figures, list[Data], argparse.Namespace], None]] = {
    "draws": draws,
    "figures 1 and 2": losses,
    "figure 3": rules,
    "table 3": times,
    "figure 4": scale_up,
    "figure 5": partitions,
    "figure 6": buffers,
    "figure 7": permutations,
}


def main(arguments: Sequence[str] | None = None) -> Figures:
    """Run the parts that are asked for, and return their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the first records of each table: a few minutes")
    parser.add_argument("--records", type=int, help="of each table at most")
    parser.add_argument("--out", type=Path, help="folder for csv files and plots")
    parser.add_argument("--data", type=Path, help="folder with transactions/retail.txt.gz and the others")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[""], help=f"words of: {', '.join(PARTS)}")
    options = parser.parse_args(arguments)
    if options.quick:
        options.records = options.records or QUICK
    figures = Figures(options.out)
    data = list(tables(options))
    print("\n".join(f"{each.name}: {each.start.size - 1:,} records, {each.items.size:,} occurrences" for each in data))
    small = Data("warm-up", *baskets(200, 20, mean_length=3, seed=1), 20).dataset(1)
    for method in METHODS.values():
        run(method, small, "0.5", 1)
    for name, part in PARTS.items():
        if any(word in name for word in options.only):
            part(figures, data, options)
    return figures


if __name__ == "__main__":
    main()
