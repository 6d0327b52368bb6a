"""What a release says about a randomized column, and whether its cells can have come about that way.

Each cell shows `eta` values of a domain of d. With probability p they are the true value and eta - 1 others, otherwise
any eta: so the true value is shown with probability g, and any other given value with probability h. Where a release
states `shares` instead of eta, a cell shows one value: the true one with probability p, otherwise any, each value with
its share (post randomization).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.base_rates import BaseRates
from sfumato.data.bit_sets import BitSets
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.weights import Integers, row_weights, tally

CHANCE = 1e-7  # how unlikely all counts of a column together must be before they are no accident
_STEP = 1 << 16  # rows whose sets are laid open at once


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedColumn:
    """A column as published, with the parameters that the release states. Sizes: n rows, d values."""

    name: str
    domain: tuple[str, ...]
    eta: int
    p: Fraction
    size: Integers  # (n,): members of each cell
    shown: Integers  # (d,): how many cells show each value
    in_order: bool
    spec: ColumnSpec | None
    weights: Integers | None  # (n,): how many published cells each stands for
    shares: tuple[Fraction, ...] | None = None  # (d,): how likely each value is drawn; None: as likely as any other
    prior: Integers | None = None  # (d,): how common each value is before the release, as it states; None: it does not

    @property
    def d(self) -> int:
        """The size of the domain."""
        return len(self.domain)

    @property
    def g(self) -> Fraction:
        """The probability that a cell shows the true value."""
        return self.p + (1 - self.p) * Fraction(self.eta, self.d)

    @property
    def h(self) -> Fraction:
        """The probability that a cell shows another given value."""
        return self.p * Fraction(self.eta - 1, self.d - 1) + (1 - self.p) * Fraction(self.eta, self.d)

    @property
    def rho(self) -> Fraction:
        """How much less likely a cell is when the true value is not in it: 0 means that it always is."""
        if self.eta == self.d:
            return Fraction(1)  # every cell is the whole domain, whatever is true
        return (1 - self.p) / (1 - self.p + self.p * Fraction(self.d, self.eta))

    @property
    def parameters(self) -> str:
        """What says how cells were drawn, for people."""
        return "p and eta" if self.shares is None else "p and shares"

    @property
    def chances(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probability that a cell shows each value when that is the true one, and when another is, (d,) each."""
        if self.shares is None:
            return np.full(self.d, float(self.g)), np.full(self.d, float(self.h))
        other = float(1 - self.p) * np.array([float(share) for share in self.shares])
        return float(self.p) + other, other


STATED = ("domain", "eta", "p")  # what a release says of a randomized column


def is_stated(release: Release, name: str) -> bool:
    """Whether a release says how the cells of a column were made."""
    return set(release.description.get("columns", {}).get(name, {})) >= set(STATED)


def randomized_column(release: Release, name: str, model: PrivacyModel) -> RandomizedColumn:
    """Return a column with what the release states of it, or raise when it states too little or contradicts itself."""
    asked = f"{model.name} is asked of column {name!r}"
    column = release.columns.get(name)
    if column is None:
        raise DataError(f"{asked}, which the release does not have.\nIt has: {', '.join(release.order)}.")
    about = release.description.get("columns", {}).get(name, {})
    absent = [key for key in STATED if key not in about and (key != "eta" or "shares" not in about)]
    if absent:
        raise DataError(
            f"{asked}, but the release does not state its {', '.join(absent)}: without them it cannot be decided how "
            "likely each value of a cell is, only how many are open (sensitive-qid-diversity).\n"
            "Judge a folder that `sfumato anonymize` wrote, with its release.json."
        )
    domain, eta, p, shares = _stated(about, asked)
    weights = row_weights(release)
    if isinstance(column, BitSets) and shares is None:
        found, size, in_order = column.labels, column.size, column.in_order
        shown = _shown_in_sets(column, weights)
    elif isinstance(column, ReleasedColumn):
        declared = column.spec.domain if column.spec is not None else None
        found, size, in_order = declared or domain, np.ones(release.n_rows, dtype=np.int64), True
        shown = _shown_alone(column, domain, weights, asked)
    else:
        raise DataError(f"{asked}, which holds sets over no declared domain.\nState its domain in release.json.")
    if found != domain:
        raise DataError(
            f"{asked}, whose domain in release.json is not the one that the plan declares "
            f"({len(domain):,} against {len(found):,} values).\nPublish the declared domain, in its order."
        )
    return RandomizedColumn(
        name=name,
        domain=domain,
        eta=eta,
        p=p,
        size=size,
        shown=shown,
        in_order=in_order,
        spec=column.spec,
        weights=weights,
        shares=shares,
        prior=_stated_prior(about, domain, asked),
    )


def _shown_in_sets(column: BitSets, weights: Integers | None) -> Integers:
    """Return how many cells of sets show each value of the domain."""
    shown = np.zeros(len(column.labels), dtype=np.int64)
    for first in range(0, len(column.packed), _STEP):
        bits = column.bits(first, first + _STEP)
        shown += bits.sum(axis=0, dtype=np.int64) if weights is None else weights[first : first + _STEP] @ bits
    return shown


def _shown_alone(column: ReleasedColumn, domain: tuple[str, ...], weights: Integers | None, asked: str) -> Integers:
    """Return how many cells of one value show each value of the domain."""
    place_of = {label: place for place, label in enumerate(domain)}
    outside = sum(label not in place_of for label in column.labels)
    if outside:
        raise DataError(f"{asked}, which shows {outside:,} value(s) outside its domain of {len(domain):,}.")
    shown = np.zeros(len(domain), dtype=np.int64)
    shown[[place_of[label] for label in column.labels]] = tally(column.codes, len(column.labels), weights)
    return shown


def _stated(about: Mapping[str, Any], asked: str) -> tuple[tuple[str, ...], int, Fraction, tuple[Fraction, ...] | None]:
    domain, eta, p, given = about["domain"], about.get("eta", 1), about["p"], about.get("shares")
    shares: tuple[Fraction, ...] | None = None
    try:
        values, chance = tuple(map(str, domain)), Fraction(str(p))
        fine = (
            not isinstance(domain, str)
            and isinstance(eta, int)
            and len(set(values)) == len(values) >= 2
            and 1 <= eta <= len(values)
            and 0 <= chance <= 1
        )
        if given is not None:
            shares = tuple(Fraction(str(share)) for share in given)
            fine = fine and eta == 1 and len(shares) == len(values) and min(shares) >= 0 and sum(shares) == 1
    except (TypeError, ValueError, ZeroDivisionError):
        fine = False
    if not fine:
        raise DataError(
            f"{asked}, whose domain, eta, shares or p in release.json cannot be right: at least two different values, "
            "eta from 1 to their number, or a share of each that add up to 1, p from 0 to 1.\nWrite the release again."
        )
    return values, eta, chance, shares


def _stated_prior(about: Mapping[str, Any], domain: tuple[str, ...], asked: str) -> Integers | None:
    """Return the base rates that a release states of a column, in the order of the domain."""
    if "base_rates" not in about:
        return None
    stated = BaseRates.from_dict(about["base_rates"]).weight
    weights = np.array([stated.get(value, 0) for value in domain], dtype=np.int64)
    if set(stated) != set(domain) or (weights <= 0).any():
        raise DataError(
            f"{asked}, whose base rates in release.json cannot be right: {int((weights > 0).sum()):,} of "
            f"{len(domain):,} values of its domain have a weight above 0.\n"
            "Each value needs one. Write the release again."
        )
    return weights


def refuse_shares(column: RandomizedColumn, model: PrivacyModel, why: str) -> None:
    """Raise where a model asks for what draws by shares of the table cannot promise."""
    if column.shares is not None:
        raise DataError(
            f"{model.name} is asked of column {column.name!r}{why}, but its cells were drawn by how common values are "
            "in the table (post randomization), which tells of the table.\n"
            'Ask for sensitive-qid-closeness with prior = "table", or randomize it otherwise.'
        )


def base_rates(release: Release, column: RandomizedColumn) -> Integers | None:
    """Return how often each value of the domain occurs in the original, shape (d,), where that is taken as known."""
    known = release.public.base_rates.get(column.name)
    if known is None or not known.counted:
        return None
    counts = np.array([known.weight.get(value, 0) for value in column.domain], dtype=np.int64)
    if counts.sum() != release.total or known.total != release.total:
        raise DataError(
            f"The base rates of column {column.name!r} count {known.total:,} records, the release has "
            f"{release.total:,}.\nGive the base rates of the table that this release was made from."
        )
    return counts


def public_prior(release: Release, column: RandomizedColumn) -> Integers | None:
    """Return how common each value is before the release, (d,): as it states, else as is known; None: it is unknown."""
    known = release.public.base_rates.get(column.name)
    if column.prior is not None or known is None or known.counted:
        return column.prior if column.prior is not None else base_rates(release, column)
    weights = np.array([known.weight.get(value, 0) for value in column.domain], dtype=np.int64)
    if without := int((weights == 0).sum()):
        raise DataError(
            f"The base rates of column {column.name!r} give no weight to {without:,} of the {column.d:,} values of its "
            "domain: nothing can be said about the belief in these.\nGive each value a weight above 0."
        )
    return weights


def _states_another_prior(release: Release, column: RandomizedColumn) -> bool:
    """Whether a release states other base rates than those of the plan, or than counts on the public grid.

    The grid: one weight for each begun step of a count; a step has as many rows as the square root of all rows, and at
    least 10.
    """
    known = release.public.base_rates.get(column.name)
    if column.prior is None or known is None:
        return False
    if known.counted:
        counts, step = base_rates(release, column), max(10, math.isqrt(release.total))
        assert counts is not None
        expected = [int(count) // step + 1 for count in counts]
    else:
        expected = [known.weight.get(value, 0) for value in column.domain]
    whole, stated = sum(expected), int(column.prior.sum())
    return any(int(own) * whole != each * stated for own, each in zip(column.prior, expected, strict=True))


def faults(release: Release, column: RandomizedColumn) -> Iterator[str]:
    """Yield what is wrong with the cells of a column: sizes, order, or counts that chance does not explain."""
    if (column.size != column.eta).any():
        yield "cells of another size than eta"
    if not column.in_order:
        yield "cells that are not in the order of the domain"
    if _states_another_prior(release, column):
        yield "base rates in release.json that are neither those of the plan nor counts on the public grid"
    if implausible(column, base_rates(release, column), release.total):
        yield f"values shown more or less often than {column.parameters} allow"


def implausible(column: RandomizedColumn, known: Integers | None, n_rows: int) -> bool:
    """Whether some value is shown more or less often than chance explains.

    With base rates, the count of each value has a known mean and variance. Without them, it must still lie between what
    is expected when nobody has the value and when everybody has. Tails are bounded by Bennett's inequality.
    """
    g, h = column.chances
    most = known if known is not None else np.full(column.d, n_rows)
    least = known if known is not None else np.zeros(column.d, dtype=np.int64)
    log_chance = math.log(CHANCE / (2 * column.d))
    for having, sign in ((most, 1), (least, -1)):
        mean = having * g + (n_rows - having) * h
        variance = having * g * (1 - g) + (n_rows - having) * h * (1 - h)
        beyond = np.maximum(sign * (column.shown - mean), 0.0)
        if (log_tail(beyond, variance) < log_chance).any():
            return True
    return False


def log_tail(beyond: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a bound on the logarithm of the chance to be so far beyond the mean, each record adding at most one."""
    far = beyond > 1e-6 * np.maximum(variance, 1)  # rounding of the mean is nothing to wonder about
    ratio = beyond / np.maximum(variance, 1e-12)
    return np.where(far, -variance * ((1 + ratio) * np.log1p(ratio) - ratio), 0.0)
