"""What cells of several values, or of one that may be drawn, give away.

One column by itself or together with the equivalence class, two columns read together, and a second release.

All work from the release and from base rates that everybody may know: how common each value of a column is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, Attack, AttackOfColumn, Finding, believing
from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import Codes
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.errors import DataError
from sfumato.models.judging.classes import Classes, classes_of
from sfumato.models.judging.weights import row_weights, tally
from sfumato.models.judging.worst_sets import hierarchical_edges
from sfumato.models.t_closeness import hierarchy_of

ROWS = 20_000  # records that are looked at
COLUMNS = 8  # of which all pairs are looked at
DRAWS = 10_000  # people that are made up to see what a second release would do
SURE = 3  # standard errors above which a pair of values counts as possible
CHANCE = 1e-3  # with which some bound on the shares of a class may be wrong, over all classes and values together
FEW = 0.01  # of all classes, and of all records: more of them are worth a warning


@dataclass(frozen=True, eq=False)
class Sets:
    """A column of sets as an intruder sees it. Sizes: n rows that are looked at, d values.

    Sets were drawn, with eta and p, or are groups of values: then the true value is always among those shown. Single
    values may have been drawn by shares, one for each value.
    """

    name: str
    shown: NDArray[np.bool_]  # (n, d)
    weight: NDArray[np.int64]  # (n,): records that each row stands for
    share: NDArray[np.float64]  # (d,): how common each value is
    eta: int
    p: float
    groups: bool = False
    drawn: NDArray[np.float64] | None = None  # (d,): how likely each value is drawn, where cells show one

    @property
    def d(self) -> int:
        """The size of the domain."""
        return self.share.size

    def outside(self, shown: NDArray[np.bool_]) -> NDArray[np.float64] | float:
        """How much less likely cells are for a value outside them, shape (records, 1), or the same for all."""
        if self.groups:
            return 0.0
        if self.drawn is not None:
            own, other = self.chances
            return np.asarray(shown @ (other / np.maximum(own, 1e-300)))[:, None]
        return 1.0 if self.eta == self.d else (1 - self.p) / (1 - self.p + self.p * self.d / self.eta)

    @property
    def chances(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probability that a cell shows each value when it is true, and when another is, (d,) each."""
        if self.drawn is not None:
            other = (1 - self.p) * self.drawn
            return self.p + other, other
        tail = (1 - self.p) * self.eta / self.d
        return (np.full(self.d, self.p + tail), np.full(self.d, self.p * (self.eta - 1) / max(self.d - 1, 1) + tail))

    @property
    def size(self) -> NDArray[np.float64]:
        """How many values are shown together with each, itself included, where sets are groups, shape (d,)."""
        size: NDArray[np.int64] = (self.shown * self.shown.sum(axis=1, keepdims=True)).max(axis=0, initial=1)
        return size.astype(np.float64)

    @classmethod
    def of(cls, release: Release, name: str) -> Sets | None:
        """Return a column of a release; None when it shows the true values."""
        column = release.columns.get(name)
        about = release.description.get("columns", {}).get(name, {})
        groups, (rows, weight) = "groups" in about, _looked_at(release)
        if isinstance(column, ReleasedColumn) and {"domain", "shares", "p"} <= set(about):
            return cls._of_values(release, column, about, rows, weight)
        if not isinstance(column, BitSets) or not (groups or {"eta", "p"} <= set(about)):
            return None
        part = column.take(rows)
        shown = part.bits(0, rows.size).astype(np.bool_)
        eta, p = (1, 1.0) if groups else (int(about["eta"]), float(about["p"]))
        return cls(name, shown, weight, np.ones(len(column.labels)), eta, p, groups)._knowing(release, column.labels)

    @classmethod
    def _of_values(
        cls, release: Release, column: ReleasedColumn, about: Mapping[str, Any], rows: Codes, weight: NDArray[np.int64]
    ) -> Sets:
        domain, drawn = tuple(map(str, about["domain"])), np.array(about["shares"], dtype=np.float64)
        place_of = {label: place for place, label in enumerate(domain)}
        if outside := len(set(column.labels) - set(domain)):
            raise DataError(
                f"Column {column.name!r} of the release shows {outside:,} value(s) outside the domain that its "
                "release.json states.\nIt is damaged or incomplete: get it again."
            )
        places = np.array([place_of[label] for label in column.labels], dtype=np.int64)[column.codes[rows]]
        shown = places[:, None] == np.arange(len(domain))
        found = cls(column.name, shown, weight, np.ones(len(domain)), 1, float(about["p"]), drawn=drawn)
        return found._knowing(release, domain)

    def _knowing(self, release: Release, domain: Sequence[str]) -> Sets:
        """Return the same with how common values are: known to everybody, or estimated."""
        known = release.public.base_rates.get(self.name)
        seen = self.weight @ self.shown / max(int(self.weight.sum()), 1)  # how many of all cells show each value
        if known is not None:
            share = np.array([known.weight.get(label, 0) for label in domain], dtype=np.float64)
        elif self.groups:  # all values of a group are taken for equally common
            share = seen / self.size
        else:  # solved for those that have the value
            own, other = self.chances
            share = np.maximum((seen - other) / np.maximum(own - other, 1e-12), 0)
        return replace(self, share=share / max(share.sum(), 1e-300))

    def belief(self, shown: NDArray[np.bool_], prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is believed of some records afterwards, shape (records, d)."""
        weight = prior * np.where(shown, 1.0, self.outside(shown))
        belief: NDArray[np.float64] = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
        return belief


def _looked_at(release: Release) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the rows that are looked at, and how many records each stands for: all, or so many evenly spread ones."""
    weights = row_weights(release)
    last = np.cumsum(np.ones(release.n_rows, dtype=np.int64) if weights is None else weights)
    records = np.linspace(0, max(release.total - 1, 0), min(release.total, ROWS)).astype(np.int64)
    rows, weight = np.unique(np.searchsorted(last, records, side="right"), return_counts=True)
    return rows.astype(np.int32), weight.astype(np.int64)


def _finding(
    confidence: NDArray[np.float64], weight: NDArray[np.int64], people: int, threshold: float, **facts: Any
) -> Finding:
    """Return a finding about all records from those that were looked at."""
    if not confidence.size:
        return Finding(people=people, exposed=0, worst=0.0, facts=facts)
    return Finding(
        people=people,
        exposed=round(_share(confidence > threshold, weight) * people),
        worst=float(confidence.max()),
        mean=_mean(confidence, weight),
        facts={"looked_at": int(weight.sum()), **facts},
    )


def _confidence(sets: Sets, priors: NDArray[np.float64], prior_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the belief in the likeliest value of each record, (n,), where record r starts from priors[prior_of[r]]."""
    confidence = np.empty(len(sets.shown))
    for first in range(0, confidence.size, 1 << 13):
        part = slice(first, first + (1 << 13))
        confidence[part] = sets.belief(sets.shown[part], priors[prior_of[part]]).max(axis=1)
    return confidence


def _mean(confidence: NDArray[np.float64], weight: NDArray[np.int64]) -> float:
    return float(np.average(confidence, weights=weight)) if weight.size else 0.0


def _share(those: NDArray[np.bool_], weight: NDArray[np.int64]) -> float:
    """Return the share of records that those rows stand for."""
    return int(weight[those].sum()) / max(int(weight.sum()), 1)


def _all_known(table: Release) -> Finding:
    """Return that every value is there to read."""
    return Finding(people=table.total, exposed=table.total, worst=1.0, mean=1.0)


def _randomized(release: Release) -> list[str]:
    return [
        name
        for name, column in release.columns.items()
        if column.role is Role.SENSITIVE_QUASI_IDENTIFIER
        and (isinstance(column, BitSets) or "shares" in release.description.get("columns", {}).get(name, {}))
    ]


@dataclass(frozen=True, kw_only=True)
class SetInference(AttackOfColumn):
    """Guess a value from the set, or the value, that a cell shows and from how common each value is (Bayes' rule).

    On the original every value is there to read. Diversity alone does not bound this: closeness does.
    """

    name: ClassVar[str] = "set-inference"
    answered_by: ClassVar[tuple[str, ...]] = ("sensitive-qid-closeness", "local-differential-privacy")
    intruder: ClassVar[str] = (
        "Knows which cells are a person's and how common each value is, and takes the likeliest value of a cell."
    )

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Guessing {self.column!r} from its cell"

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for each randomized column."""
        for name in _randomized(release):
            yield cls(column=name, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        sets = Sets.of(table, self.column)
        if sets is None:
            return _all_known(table)
        confidence = _confidence(sets, sets.share[None, :], np.zeros(len(sets.shown), dtype=np.int64))
        return _finding(confidence, sets.weight, table.total, self.threshold, values=sets.d)

    def guess(self, table: Release) -> Finding | None:
        """Return what somebody would get who always takes the most common value."""
        known = table.public.base_rates.get(self.column)
        if known is None or not known.total or not table.n_rows:
            return None
        most = max(known.weight.values()) / known.total
        return believing(self, most, table.total)


@dataclass(frozen=True, kw_only=True)
class ClassAndCell(SetInference):
    """Guess a value from the cell and from how common each value is in the person's equivalence class.

    The attacker computes the shares of each class back from its cells, as any analyst would, and takes them as prior.
    Shares of few rows are noise. So the attacker bounds the true shares of every class (Bernstein's inequality: all
    bounds hold together with a probability of 99.9 %), and takes the shares within them that are nearest to those of
    the table. A class whose bounds hold the shares of the table tells nothing.

    Closeness bounds what a cell adds to the table's prior. Where a class by itself is farther from it than t, class and
    cell together move the belief by more than t on average (distances are convex). This is a warning where it concerns
    more than one in a hundred classes, or of all records.
    """

    name: ClassVar[str] = "class-and-cell"
    answered_by: ClassVar[tuple[str, ...]] = ()
    intruder: ClassVar[str] = (
        "Knows which cells are a person's, and all quasi-identifiers; computes the shares of the person's class back "
        "from its cells, and takes the likeliest value of the cell given these shares."
    )

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Guessing {self.column!r} from a person's class and cell"

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for each column whose cells were drawn, where there is something to find a class by."""
        for name in _randomized(release) if release.quasi_identifiers else ():
            if "groups" not in release.description.get("columns", {}).get(name, {}):
                yield cls(column=name, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        sets = Sets.of(table, self.column)
        if sets is None:
            return _all_known(table)
        classes = classes_of(table)
        telling, shares = _telling(table, sets, classes)
        place = np.full(classes.size.size, telling.size)  # of each class among those that tell something; else the last
        place[telling] = np.arange(telling.size)
        prior_of = place[classes.class_of[_looked_at(table)[0]]]
        confidence = _confidence(sets, np.vstack([shares, sets.share]), prior_of)
        facts = {"values": sets.d, "classes": int(classes.size.size), "telling": int(telling.size)}
        beyond, warning = self._beyond(table, sets, classes, telling, shares)
        return replace(
            _finding(confidence, sets.weight, table.total, self.threshold, **facts, **beyond), warning=warning
        )

    def _beyond(
        self,
        table: Release,
        sets: Sets,
        classes: Classes,
        telling: NDArray[np.int64],
        shares: NDArray[np.float64],
    ) -> tuple[dict[str, Any], str]:
        """Return which classes tell more than the t that the release states, and a warning where these are not few."""
        moved, t = _moved(table, self.column, shares - sets.share), table.description["columns"][self.column].get("t")
        if moved is None or t is None:
            return {}, ""
        t = float(Fraction(str(t)))
        far, people = int((moved > t).sum()), int(classes.size[telling[moved > t]].sum())
        facts = {"t": t, "moved": float(moved.max(initial=0.0)), "beyond": far, "people_beyond": people}
        if far <= FEW * classes.size.size and people <= FEW * table.total:
            return facts, ""
        return facts, (
            f"Column {self.column!r} has t = {t:g}, which bounds how far one cell moves a belief from the prior. In "
            f"{far:,} of {classes.size.size:,} equivalence classes ({people:,} of {table.total:,} records) all cells "
            f"together move it by more, up to {facts['moved']:.2g}: the shares of a class can be reconstructed. Make "
            "the quasi-identifiers coarser, drop them, or accept that a class tells about its people."
        )


def _moved(table: Release, name: str, change: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return how far each change of belief, (m, d), goes by the distance that is asked of a column, (m,).

    None where its hierarchy is not at hand.
    """
    about, column = table.description["columns"][name], table.columns[name]
    distance = about.get("distance", "equal")
    if distance == "equal":
        return np.asarray(np.abs(change).sum(axis=1) / 2)
    if distance == "ordered":
        return np.asarray(np.abs(np.cumsum(change, axis=1)[:, :-1]).sum(axis=1) / (change.shape[1] - 1))
    spec = column.spec if isinstance(column, BitSets | ReleasedColumn) else None
    if spec is None or spec.hierarchy is None:
        return None
    domain = tuple(map(str, about["domain"]))
    edges = hierarchical_edges(hierarchy_of(name, spec, domain), domain)
    return np.asarray(np.abs(change @ edges.behind.T) @ edges.length)


def _telling(table: Release, sets: Sets, classes: Classes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the classes whose shares surely differ from those of the table, and their nearest shares, (classes, d).

    A class of n rows of which s show a value has a share of it near (s / n - h) / (g - h).
    """
    own, other = sets.chances
    gap = own - other
    if not (gap > 1e-12).all():
        return np.zeros(0, dtype=np.int64), np.zeros((0, sets.d))
    log_chance = math.log(2 * sets.d * max(classes.size.size, 1) / CHANCE)
    variance = np.maximum(own * (1 - own), other * (1 - other))
    # In a smaller class no share is known to better than 1.
    large = np.flatnonzero(classes.size > (2 * log_chance * (variance / gap**2 + 1 / (3 * gap))).min())
    n = classes.size[large, None]
    share = (_shown_in(table, sets, classes, large) / n - other) / gap
    error = (log_chance / 3 + np.sqrt(log_chance**2 / 9 + 2 * log_chance * n * variance)) / (n * gap)
    low, high = np.maximum(share - error, 0), np.minimum(share + error, 1)
    surely = ((low > sets.share) | (high < sets.share)).any(axis=1)
    low, high = low[surely], np.maximum(high[surely], low[surely])
    # The distribution within the bounds that is nearest to that of the table is the same shift for all, cut off.
    least, most = np.full((len(low), 1), -1.0), np.full((len(low), 1), 1.0)
    for _ in range(50):
        shift = (least + most) / 2
        above = np.clip(sets.share + shift, low, high).sum(axis=1, keepdims=True) > 1
        least, most = np.where(above, least, shift), np.where(above, shift, most)
    nearest = np.clip(sets.share + most, low, high)
    return large[surely], nearest / np.maximum(nearest.sum(axis=1, keepdims=True), 1e-300)


def _shown_in(table: Release, sets: Sets, classes: Classes, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many cells of some classes show each value, shape (classes, d)."""
    place = np.full(classes.size.size, -1)
    place[chosen] = np.arange(chosen.size)
    class_of = place[classes.class_of]
    rows = np.flatnonzero(class_of >= 0)
    class_of, weights = class_of[rows], None if classes.weights is None else classes.weights[rows]
    column, counts = table.columns[sets.name], np.zeros((chosen.size, sets.d), dtype=np.int64)
    if isinstance(column, BitSets):
        packed = column.packed[rows]
        for value in range(sets.d):
            word = packed[:, value // 64]
            shows = (word >> word.dtype.type(value % 64)) & word.dtype.type(1) != 0
            counts[:, value] = tally(class_of[shows], chosen.size, weights[shows] if weights is not None else None)
        return counts
    about = table.description["columns"][sets.name]
    place_of = {str(label): value for value, label in enumerate(about["domain"])}
    assert isinstance(column, ReleasedColumn)
    values = np.array([place_of[label] for label in column.labels], dtype=np.int64)[column.codes[rows]]
    return tally(class_of * sets.d + values, chosen.size * sets.d, weights).reshape(chosen.size, sets.d)


@dataclass(frozen=True, kw_only=True)
class Intersection(Attack):
    """Read two randomized columns together: pairs of values that never occur are struck out.

    Which pairs occur, and how often, the intruder learns from the release itself, as any analyst would. The pair of
    columns that gives away most is reported.
    """

    name: ClassVar[str] = "intersection"
    on_demand: ClassVar[bool] = True
    title: ClassVar[str] = "Reading two randomized columns together"
    intruder: ClassVar[str] = (
        "Knows which cells are a person's, and from the release which pairs of values go together."
    )

    columns: tuple[str, ...]

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack when at least two columns are randomized."""
        names = _randomized(release)[:COLUMNS]
        if len(names) > 1:
            yield cls(columns=tuple(names), threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        columns = [sets for name in self.columns if (sets := Sets.of(table, name)) is not None]
        if len(columns) < 2:
            return _all_known(table)
        pairs = []
        for one, other in combinations(columns, 2):
            joint = _joint(one, other)
            for told, by, table_of in ((one, other, joint), (other, one, joint.T)):
                confidence, alone = _together(told, by, table_of)
                pairs.append((_mean(confidence, told.weight), told, by, confidence, alone))
        worst = max(pairs, key=lambda pair: pair[0])
        _, told, by, confidence, alone = worst
        return _finding(
            confidence,
            told.weight,
            table.total,
            self.threshold,
            told=told.name,
            by=by.name,
            pinned=_share(confidence > 0.999, told.weight),
            alone=_share(alone > self.threshold, told.weight),
        )

    def guess(self, table: Release) -> Finding | None:
        """Return what somebody would get who takes the most common value of the column where that is likeliest."""
        found = [SetInference(column=name, threshold=self.threshold).guess(table) for name in self.columns]
        return max((guess for guess in found if guess is not None), key=lambda guess: guess.worst, default=None)


def _joint(one: Sets, other: Sets) -> NDArray[np.float64]:
    """Return how common each pair of values seems to be, pairs that may be noise left out, shape (d, d')."""
    n = max(int(one.weight.sum()), 1)
    counted = (one.shown * one.weight[:, None]).astype(np.float32)
    table = counted.T @ other.shown.astype(np.float32) / np.float32(n)
    table = table.astype(np.float64)
    error = np.ones((1, 1))
    for position, sets in enumerate((one, other)):
        if sets.groups:  # values of a group are taken for equally common, and nothing is noise
            table = table / np.expand_dims(sets.size, 1 - position)
            error = error * 0
            continue
        own, less = (np.expand_dims(each, 1 - position) for each in sets.chances)
        gap = np.maximum(own - less, 1e-9)
        total = table.sum(axis=position, keepdims=True)
        table = (table - less / sets.eta * total) / gap
        error = error * (less * (1 - less) + (own - less) * 0.5) / gap**2
    sure = np.sqrt(np.maximum(error, 1e-12) / n) * SURE
    kept = np.where(table > sure, table, 0.0)
    kept = kept + 1e-12 * np.outer(one.share, other.share)  # where nothing is sure, the columns count as independent
    # Rows as common as they are known to be.
    joint: NDArray[np.float64] = kept / np.maximum(kept.sum(axis=1, keepdims=True), 1e-300) * one.share[:, None]
    return joint


def _together(told: Sets, by: Sets, joint: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how sure one is of a column's values with the help of another, and without."""
    together, alone = np.empty(len(told.shown)), np.empty(len(told.shown))
    for first in range(0, together.size, 1 << 13):
        part = slice(first, first + (1 << 13))
        seen = by.shown[part]
        likelihood = np.where(seen, 1.0, by.outside(seen)) @ joint.T  # of the other cell, for each value told
        likelihood = np.maximum(likelihood, 1e-300)
        weight = likelihood * np.where(told.shown[part], 1.0, told.outside(told.shown[part]))
        total = weight.sum(axis=1)
        together[part] = np.where(total > 1e-250, weight.max(axis=1) / np.maximum(total, 1e-300), 0.0)
        alone[part] = told.belief(told.shown[part], told.share).max(axis=1)
    return together, alone


@dataclass(frozen=True, kw_only=True)
class SecondRelease(Attack):
    """Intersect two releases of the same people.

    With `other`, a release whose rows stand in the same order, the two are intersected as they are. Without, people are
    made up from base rates and published twice with the same parameters: what a second release would give away.
    """

    name: ClassVar[str] = "second-release"
    on_demand: ClassVar[bool] = True
    intruder: ClassVar[str] = (
        "Has two releases of the same people, drawn anew each time, and knows which cells are a person's."
    )

    column: str
    other: Release | None = None

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Publishing {self.column!r} a second time"

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for each column whose sets were drawn: groups of values are the same again."""
        for name in _randomized(release):
            if "groups" not in release.description.get("columns", {}).get(name, {}):
                yield cls(column=name, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        sets = Sets.of(table, self.column)
        if sets is None:
            return _all_known(table)
        if self.other is not None:
            again = Sets.of(self.other, self.column)
            counted = table.weights is not None or self.other.weights is not None  # then rows are in no order
            if again is None or counted or self.other.n_rows != table.n_rows or again.d != sets.d:
                raise DataError(
                    f"A second release was given for column {self.column!r}, but it is not one of the same people.\n"
                    "Give a randomized release with the same rows, in the same order."
                )
            first, second = sets.shown, again.shown
        elif sets.groups:
            first, second, again = sets.shown, sets.shown, sets
        else:
            rng = np.random.default_rng(0)
            values = rng.choice(sets.d, DRAWS, p=sets.share)
            first, second, again = _drawn(rng, sets, values), _drawn(rng, sets, values), sets
        sure = again.belief(second, sets.belief(first, sets.share)).max(axis=1)
        weight = sets.weight if first is sets.shown else np.ones(sure.size, dtype=np.int64)
        return _finding(
            sure, weight, table.total, self.threshold, pinned=_share(sure > 0.999, weight), made_up=self.other is None
        )

    def guess(self, table: Release) -> Finding | None:
        """Return what one release alone gives away."""
        return SetInference(column=self.column, threshold=self.threshold).guess(table)


def _drawn(rng: np.random.Generator, sets: Sets, values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return sets for made-up people: the true value first with probability p, then others in random order."""
    if sets.drawn is not None:
        others = rng.choice(sets.d, values.size, p=sets.drawn)
        values = np.where(rng.random(values.size) < sets.p, values, others)
        alone: NDArray[np.bool_] = values[:, None] == np.arange(sets.d)
        return alone
    order = rng.random((values.size, sets.d))
    order[np.arange(values.size), values] -= rng.random(values.size) < sets.p
    chosen = np.argpartition(order, sets.eta - 1, axis=1)[:, : sets.eta]
    shown = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(shown, chosen, True, axis=1)
    return shown
