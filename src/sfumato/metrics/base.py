"""The contract of metrics: the original and a release in, one number with its facts out.

A metric reads the release as an outsider would: labels only, rows in any order, perhaps fewer of them. So it works on a
release just made, on one read back from disk, and on a table that another tool made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from html import escape
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from sfumato.data.dataset import Dataset
from sfumato.data.drawing import Drawn
from sfumato.data.release import Release
from sfumato.data.sampling import UNKNOWN, Sampling
from sfumato.metrics.comparison import Comparison

Estimate = Callable[[Release, Sequence[str]], Any]  # computes a table back: axes with labels, and counts over them


class About(StrEnum):
    """What a metric tells of a release."""

    LOSS = "loss"  # what it is no longer good for
    RISK = "risk"  # how far it still points at people


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What somebody wants to know that no table says by itself."""

    target: str | None = None  # the column to predict, else the first sensitive one
    population: Dataset | None = None  # the larger table that a journalist would search
    sampling: Sampling = UNKNOWN  # what is known of the people that the table is a sample of
    seed: int = 0  # of random queries and folds
    estimate: Estimate | None = None  # how tables are computed back from randomized columns
    tables: tuple[tuple[str, ...], ...] = ()  # those to compute back, else random ones
    queries: Mapping[str, Any] = field(default_factory=dict)  # parameters of random queries
    rules: Mapping[str, Any] = field(default_factory=dict)  # parameters of association rules


@dataclass(frozen=True, kw_only=True, repr=False)
class Measurement:
    """What a metric found: a headline number, and plain data for tables and pictures.

    >>> print(Measurement(name="ncp", title="Loss of detail", value=0.125, before=0.0, unit="share", better="lower"))
    Loss of detail: 12.5 % (original: 0 %)
    """

    name: str = ""  # of the metric that found it, as are the next two
    about: About = About.LOSS
    main: bool = False  # worth a line of a summary
    title: str
    value: float
    before: float | None = None  # the same measure on the original
    unit: str = ""  # "share" stands for 0..1, anything else is written behind the number
    better: Literal["lower", "higher"] | None = None
    worst: float | None = None  # the same measure where nothing is left, or what a guess gets
    note: str = ""  # a few words to stand beside the figure
    explanation: str = ""  # one or two sentences for people, which no metric goes without
    empty: str = ""  # what nothing at all is left of, in a few words
    warning: str = ""  # what whoever publishes should know first
    notes: tuple[str, ...] = ()  # what whoever reads it should know about what was measured
    facts: Mapping[str, Any] = field(default_factory=dict)  # JSON data

    @classmethod
    def of_share(cls, **said: Any) -> Measurement:
        """Return the measurement of a share that is lost, or wrong: nothing of it in the original."""
        return cls(before=0.0, unit="share", better="lower", **said)

    def __repr__(self) -> str:  # facts are long, and some are of the original
        return f"<Measurement {self.name}: {self.value:.4g}>"

    def as_dict(self) -> dict[str, Any]:
        """Return the measurement as plain data."""
        shown = vars(self) | {"about": self.about.value, "notes": list(self.notes), "facts": dict(self.facts)}
        return {key: value for key, value in shown.items() if key != "notes" or value}

    def said_of(self, drawn: Drawn) -> Measurement:
        """Return the measurement with the words that it is of a random part of both tables."""
        note = "; ".join(words for words in (self.note, str(drawn)) if words)
        return replace(self, note=note, facts={**self.facts, "sample": drawn.as_dict()})

    def headline(self) -> dict[str, Any]:
        """Return the figure and what it means as plain data, without facts: those may hold values of columns."""
        return {key: value for key, value in self.as_dict().items() if key != "facts"}

    def __str__(self) -> str:
        before = f" (original: {amount(self.before, self.unit)})" if self.before is not None else ""
        note = f"; {self.note}" if self.note else ""
        return f"{self.title}: {amount(self.value, self.unit)}{before}{note}"

    def _repr_html_(self) -> str:
        hint = f" <small>{escape(self.better)} is better</small>" if self.better else ""
        return f"<p><b>{escape(str(self))}</b>{hint}<br>{escape(self.explanation)}</p>"


@runtime_checkable
class Metric(Protocol):
    """What a release is still good for. Members are frozen dataclasses; their fields are the metric's parameters."""

    name: ClassVar[str]
    about: ClassVar[About] = About.LOSS
    main: ClassVar[bool] = False  # worth a line of a summary
    by_rows: ClassVar[str] = ""  # why rows count once each, whatever their survey weights; "" where they go by these
    speaks_of_sets: ClassVar[bool] = False  # whether it tells more where columns of sets are at hand, row by row

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric as it applies to a comparison: once for each column that it is about, if any."""
        yield cls()

    def measure(self, dataset: Dataset, release: Release) -> Measurement:
        """Measure a release against the original that it was made from."""
        return self.of(Comparison(dataset, release))

    def of(self, comparison: Comparison) -> Measurement:
        """Measure a comparison, whose preparations several metrics can share."""
        return replace(self.found(comparison), name=self.name, about=self.about, main=self.main)

    def found(self, comparison: Comparison) -> Measurement:
        """Return what is found in a comparison; `of` says besides which metric found it."""


class MetricOfClasses(Metric, Protocol):
    """A metric of classes of equal quasi-identifiers, which has nothing to say where there are none."""

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where there are quasi-identifiers."""
        if comparison.dataset.quasi_identifiers:
            yield cls()


class MetricOfMasks(Metric, Protocol):
    """A metric of masked columns."""

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where columns are masked."""
        if comparison.release.masked_columns:
            yield cls()


def amount(value: float, unit: str = "") -> str:
    """Return a number with its unit, for people.

    >>> amount(0.125, "share"), amount(1757368.0, "rows"), amount(2.34567)
    ('12.5 %', '1,757,368 rows', '2.346')
    """
    if unit == "share":
        return f"{100 * value:.3g} %" if abs(value) < 9.995 else f"{100 * value:,.0f} %"
    if unit in ("rows", "people") and value == 1:
        return "1 row" if unit == "rows" else "1 person"
    text = f"{value:,.0f}" if value == int(value) or abs(value) >= 1e4 else f"{value:.4g}"
    return f"{text} {unit}" if unit else text


def plain(count: float) -> float:
    """Return a count as plain data; that of rows with survey weights need not be whole.

    >>> plain(3.0), plain(2.5)
    (3, 2.5)
    """
    return int(count) if count == int(count) else round(float(count), 6)


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 0 for nothing out of nothing.

    >>> ratio(1, 4), ratio(0, 0)
    (0.25, 0.0)
    """
    return float(part / whole) if whole else 0.0


def mean_of(columns: Sequence[Mapping[str, Any]], key: str) -> float:
    """Return the mean over columns of one of their facts, 0 where there are none.

    >>> mean_of([{"loss": 0.5}, {"loss": 0.25}], "loss")
    0.375
    """
    return ratio(sum(column[key] for column in columns), len(columns))


NEARLY_ALL = 0.9  # a loss from which on a release is hardly worth having


def little_left(lost: float, of: str) -> str:
    """Return a warning where a share that was lost leaves next to nothing.

    >>> little_left(0.95, "the terms"), little_left(0.5, "the terms")
    ('Next to nothing is left of the terms: 95 % is lost.', '')
    """
    if not NEARLY_ALL <= lost < 1:
        return ""
    return f"Next to nothing is left of {of}: {amount(lost, 'share')} is lost."
