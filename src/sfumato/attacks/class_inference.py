"""What somebody believes of a sensitive column who finds a person's class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.attacks.base import FACTOR, RARE, Asked, AttackOfColumn, Finding, checked_factor
from sfumato.data.distinct import entries_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind, Role
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import Values, at_most, classes_of, sensitive_column, values_of
from sfumato.models.judging.posteriors import Secrets, chances
from sfumato.models.judging.sets_of_values import held_by
from sfumato.models.judging.weights import row_weights, tally, tally_keys

NEAR = 1e-9
FEWEST = 4  # cells that have to be shown beside a value of an unchanged column


@dataclass(frozen=True)
class _Likelier:
    """A rare value that a class makes many times as likely."""

    belief: float
    share: float  # in the whole table
    label: str


@dataclass(frozen=True, eq=False)
class _Believed:
    """What is believed in each of c classes."""

    size: NDArray[np.int64]  # (c,)
    highest: NDArray[np.float64]  # (c,): the belief in the likeliest value
    exposes: NDArray[np.bool_]  # (c,): whether a value is believed in more than the threshold and its base rate
    likelier: NDArray[np.bool_]  # (c,): whether a rare value is more than so many times as likely as in the table
    gain: float  # the largest belief in a value beyond its base rate
    largest: _Likelier | None  # of these rare values, the one that is believed in most beyond its base rate


@dataclass(frozen=True, kw_only=True)
class ClassInference(AttackOfColumn):
    """Find a person's class by quasi-identifiers and believe in a sensitive value as often as the class shows it.

    What l-diversity and t-closeness are about: homogeneity and skewness (Machanavajjhala et al. 2007, Li et al. 2007).
    A label, and what is withheld (`*`), counts for the values below it in proportion to base rates: those that
    everybody knows, else the shares of the whole table. A person is exposed when some value is believed in more than
    the threshold and more than its base rate. A person is also exposed when a value below 5 % of the table is more than
    `factor` times as likely as in the table; `by_gain` counts the people whom only this rule exposes. This second rule
    leaves numbers and dates to `Proximity`. Of a masked cell an unchanged column beside it may tell more than the class
    does: then the attacker believes what is shown where that column has the same value. The mean is the share of people
    whose value the intruder names. Where people have several values in their rows, each is believed in as often as
    people of the class have it.

    >>> table = {"age": ["20-29"] * 4 + ["30-39"] * 2, "illness": ["flu"] * 3 + ["HIV", "HIV", "cold"]}
    >>> release = Release.of(table, age="quasi-identifier", illness="sensitive")
    >>> print(ClassInference(column="illness").on(release))
    4 of 6 exposed, confidence up to 75 %
    """

    name: ClassVar[str] = "class-inference"
    answered_by: ClassVar[tuple[str, ...]] = (
        *("l-diversity", "t-closeness", "beta-likeness", "delta-disclosure"),
        *("alpha-diversity", "multi-diversity"),
    )

    factor: float = FACTOR  # how many times as likely a class may make a rare value

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_factor(self.factor)

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Learning {self.column!r} from a person's class"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        return (
            "Knows that a person is in the table and all their quasi-identifiers, finds the class, and believes in a "
            f"value of {self.column!r} as often as the class shows it; of a masked cell, also as an unchanged column "
            "of the same row tells."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for each sensitive column of single values, where there is something to find a class by."""
        for column in release.columns.values() if release.quasi_identifiers else ():
            if column.role is Role.SENSITIVE and isinstance(column, ReleasedColumn):
                yield cls(column=column.name, threshold=asked.threshold, factor=asked.factor)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        if self.column in table.masked_columns:
            return self._on_masked(table)
        found = (self._by_people if self._read(table).several else self._by_values)(table)
        finding = Finding.of(found.highest, found.exposes | found.likelier, found.size, **self._facts(found))
        return _with_largest(finding, found, int(found.size[found.likelier & ~found.exposes].sum()))

    def _facts(self, found: _Believed) -> dict[str, Any]:
        certain = int(found.size[found.highest >= 1 - NEAR].sum())
        return {"classes": int(found.size.size), "certain": certain, "gain": found.gain, "factor": self.factor}

    def guess(self, table: Release) -> Finding | None:
        """Believe in the most common value of the column for everybody: nobody is exposed by that."""
        if self.column in table.masked_columns:
            rates = table.public.base_rates[self.column]
            common = max([*rates.weight.values(), rates.missing]) / max(rates.total, 1)
        else:
            column = self._read(table)
            if column.several:
                held = held_by(classes_of(table), column)
                share = held.counts.total(held.n_values).max(initial=0) / max(table.total, 1)
                return Finding(people=table.total, exposed=0, worst=float(share), mean=float(share))
            values = values_of(column, table.n_rows)
            total = tally(values.value_of[column.codes], len(values), row_weights(table))
            common = float(_known(total, values).max(initial=0) / max(int(_known(total, values).sum()), 1))
        return Finding(people=table.total, exposed=0, worst=common, mean=common)

    def _read(self, table: Release) -> ReleasedColumn:
        return sensitive_column(table, self.column, cast(PrivacyModel, self))

    def _by_people(self, table: Release) -> _Believed:
        """Count the people of each class who have a value among theirs."""
        held = held_by(classes_of(table), self._read(table))
        counts, of_class = held.counts, held.counts.class_of
        total, people, whole = counts.total(held.n_values)[counts.value], table.total, counts.size[of_class]
        above = ~at_most(counts.count, whole, Fraction(str(self.threshold))) & (counts.count * people > whole * total)
        highest = np.zeros(counts.size.size)
        np.maximum.at(highest, of_class, counts.count / whole)
        belief, share, n_classes = counts.count / whole, total / people, counts.size.size
        likelier = ~at_most(counts.count * people, whole * total, Fraction(str(self.factor)))
        likelier &= (total * RARE.denominator < people * RARE.numerator) & _counts_gains(self._read(table))
        return _Believed(
            size=counts.size,
            highest=highest,
            exposes=_any(above, of_class, n_classes),
            likelier=_any(likelier, of_class, n_classes),
            gain=float((belief - share).max(initial=0.0)),
            largest=_largest(belief, share, likelier, counts.value),
        )

    def _by_values(self, table: Release) -> _Believed:
        """Count values in whole numbers; the belief in x is (count(x) T + withheld total(x)) / (size T)."""
        column = self._read(table)
        classes, values = classes_of(table), values_of(column, table.n_rows)
        counts = classes.counts(column, values.value_of)
        total, size = _known(counts.total(len(values)), values), counts.size
        hidden = total[counts.value] == 0
        withheld = np.zeros(size.size, dtype=np.int64)
        withheld[counts.class_of[hidden]] = counts.count[hidden]
        of_class, value, count = (part[~hidden] for part in (counts.class_of, counts.value, counts.count))
        known = int(total.sum())
        share = total / max(known, 1)
        part, whole = count * known + withheld[of_class] * total[value], size[of_class] * known
        above = ~at_most(part, whole, Fraction(str(self.threshold)))
        above &= count * known > (size - withheld)[of_class] * total[value]
        highest = withheld / np.maximum(size, 1) * share.max(initial=0.0)  # a common value that the class does not show
        np.maximum.at(highest, of_class, part / np.maximum(whole, 1))
        belief, rare = part / np.maximum(whole, 1), total * RARE.denominator < known * RARE.numerator
        likelier = rare[value] & ~at_most(part, size[of_class] * total[value], Fraction(str(self.factor)))
        likelier &= _counts_gains(column)
        labels = [shown[0] for shown in values.labels] + [""] * values.has_missing
        return _Believed(
            size=size,
            highest=highest,
            exposes=_any(above, of_class, size.size),
            likelier=_any(likelier, of_class, size.size),
            gain=float((belief - share[value]).max(initial=0.0)),
            largest=_largest(belief, share[value], likelier, value, labels),
        )

    def _on_masked(self, table: Release) -> Finding:
        """Believe what the class tells and, where the cell is masked, what an unchanged column beside it tells."""
        secrets = Secrets.of(table, (self.column,), cast(PrivacyModel, self))
        found = self._by_labels(secrets)
        facts = self._facts(found)
        masked = (secrets.labels[0] >= secrets.domains[0].n_leaves).any()
        carried = table.carried.column_names if masked and table.carried is not None else ()
        told = {name: sure for name in carried if (sure := self._told_by(table, name, secrets)).any()}
        if not told:
            finding = Finding.of(found.highest, found.exposes | found.likelier, found.size, **facts)
            return _with_largest(finding, found, int(found.size[found.likelier & ~found.exposes].sum()))
        group_of, _ = secrets.groups(0, knowing_others=False)
        sure, weights = found.highest[group_of], row_weights(table)
        exposed = found.exposes[group_of]
        for beside in told.values():
            sure, exposed = np.maximum(sure, beside), exposed | (beside > 0)
        each = np.ones(table.n_rows, dtype=np.int64) if weights is None else weights
        unchanged = {name: int(each[beside > 0].sum()) for name, beside in told.items()}
        likelier = found.likelier[group_of] & ~exposed
        finding = Finding.of(sure, exposed | likelier, weights, **facts, unchanged=unchanged)
        return _with_largest(finding, found, int(each[likelier].sum()))

    def _told_by(self, table: Release, name: str, secrets: Secrets) -> NDArray[np.float64]:
        """Return how sure one is of each masked cell, (n,), by cells that are shown beside the same unchanged value.

        0 where that is nothing, or no more than the threshold or the base rate. A value is used that four shown cells
        or more stand beside. The column is used if it guesses shown cells well, each from the others: at least half of
        the wrong guesses without it have to go.
        """
        assert table.carried is not None
        domain, label, n = secrets.domains[0], secrets.labels[0].astype(np.int64), table.n_rows
        nothing = np.zeros(n)
        array = table.carried.column(name)
        if pa.types.is_nested(array.type):
            return nothing
        known = entries_of(array)[0].astype(np.int64)
        shown, leaves = label < domain.n_leaves, domain.n_leaves
        weights = row_weights(table)
        keys, count = tally_keys((known * leaves + label)[shown], None if weights is None else weights[shown])
        if not keys.size:
            return nothing
        value, leaf = np.divmod(keys, leaves)
        # The pairs of each value, the largest last; the rival of a pair is the largest of the others.
        order = np.lexsort((count, value))
        value, leaf, count = value[order], leaf[order], count[order]
        last = np.append(value[1:] != value[:-1], True)
        place, end = np.cumsum(last) - last, np.flatnonzero(last)
        many = np.bincount(place, weights=count)[place]
        rival = np.where(last, np.where(np.append(True, last[:-1]), 0, np.append(0, count[:-1])), count[end][place])
        common = domain.common[leaf[end]][place]
        least = np.maximum(self.threshold, common) * (many - 1)
        often = many >= FEWEST
        right = often & (count - 1 > least) & (count - 1 >= rival)
        wrong = often & ~right & (rival > least)
        guessed = right | wrong
        if 2 * int(count[right].sum()) < float(count[guessed] @ (1 + common[guessed])) or not right.any():
            return nothing
        used = end[(often & last & (count > np.maximum(self.threshold, common) * many))[end]]
        sure_of, guess_of = np.zeros(int(known.max()) + 1), np.full(int(known.max()) + 1, -1)
        sure_of[value[used]], guess_of[value[used]] = (count / many)[used], leaf[used]
        below = (domain.first[label] <= guess_of[known]) & (guess_of[known] <= domain.last[label])
        return np.where(~shown & below, sure_of[known], 0.0)

    def _by_labels(self, secrets: Secrets) -> _Believed:
        """Spread labels over the values below them, by public base rates."""
        domain = secrets.domains[0]
        share = domain.common
        bounds = domain.bounds(Fraction(str(self.threshold)), "prior", missing_is_sensitive=True)
        total, factor = max(sum(domain.weight), 1), Fraction(str(self.factor))
        gained = [factor * Fraction(weight, total) for weight in domain.weight]
        is_rare = [Fraction(weight, total) < RARE for weight in domain.weight]
        least = [min(bound, many) if rare else bound for bound, many, rare in zip(bounds, gained, is_rare, strict=True)]
        rare, many, sure = np.array(is_rare), np.array(gained, dtype=float), np.array(bounds, dtype=float)
        lower = np.array([one < bound for one, bound in zip(least, bounds, strict=True)])
        size: NDArray[Any] = np.zeros(0, dtype=np.int64)
        highest, exposes, likelier, gain = np.zeros(0), np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_), 0.0
        largest: _Likelier | None = None
        for size, found in chances(secrets, 0, "prior", least, knowing_others=False):
            if not highest.size:
                highest, exposes, likelier = np.zeros(size.size), *np.zeros((2, size.size), dtype=np.bool_)
            group, leaf, chance = found.group, found.leaf, found.chance
            np.maximum.at(highest, group, chance)
            gains = rare[leaf] & ~found.kept & (lower[leaf] | (chance > many[leaf]))
            likelier |= _any(gains, group, size.size)
            exposes |= _any(~found.kept & (~lower[leaf] | (chance > sure[leaf] + NEAR)), group, size.size)
            gain = max(gain, float((chance - share[leaf]).max(initial=0.0)))
            here = _largest(chance, share[leaf], gains, leaf, [name or "" for name in domain.names])
            largest = max(filter(None, (largest, here)), key=lambda each: each.belief - each.share, default=None)
        return _Believed(size, highest, exposes, likelier, gain, largest)


def _known(total: NDArray[np.int64], values: Values) -> NDArray[np.int64]:
    """Return how often each value occurs, without what is withheld unless all is."""
    known = total.copy()
    if ROOT in values.known:
        known[values.known.index(ROOT)] = 0
    return known if known.any() else total


def _counts_gains(column: ReleasedColumn) -> bool:
    """Return whether a rare value may expose people by its gain: most amounts and days occur once or twice anyway."""
    return column.kind not in (Kind.NUMBER, Kind.DATE)


def _largest(
    belief: NDArray[np.float64],
    share: NDArray[np.float64],
    likelier: NDArray[np.bool_],
    value: NDArray[Any],
    labels: Sequence[str] = (),
) -> _Likelier | None:
    """Return, of pairs of a class and a value that it makes many times as likely, the one that gains most."""
    pairs = np.flatnonzero(likelier)
    if not pairs.size:
        return None
    best = pairs[np.argmax((belief - share)[pairs])]
    return _Likelier(float(belief[best]), float(share[best]), labels[int(value[best])] if labels else "")


def _with_largest(finding: Finding, found: _Believed, by_gain: int) -> Finding:
    """Add how many people only a gain exposes, and the largest gain of a rare value."""
    facts: dict[str, Any] = {**finding.facts, "by_gain": by_gain}
    if found.largest is None:
        return replace(finding, facts=facts)
    belief, share, label = found.largest.belief, found.largest.share, found.largest.label
    facts["largest_gain"] = {"in_table": share, "in_class": belief, "times": belief / share}
    return replace(finding, facts=facts, private={"value": label} if label else {})


def _any(chosen: NDArray[np.bool_], of_class: NDArray[Any], n_classes: int) -> NDArray[np.bool_]:
    found = np.zeros(n_classes, dtype=np.bool_)
    found[of_class[chosen]] = True
    return found
