"""The contract of attacks: a table as an intruder sees it in, how many people it exposes out.

An attack looks at labels and at what everybody knows, never at what only the holder has, so the same attack runs on the
original (as if it had been published as it is), on a release, and on the table of another tool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Dataset
from sfumato.data.people import by_person
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.sampling import UNKNOWN, Sampling
from sfumato.errors import PolicyError

THRESHOLD = 0.5  # whoever an intruder is surer of than this counts as exposed
FACTOR = 10.0  # a rare value that a class makes more than this many times as likely exposes the people of the class
RARE = Fraction(1, 20)  # a value with a smaller share of the whole table is rare
WIDTH = 0.05  # numbers in an interval of this share of the whole range count as near each other


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of all attacks."""

    threshold: float = THRESHOLD  # confidence above which a person counts as exposed
    factor: float = FACTOR  # how many times as likely a class may make a rare value
    width: float = WIDTH  # of an interval of near numbers, as a share of the range
    population: Dataset | None = None  # a larger table with the same quasi-identifiers, which a journalist would search
    sampling: Sampling = UNKNOWN  # what is known of the people that the table is a sample of
    original: Release | None = None  # the people themselves, where what is known of each of them is at hand

    def __post_init__(self) -> None:
        checked_threshold(self.threshold)
        checked_factor(self.factor)
        checked_width(self.width)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What an attack gets out of one table."""

    people: int  # records that the table is about
    exposed: int  # of them: those of whom the intruder is surer than the threshold
    worst: float  # the highest confidence that the intruder reaches, 0..1
    mean: float | None = None  # over people, where that says something
    facts: Mapping[str, Any] = field(default_factory=dict)  # JSON data: counts, never values of secret columns
    warning: str = ""  # what the holder of the table must be told besides
    private: Mapping[str, Any] = field(default_factory=dict)  # values of secret columns: for the holder's report only

    @classmethod
    def of(
        cls, sure: NDArray[np.float64], exposed: NDArray[np.bool_], weights: NDArray[Any] | None, **facts: Any
    ) -> Finding:
        """Return a finding from how sure the intruder is of some, who is exposed, and how many people each stands for.

        weights None: one each.
        """
        people = sure.size if weights is None else int(weights.sum())
        return cls(
            people=people,
            exposed=int(exposed.sum() if weights is None else weights[exposed].sum()),
            worst=min(float(sure.max(initial=0.0)), 1.0),
            mean=float(np.average(sure, weights=weights)) if people else None,
            facts=facts,
        )

    @classmethod
    def of_crowds(cls, crowd: NDArray[Any], weight: NDArray[Any], threshold: float, **facts: Any) -> Finding:
        """Return a finding from how many fit what is known of some, of whom one is picked; each stands for `weight`."""
        people = int(weight.sum())
        return cls(
            people=people,
            exposed=int(weight[crowd * threshold < 1].sum()),
            worst=1 / int(crowd.min()) if crowd.size else 0.0,
            mean=float((weight / crowd).sum()) / people if people else None,
            facts=facts,
        )

    def as_dict(self, *, private: bool = False) -> dict[str, Any]:
        """Return the finding as plain data; with values of secret columns only on demand."""
        found = vars(self) | {"facts": dict(self.facts), "private": dict(self.private) if private else {}}
        return {key: value for key, value in found.items() if value or key not in ("warning", "private")}

    def __str__(self) -> str:
        words = f"{self.exposed:,} of {self.people:,} exposed, confidence up to {100 * self.worst:.3g} %"
        gain = self.facts.get("largest_gain")
        if gain is None:
            return words
        shares = f"{100 * gain['in_table']:.3g} % in the table, {100 * gain['in_class']:.3g} % in one class"
        return f"{words}; one value: {shares}, {gain['times']:,.0f} times as likely"


@dataclass(frozen=True, kw_only=True, repr=False)
class Exposure:
    """An attack before and after, beside what a guess from public base rates would get."""

    attack: str
    title: str
    intruder: str  # one sentence: what the intruder knows and does
    threshold: float
    answered_by: tuple[str, ...] = ()  # names of the models whose promise bounds what this intruder learns
    answered_when: Mapping[str, str] = field(default_factory=dict)  # parameters that such a model must have
    about: tuple[str, ...] = ()  # columns of which something is learned; nothing: it is about people as a whole
    after: Finding
    before: Finding | None = None  # None: the original is not at hand
    control: Finding | None = None  # None: there is nothing to guess from
    notes: tuple[str, ...] = ()  # what whoever reads it should know about what was attacked

    def __repr__(self) -> str:
        return f"<Exposure {self.attack}: {self.title}>"

    def as_dict(self, *, private: bool = False) -> dict[str, Any]:
        """Return the exposure as plain data; with values of secret columns only for the holder's own report."""
        return {
            "attack": self.attack,
            "title": self.title,
            "intruder": self.intruder,
            "threshold": self.threshold,
            "answered_by": list(self.answered_by),
            **({"answered_when": dict(self.answered_when)} if self.answered_when else {}),
            "about": list(self.about),
            "before": self.before.as_dict() if self.before else None,
            "after": self.after.as_dict(private=private),
            "control": self.control.as_dict() if self.control else None,
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def __str__(self) -> str:
        rows = [("original", self.before), ("release", self.after), ("guessing", self.control)]
        return "\n".join([self.title, *(f"  {name:<9} {finding}" for name, finding in rows if finding is not None)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@runtime_checkable
@dataclass(frozen=True, kw_only=True)
class Attack(Protocol):
    """What an intruder does. Members are frozen dataclasses; their fields are what the intruder knows."""

    name: ClassVar[str]
    answered_by: ClassVar[tuple[str, ...]] = ()  # names of the models whose promise bounds what this intruder learns
    answered_when: ClassVar[Mapping[str, str]] = {}  # parameters that such a model must have
    # Whether it supposes more than a reader of one release has, or less than another: for `sfumato attack` only.
    on_demand: ClassVar[bool] = False

    threshold: float = THRESHOLD  # confidence above which a person counts as exposed

    def __post_init__(self) -> None:
        checked_threshold(self.threshold)

    @property
    def title(self) -> str:
        """What is attacked, in a few words."""

    @property
    def intruder(self) -> str:
        """One sentence: what the intruder knows and does."""

    @property
    def about(self) -> tuple[str, ...]:
        """The columns of which something is learned; nothing where it is about people as a whole."""
        return ()

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield the attack as it applies to a table: once for each column that it is about, if any."""

    @classmethod
    def lacks(cls, release: Release, asked: Asked) -> str:
        """Return what is not at hand without which it cannot be tried on a table that it may suit, in a few words."""
        return ""

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""

    def guess(self, table: Release) -> Finding | None:
        """Return what somebody would get who never saw the table: here, who picks any record."""
        return believing(self, 1 / table.total if table.total else 0.0, table.total)


@dataclass(frozen=True, kw_only=True)
class AttackOfColumn(Attack, Protocol):
    """An attack that tells of one column."""

    column: str

    @property
    def about(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)


def expose(
    attack: Attack, release: Release, original: Release | None = None, advance: Callable[[], None] = lambda: None
) -> Exposure:
    """Run an attack on a release and, where it is at hand, on the original; `advance` is called after each of three."""
    before = attack.on(original) if original is not None else None
    advance()
    after = attack.on(release)
    advance()
    control = attack.guess(original if original is not None else release)
    advance()
    tried = "" if release.drawn is None else f" Tried on a part: {str(release.drawn).removeprefix('of ')}."
    return Exposure(
        attack=attack.name,
        title=attack.title,
        intruder=attack.intruder + tried,
        threshold=attack.threshold,
        answered_by=attack.answered_by,
        answered_when=attack.answered_when,
        about=attack.about,
        before=before,
        after=after,
        control=control,
    )


def believing(attack: Attack, sure: float, people: int, slack: float = 0.0) -> Finding:
    """Return what comes of being equally sure of everybody; within the slack of rounding nobody is exposed."""
    exposed = people if sure > attack.threshold + slack else 0
    return Finding(people=people, exposed=exposed, worst=sure, mean=sure)


def as_if_published(dataset: Dataset) -> Release:
    """Return the original as an intruder would see it if only identifiers were dropped."""
    if dataset.rows is None:
        sample = as_if_published(dataset.sample) if dataset.sample is not None else None
        found = publish(dataset, Recoding(), ())
        return replace(found, weights=dataset.weights, drawn=dataset.drawn, sample=sample)
    return by_person(replace(publish(dataset.rows.table, Recoding(), ()), person_of=dataset.rows.person_of))


def checked_threshold(value: float) -> float:
    """Return a threshold that is a probability, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise PolicyError(f"The threshold of attacks was given as {value!r}.\nGive a confidence from 0 to below 1.")
    return float(value)


def checked_factor(value: float) -> float:
    """Return a factor that is above 1, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 < value < math.inf:
        raise PolicyError(f"The factor of attacks was given as {value!r}.\nGive a number above 1, such as 10.")
    return float(value)


def checked_width(value: float) -> float:
    """Return a width that is a share of a range, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise PolicyError(
            f"The width of near numbers was given as {value!r}.\nGive a share of the range, such as 0.05."
        )
    return float(value)
