from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Codes, DistinctRows, starts_of
from sfumato.data.schema import Kind, Role
from sfumato.errors import PolicyError
from sfumato.metrics.base import Asked, Measurement, Metric, amount
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.cover import Cover, identity
from sfumato.metrics.extent import Extent
from sfumato.metrics.fitting import BlockWeight, fitting, project

_ROUNDS = 10  # how often queries that nobody fits are drawn anew
_SUBSETS = 20  # different choices of columns; many queries share one, so that preparing it pays
_WORD = 64  # queries that are answered together
# Distinct rows and terms to look at for all queries of a dimension; a huge table is asked less often,
_WORK = 300_000_000
_FEWEST = 100  # but not less often than this
# Each of a byte's bits as a byte of its own, in one word.
_SPREAD = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").view("<u8")[:, 0]


@dataclass(frozen=True, kw_only=True)
class QueryError(Metric):
    """How wrong counts come out: the relative error of random COUNT queries answered from the release.

    A query asks how many records have values from a random choice in each of a few quasi-identifiers: consecutive
    values of numbers and ordered columns, any values of others, round(values * selectivity ** (1 / columns)) of them.
    With `terms`, and when the table has a column of sets (quasi-sensitive or items), it also asks that a record contain
    any of a random choice of terms, which counts as one more column. The release answers record by record: a recipient
    spreads each label evenly over its part of the domain (`Ncp` says what that is), and counts the part that the query
    asks for. Queries that nobody in the original fits are drawn anew.
    Limit: random queries are not the questions that analysts ask.

    >>> before, after = {"sex": ["f", "f", "m", "m"]}, {"sex": ["*", "*"]}  # says 1 for f and 1 for m
    >>> print(QueryError(queries=40).of(Comparison.of_tables(before, after, sex="quasi-identifier")))
    Error of counts: 50 % (original: 0 %); half of them 50 % or less; 50 % with no detail left
    """

    name: ClassVar[str] = "query-error"
    main: ClassVar[bool] = True
    speaks_of_sets: ClassVar[bool] = True

    dimensions: tuple[int, ...] = (1, 3, 5)  # quasi-identifiers in a query; no more than there are
    selectivity: float = 0.5  # share of records that a query aims at, if columns were even and independent
    queries: int = 1_000  # for each of the dimensions; fewer, down to 100, where millions of records differ
    terms: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.selectivity <= 1:
            raise PolicyError(f"Queries were asked for with selectivity {self.selectivity}.\nGive a share, 0 < s <= 1.")
        if self.queries < 1 or not self.dimensions or min(self.dimensions) < 1:
            raise PolicyError(
                f"{self.queries} queries over {list(self.dimensions)} columns were asked for.\n"
                "Give at least one of each."
            )

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where there are quasi-identifiers."""
        if comparison.dataset.quasi_identifiers:
            yield cls(seed=asked.seed, **asked.queries)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        rng = np.random.default_rng(self.seed)
        # Records with terms are counted one by one, whatever their weights.
        sides = _Sides(comparison, _set_column(comparison) if self.terms and comparison.survey is None else None)
        n_columns = len(comparison.quasi_identifiers)
        dimensions = sorted({min(dimension, n_columns) for dimension in self.dimensions})
        if not comparison.dataset.n_rows or (not n_columns and sides.terms is None):
            dimensions = []
        wanted = min(self.queries, max(_FEWEST, _WORK // max(sides.size, 1)))
        found, results = [np.empty((0, 2))], []
        for dimension in dimensions:
            errors = self._errors(sides, dimension, wanted, rng)
            found.append(errors)
            starred = float(errors[:, 1].mean()) if errors.size else 0.0
            summary = {**_summary(errors[:, 0]), "without_detail": starred}
            results.append({"columns": dimension, **summary, "empty": wanted - errors.shape[0]})
        errors, without = np.concatenate(found).T
        summary = _summary(errors)
        worst, median = float(without.mean()) if without.size else 0.0, amount(summary["median"], "share")
        of_terms = f" and some of the terms in {sides.terms!r}" if sides.terms is not None else ""
        has_terms = self.terms and sides.terms is None and _set_column(comparison) is not None
        left_out = " Terms are left out: those who have them would count once each." if has_terms else ""
        return Measurement.of_share(
            title="Error of counts",
            value=summary["mean"],
            worst=worst,
            note=f"half of them {median} or less; {amount(worst, 'share')} with no detail left",
            explanation=f"Counting {comparison.those} with random values in a few quasi-identifiers{of_terms} gives a "
            f"result that is off by {amount(summary['mean'], 'share')} of the true count on average, and by {median} "
            "or less in half the cases. The mean can exceed 100 %, however little detail is lost, as small counts "
            "weigh as much as large ones: one person taken for three is off by 200 %. With * in every quasi-identifier "
            f"it would be {amount(worst, 'share')}.{left_out}",
            facts={
                "selectivity": self.selectivity,
                "seed": self.seed,
                "terms": sides.terms,
                **summary,
                "dimensions": results,
                **comparison.weighted_by,
            },
        )

    def _errors(self, sides: _Sides, dimension: int, wanted: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the relative errors of queries over so many columns, at most as many as wanted, shape (q, 2).

        The second one is that of a release with * in all of these columns.
        """
        n_columns = len(sides.columns)
        subsets = [
            np.sort(rng.choice(n_columns, dimension, replace=False)) for _ in range(_SUBSETS if dimension else 1)
        ]
        distinct = sorted({tuple(int(column) for column in subset) for subset in subsets})
        power = 1 / max(dimension + (sides.terms is not None), 1)
        errors: list[NDArray[np.float64]] = []
        for _ in range(_ROUNDS):
            open_queries = wanted - sum(part.shape[0] for part in errors)
            if not open_queries:
                break
            shares = np.bincount(np.arange(open_queries) % len(distinct), minlength=len(distinct))
            for subset, share in zip(distinct, shares, strict=True):
                for n_queries in _portions(int(share), sides.most_queries(subset)):
                    actual, *estimates = sides.answers(subset, self.selectivity**power, n_queries, rng)
                    some = actual > 0
                    off = [np.abs(actual[some] - estimate[some]) / actual[some] for estimate in estimates]
                    errors.append(np.stack(off, axis=1))
        return np.concatenate([np.empty((0, 2)), *errors])


class _Sides:
    """The original and the release, ready to answer the same queries."""

    def __init__(self, comparison: Comparison, sets: tuple[CodedSets, CodedSets] | None) -> None:
        pairs = comparison.quasi_identifiers
        self.columns = [pair.original for pair in pairs]
        self.extents = [pair.extent for pair in pairs]
        self.wholes = [extent.whole for extent in self.extents]
        self.labels = [len(pair.released.labels) for pair in pairs]
        self.identities = [identity(column) for column in self.columns]
        self.before = comparison.by_weight(comparison.distinct_before, before=True)
        self.after = comparison.by_weight(comparison.distinct_after, before=False)
        self.terms: str | None = None
        if sets is not None:
            self.terms = sets[0].name
            code_of = {label: code for code, label in enumerate(sets[0].labels)}
            self.n_terms = len(sets[0].labels)
            self.terms_before = _Terms(sets[0], self.before, np.arange(self.n_terms, dtype=np.int32))
            # Terms that the original does not have can never be asked for.
            known = np.array([code_of.get(label, self.n_terms) for label in sets[1].labels], dtype=np.int32)
            self.terms_after = _Terms(sets[1], self.after, known)
        self._projected: dict[tuple[int, ...], Any] = {}

    @property
    def size(self) -> int:
        """How much has to be looked at for one query."""
        n_terms = self.terms_before.items.size + self.terms_after.items.size if self.terms is not None else 0
        n_labels = max((len(each.labels) + m for each, m in zip(self.columns, self.labels, strict=True)), default=0)
        return self.before.weight.size + self.after.weight.size + n_labels + n_terms

    def most_queries(self, subset: tuple[int, ...]) -> int:
        """How many queries fit into memory together."""
        widest = max((max(len(self.columns[at].labels), self.labels[at]) for at in subset), default=1)
        return max(1, min(_WORD, (1 << 22) // max(widest, 1)))

    def answers(
        self, subset: tuple[int, ...], share: float, n_queries: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Draw queries over some columns; return the true counts, the release's, and those of * alone, each (q,)."""
        choices = [_draw(self.columns[at], share, n_queries, rng) for at in subset]
        exact = [choice.share_of(self.identities[at]) for choice, at in zip(choices, subset, strict=True)]
        partial = [choice.share_of(self.extents[at]) for choice, at in zip(choices, subset, strict=True)]
        whole = [choice.share_of(self.wholes[at])[0] for choice, at in zip(choices, subset, strict=True)]
        guessed = np.prod([np.ones(n_queries), *whole], axis=0)
        if self.terms is None:
            (codes, weight), (codes_after, weight_after) = self._distinct(subset)
            return (
                fitting(codes, weight, exact, n_queries),
                fitting(codes_after, weight_after, partial, n_queries),
                guessed * weight_after.sum(),
            )
        chosen = np.zeros((self.n_terms + 1, n_queries), dtype=np.bool_)  # the last row: terms of the release only
        chosen[:-1] = _chosen(self.n_terms, share, n_queries, rng)
        at = list(subset)
        total, hits = np.zeros(n_queries), self.terms_after.hits(chosen)

        def counted(first: int, last: int) -> NDArray[Any]:
            found = hits(first, last)
            total[:] += found.sum(axis=0)
            return found

        return (
            fitting(self.before.codes[:, at], self.terms_before.hits(chosen), exact, n_queries),
            fitting(self.after.codes[:, at], counted, partial, n_queries),
            guessed * total,
        )

    def _distinct(self, subset: tuple[int, ...]) -> Any:
        """Return the distinct rows of both sides over some columns; only the last choice of columns is kept."""
        if subset not in self._projected:
            sizes = [len(self.columns[at].labels) for at in subset]
            labels = [self.labels[at] for at in subset]
            self._projected = {subset: (project(self.before, subset, sizes), project(self.after, subset, labels))}
        return self._projected[subset]


@dataclass(frozen=True)
class _Range:
    """q choices of consecutive codes."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]  # not included

    def share_of(self, covered: Cover | Extent) -> NDArray[np.float64]:
        return covered.overlaps(self.low, self.high) / covered.size[:, None]


@dataclass(frozen=True)
class _Values:
    """q choices of any codes."""

    chosen: NDArray[np.bool_]  # (v, q)

    def share_of(self, covered: Cover | Extent) -> NDArray[np.float64]:
        return covered.sums(self.chosen) / covered.size[:, None]


def _draw(column: CodedColumn, share: float, n_queries: int, rng: np.random.Generator) -> _Range | _Values:
    n_codes = len(column.labels)
    if column.kind not in (Kind.NUMBER, Kind.ORDERED):
        return _Values(_chosen(n_codes, share, n_queries, rng))
    n_known = max(n_codes - (column.missing >= 0), 1)  # a range of numbers has no place for the missing value
    width = _how_many(n_known, share)
    low = rng.integers(0, n_known - width + 1, n_queries)
    return _Range(low, low + width)


def _chosen(n_codes: int, share: float, n_queries: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return for each query a random choice of codes, all of the same size, shape (v, q)."""
    chosen = np.zeros((n_codes, n_queries), dtype=np.bool_)
    if n_codes:
        n_chosen = _how_many(n_codes, share)
        lots = rng.random((n_codes, n_queries), dtype=np.float32)
        smallest = np.argpartition(lots, n_chosen - 1, axis=0)[:n_chosen]
        np.put_along_axis(chosen, smallest, True, axis=0)
    return chosen


def _how_many(n_codes: int, share: float) -> int:
    return min(max(round(n_codes * share), 1), n_codes)


class _Terms:
    """Which records of each distinct row contain what: rows in the order of distinct rows, empty sets left out."""

    def __init__(self, sets: CodedSets, distinct: DistinctRows, term_of: Codes) -> None:
        size = np.diff(sets.start)
        rows = np.argsort(distinct.distinct_of, kind="stable")
        rows = rows[size[rows] > 0]
        size = size[rows]
        self.start = starts_of(size)  # of each row's terms
        self.items = term_of[sets.items[np.repeat(sets.start[rows] - self.start[:-1], size) + np.arange(size.sum())]]
        # Of each distinct row.
        self.first_row = starts_of(np.bincount(distinct.distinct_of[rows], minlength=distinct.weight.size))

    def hits(self, chosen: NDArray[np.bool_]) -> BlockWeight:
        """Return a function that counts the records of some distinct rows with any term, (terms, q) -> (rows, q)."""
        n_queries = chosen.shape[1]
        word = np.zeros(chosen.shape[0], dtype="<u8")  # bit j: chosen by query j, so there are at most 64
        for query in range(n_queries):
            word |= chosen[:, query].astype("<u8") << np.uint64(query)

        def of_distinct(first: int, last: int) -> NDArray[Any]:
            rows = self.first_row[first : last + 1]
            start = self.start[rows[0] : rows[-1] + 1]
            if start.size == 1:
                return np.zeros((last - first, n_queries))
            found = np.bitwise_or.reduceat(word[self.items[start[0] : start[-1]]], start[:-1] - start[0])
            octets, in_distinct = found.view(np.uint8).reshape(-1, 8), np.diff(rows)
            counts = np.zeros((last - first, n_queries), dtype=np.int64)
            some = in_distinct > 0
            at = rows[:-1][some] - rows[0]
            if in_distinct.max() < 256:  # eight counts, one in each byte of a word, grow together
                counts[some] = np.add.reduceat(_SPREAD[octets], at, axis=0).view(np.uint8)[:, :n_queries]
            else:
                bits = np.unpackbits(octets, axis=1, count=n_queries, bitorder="little")
                counts[some] = np.add.reduceat(bits, at, axis=0, dtype=np.int64)
            return counts

        return of_distinct


def _set_column(comparison: Comparison) -> tuple[CodedSets, CodedSets] | None:
    """Return the sets that queries can ask about, before and after: terms, or the first column of items."""
    if comparison.terms is not None:
        return comparison.terms
    for column in comparison.dataset.with_role(Role.ITEMS):
        published = comparison.release.columns.get(column.name)
        if isinstance(column, CodedSets) and isinstance(published, CodedSets):
            return column, published
    return None


def _portions(total: int, most: int) -> Sequence[int]:
    return [min(most, total - at) for at in range(0, total, most)]


def _summary(errors: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "queries": errors.size,
        "mean": float(errors.mean()) if errors.size else 0.0,
        "median": float(np.median(errors)) if errors.size else 0.0,
        "worst_tenth": float(np.quantile(errors, 0.9)) if errors.size else 0.0,
    }
