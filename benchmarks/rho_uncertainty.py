"""Transactions under rho-uncertainty: the experiments of Jia et al. (2014), with growth against all other methods.

    python benchmarks/rho_uncertainty.py [--quick] [--out FOLDER] [--data FOLDER] [--threads 2] [--only WORD]

Figures 1 to 7 and Table 3 of the paper, on Retail and BMS-WebView-2 when --data names a folder with retail.txt.gz and
bms_webview2.txt.gz (one record a line), and on made-up tables of the size of BMS-POS (popular and rare items) and Syn
(all items alike). 40 % of the types of items are sensitive, drawn at random. Every release is audited.

NS is the share of occurrences withheld; NS/s relates it to dropping everything sensitive, which is the number to look
at, because s depends on the draw. Times are CPU seconds of the search alone, after all loops were compiled.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from figures import Figures
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
from sfumato.generators import baskets
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.item_loss import ItemLoss, distances
from sfumato.metrics.rule_retention import RuleRetention
from sfumato.models.base import Policy
from sfumato.models.rho_uncertainty import RhoUncertainty

SHARE = 0.4  # of the types of items that is sensitive
TMAX = 300  # as in the paper's Table 3
METHODS = {
    "best": PartialSuppression(),
    "best, rules": PartialSuppression(goal="rules"),
    "best, distribution": PartialSuppression(goal="distribution"),
    "mine": PartialSuppression(search="mine", tmax=TMAX),
    "mine, restored": PartialSuppression(search="mine", tmax=TMAX, restore=True),
    "dist": PartialSuppression(search="dist", tmax=TMAX),
    "dist, restored": PartialSuppression(search="dist", tmax=TMAX, restore=True),
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
    safe = model.audit(release).satisfied
    assert safe or isinstance(method, Permutation), f"{method} made an unsafe release"
    return Result(dataset, release, cpu, recoding.facts["items"].get("parts", 1), safe)


def read(path: Path) -> Data:
    """Return a transaction file of numbered items; items of a record stay in the order of their numbers."""
    with gzip.open(path, "rt") as file:
        records = [sorted(set(map(int, line.split()))) for line in file]
    flat = np.array([item for record in records for item in record])
    distinct, items = np.unique(flat, return_inverse=True)
    start = np.concatenate([[0], np.cumsum([len(record) for record in records])]).astype(np.int64)
    return Data(path.name.split(".")[0], start, items.astype(np.int32), distinct.size)


def tables(options: argparse.Namespace) -> Iterator[Data]:
    """Yield the real tables, or made-up ones where there are none."""
    files = ("bms_webview2.txt.gz", "retail.txt.gz")
    found = [read(options.data / name) for name in files] if options.data is not None else []
    if not found:
        print("No --data: a made-up table stands in for the real ones.")
        found = [Data("zipf", *baskets(40_000, 2_000, mean_length=4, seed=1), 2_000)]
    for data in found:
        yield data.first(min(15_000, data.start.size - 1)) if options.quick else data


def large(options: argparse.Namespace) -> list[Data]:
    """Return tables of the size of BMS-POS and Syn; a tenth of it when it shall be quick."""
    part = 20 if options.quick else 1
    pos = baskets(515_597 // part, 1_657, mean_length=6.5, longest=164, skew=1.0, seed=1)
    syn = baskets(493_193 // part, 5_000, mean_length=4.2, longest=50, skew=0.0, seed=1)
    return [Data("POS size", *pos, 1_657), Data("Syn size", *syn, 5_000)]


def losses(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figures 1 and 2, and the CPU seconds of Table 3."""
    table = figures.table(
        "Figures 1 and 2: loss and distance of shares",
        "data, method",
        "rho",
        "NS",
        "NS/s",
        "loss",
        "KL",
        "sym-KL",
        "CPU s",
    )
    names = [
        "best",
        "best, distribution",
        "mine",
        "mine, restored",
        "dist",
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
                table.row(f"{each.name}, {name}", float(rho), *found.loss().values(), found.cpu)
            print(f"  mine / best in CPU seconds: {seconds['mine'] / seconds['best']:.1f}")
    for y in ("NS/s", "sym-KL"):
        table.plot(x="rho", y=y, by="data, method", log="y" if y == "sym-KL" else "")


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


def rules(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 3: rules kept in tables cut off at five items; all rules, and those without sensitive items."""
    table = figures.table(
        "Figure 3: rules kept, cut off at 5", "data, method", "rho", "J .3", "J .7", "J .3 none", "J .7 none", "NS"
    )
    for each in data:
        dataset = each.cut_off(5).dataset(1)
        for rho in ("0.7",) if options.quick else ("0.3", "0.5", "0.7"):
            names = ("best", "best, rules", "best, distribution", "mine", "dist", "global", "td-control")
            for name in figures.watch(names, each.name):
                method = METHODS[name]
                if isinstance(method, PartialSuppression):
                    method = replace(method, parts=1)
                found = run(method, dataset, rho, options.threads)
                kept = RuleRetention(column="items").of(Comparison(found.dataset, found.release)).facts["confidences"]
                table.row(
                    f"{each.name}, {name}",
                    float(rho),
                    *(row["consequent_not_sensitive"]["jaccard"] for row in kept),
                    *(row["nothing_sensitive"]["jaccard"] for row in kept),
                    found.loss()["NS"],
                )
    table.plot(x="rho", y="J .7", by="data, method")


def times(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Table 3: CPU seconds at rho 0.7 and tmax 300, on tables of all sizes."""
    table = figures.table("Table 3: time at rho 0.7", "data, method", "CPU s", "parts", "NS", "peak MB so far")
    for each in [*data, *large(options)]:
        names = ["best", "best, distribution", "mine", "dist", "global", "td-control"]
        if each.name.endswith("size"):
            names = ["best", "best, distribution"]
        dataset = each.dataset(1)
        for name in figures.watch(names, each.name):
            found = run(METHODS[name], dataset, "0.7", options.threads)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            table.row(f"{each.name}, {name}", found.cpu, found.parts, found.loss()["NS"], peak)


def scale_up(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 4: time over fifths of the last table, with and without parts."""
    table = figures.table("Figure 4: time over fifths", "fifths", "method", "CPU s", "parts", "ratio to one fifth")
    whole = data[-1]
    methods = {name: METHODS[name] for name in ("best", "best, distribution")}
    methods |= {name: replace(METHODS[name], tmax=500) for name in ("mine", "dist")}
    first: dict[str, float] = {}
    for fifths in figures.watch(range(1, 6), whole.name):
        dataset = whole.first((whole.start.size - 1) * fifths // 5).dataset(1)
        for name, method in methods.items():
            found = run(method, dataset, "0.7", options.threads)
            first.setdefault(name, found.cpu)
            table.row(fifths, name, found.cpu, found.parts, found.cpu / first[name])
    table.plot(x="fifths", y="CPU s", by="method")


def partitions(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 5: loss and time over tmax, on the last table."""
    table = figures.table("Figure 5: loss and time over tmax", "tmax", "method", "NS", "CPU s", "parts")
    dataset = data[-1].dataset(1)
    for tmax in figures.watch((100, 500) if options.quick else (100, 300, 500, 1000, 2000), "tmax"):
        for name in ("mine", "dist"):
            found = run(replace(METHODS[name], tmax=tmax), dataset, "0.7", options.threads)
            table.row(tmax, name, found.loss()["NS"], found.cpu, found.parts)
    for y in ("NS", "CPU s"):
        table.plot(x="tmax", y=y, by="method", log="x")


def buffers(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 6: loss and time over the size of the buffer, on the first table."""
    table = figures.table("Figure 6: loss and time over the buffer", "buffer", "method", "NS", "CPU s")
    dataset = data[0].dataset(1)
    for size in figures.watch((10**4, 10**6) if options.quick else (10**3, 10**4, 10**5, 10**6), "buffer"):
        for name in ("mine", "dist"):
            found = run(replace(METHODS[name], buffer_size=size), dataset, "0.7", options.threads)
            table.row(size, name, found.loss()["NS"], found.cpu)
    table.plot(x="buffer", y="CPU s", by="method", log="xy")


def permutations(figures: Figures, data: list[Data], options: argparse.Namespace) -> None:
    """Figure 7: against permutation, which keeps every item; so shares of pairs with a sensitive item are compared."""
    table = figures.table("Figure 7: against permutation, rho = 1/p", "method", "p", "sym-KL of pairs", "CPU s", "safe")
    dataset = data[0].dataset(1)
    for p in figures.watch((4, 10) if options.quick else (4, 6, 8, 10), "p"):
        methods = {name: METHODS[name] for name in ("best", "best, distribution", "mine", "dist")}
        for name, method in {**methods, "permutation": Permutation(p=p)}.items():
            found = run(method, dataset, str(Fraction(1, p)), options.threads)
            table.row(name, p, distances(*pair_counts(found))[1], found.cpu, "yes" if found.safe else "no")
    table.plot(x="p", y="sym-KL of pairs", by="method", log="y")


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


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="parts of the tables, under two minutes")
    parser.add_argument("--out", type=Path, help="folder for csv files and plots")
    parser.add_argument("--data", type=Path, help="folder with retail.txt.gz and bms_webview2.txt.gz")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help=f"a word of: {', '.join(PARTS)}")
    options = parser.parse_args()
    figures = Figures(options.out)
    data = list(tables(options))
    print("\n".join(f"{each.name}: {each.start.size - 1:,} records, {each.items.size:,} occurrences" for each in data))
    small = Data("warm-up", *baskets(200, 20, mean_length=3, seed=1), 20).dataset(1)
    for method in METHODS.values():
        run(method, small, "0.5", 1)
    for name, part in PARTS.items():
        if options.only in name:
            part(figures, data, options)


if __name__ == "__main__":
    main()
