"""Linear regression on a generalized release.

A range of a covariate is taken by its middle, or by the figure of its class: what is left open then adds to the noise
and does not pull coefficients to zero, as drawing values would (Berkson 1950). A word that stands for several counts in
parts. An outcome in ranges is fitted by the likelihood of its ranges, with normal errors (Stewart 1983). Standard
errors are those of White (1980), which do not take errors for equally large, and by people where these are numbered.
That values lie around the middle of their ranges, and evenly behind a word, is an assumption: what changes when they
crowd on one side, in all ranges alike or in each for itself, is an error of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, as_arrow
from sfumato.errors import DataError
from sfumato.receiving.estimates import CROWDED, shown
from sfumato.receiving.rows import Rows
from sfumato.receiving.spreading import Rates, spread
from sfumato.receiving.values import Floats, Groups, Ranges

INTERCEPT = "(intercept)"
STEPS, TOLERANCE = 500, 1e-8
SPARE = 2  # rows beyond one a term that it takes at least: fewer fit so well by chance that errors look like none
ALIKE = 1e-4  # lengths of columns that can be compared without losing digits
WELL_APART = 1e-6  # the least eigenvalue of products of columns of length 1
_TINY = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class Regression:
    """Estimated coefficients with standard errors."""

    outcome: str
    names: tuple[str, ...]  # of the terms: a column, or a column and one of its values
    coefficients: Floats
    std_error: Floats  # of both errors together
    spread_error: Floats  # how much changes where values crowd on one side of their ranges
    rows: int  # that were used
    left_out: int  # rows with a missing or an open cell among those that it takes

    def table(self) -> pa.Table:
        """Return one row for each term: `term`, `coefficient`, `std_error` and, as a part of it, `spread_error`."""
        figures = {"coefficient": self.coefficients, "std_error": self.std_error, "spread_error": self.spread_error}
        return pa.table({"term": pa.array(self.names), **{name: as_arrow(part) for name, part in figures.items()}})

    def as_dict(self) -> dict[str, Any]:
        """Return the regression as plain data."""
        return {
            "outcome": self.outcome,
            "rows": self.rows,
            "left_out": self.left_out,
            "terms": self.table().to_pylist(),
        }

    def __getitem__(self, name: str) -> tuple[float, float]:
        """Return a coefficient and its standard error."""
        place = self.names.index(name)
        return float(self.coefficients[place]), float(self.std_error[place])

    def __str__(self) -> str:
        terms = zip(self.names, self.coefficients, self.std_error, strict=True)
        lines = [f"{name}: {shown(coefficient)} ± {shown(error)}" for name, coefficient, error in terms]
        why = ": they show nothing or miss a value, and errors do not speak of them" if self.left_out else ""
        return "\n".join([f"{self.outcome}, from {self.rows:,} rows ({self.left_out:,} left out{why})", *lines])


def regression_of(
    outcome: Ranges | Groups,
    covariates: Sequence[Ranges | Groups],
    *,
    value: str | None,
    rates: Mapping[str, Rates],
    rows: Rows,
) -> Regression:
    """Return the regression of an outcome, numbers or the share of one value, on some columns."""
    n_rows = outcome.codes.size
    low, high = _outcome(outcome, value, rates)
    parts, names, room = [np.ones((n_rows, 1))], [INTERCEPT], [np.zeros((n_rows, 1, 2))]
    label_of = [np.zeros(n_rows, dtype=np.int32)]  # of each term
    for column in covariates:
        part, terms, either_way = _terms(column, rates.get(column.name), rows.count)
        parts.append(part)
        names += terms
        room.append(either_way)
        label_of += [column.codes] * len(terms)
    design, leeway = np.hstack(parts), CROWDED * np.hstack(room)
    used = np.isfinite(design).all(axis=1) & np.isfinite(low) & np.isfinite(high)
    used &= rows.weight > 0
    design, low, high = design[used], low[used], high[used]
    every, rows = rows.total, rows.only(used)
    if rows.units <= design.shape[1] + SPARE or not tell_apart(design):
        raise DataError(
            f"A regression with {design.shape[1]:,} terms was asked for, which {rows.units:,} {rows.what} do not tell "
            "apart, or without an error to go by.\nAsk for fewer columns, or for columns that differ, of "
            f"{design.shape[1] + SPARE + 1:,} {rows.what} at least."
        )
    fit = _fitted(design, low, high, rows)
    moved = _moved_by_outcome(design, (low, high, rows), fit.coefficients) ** 2
    for place in range(len(names)):
        shift = leeway[used, place]
        moved += _moved(design, place, shift, (low, high, rows), fit.coefficients) ** 2
        moved += fit.moved_by_label(design, place, label_of[place][used], shift.max(axis=1), rows)
    return Regression(
        outcome=outcome.name if value is None else f"{outcome.name} = {value}",
        names=tuple(names),
        coefficients=fit.coefficients,
        std_error=np.sqrt(fit.std_error(design, rows) ** 2 + moved),
        spread_error=np.sqrt(moved),
        rows=rows.total,
        left_out=every - rows.total,
    )


def tell_apart(design: Floats) -> bool:
    """Whether no column of a design, (n, p), follows from the others: by products of columns where that is plain."""
    scale = np.sqrt((design**2).sum(axis=0))
    if not scale.all() or len(design) < design.shape[1]:
        return False
    if np.isfinite(scale).all() and scale.min() > ALIKE * scale.max():
        products = design.T @ design / np.outer(scale, scale)
        if np.linalg.eigvalsh(products)[0] > WELL_APART:
            return True
    return bool(np.linalg.matrix_rank(design) == design.shape[1])


def _outcome(outcome: Ranges | Groups, value: str | None, rates: Mapping[str, Rates]) -> tuple[Floats, Floats]:
    """Return the ends of each row's outcome; of a word, how likely it stands for the value that is asked about."""
    if isinstance(outcome, Groups):
        axis = spread(outcome, rates=rates.get(outcome.name))
        if value not in axis.values:
            found = "holds words" if value is None else f"has no value {value!r}"
            raise DataError(
                f"The outcome {outcome.name!r} {found}.\nSay which of its words counts (value), such as "
                f"{next(iter(axis.values), '')!r}."
            )
        share = axis.share[:, axis.values.index(value)].copy()
        share[outcome.missing if outcome.missing >= 0 else slice(0, 0)] = np.nan
        return share[outcome.codes], share[outcome.codes]
    if value is not None:
        raise DataError(f"The outcome {outcome.name!r} holds numbers.\nLeave `value` out.")
    return outcome.lower, outcome.upper  # the figure of a class is not what each of its rows has


def _terms(column: Ranges | Groups, rates: Rates | None, count: Floats) -> tuple[Floats, list[str], Floats]:
    """Return what a column adds to the design, the names of its terms, and the room that each row leaves them.

    Words differ from the commonest one. Room, (n, terms, 2), is below and above: together the width of a range.
    """
    if isinstance(column, Ranges):
        width = column.open_width[:, None]
        return column.midpoint[:, None], [column.name], np.stack([width, width], axis=2)
    axis = spread(column, rates=rates)
    share: NDArray[np.float64] = axis.share[column.codes]
    common = count @ share
    base = int(common.argmax())
    kept = [place for place in range(len(axis.values)) if place != base and common[place] > 0]
    share = share[:, kept]
    open_side = 2 * (axis.possible.sum(axis=1) > 1)[column.codes][:, None]
    room = np.stack([open_side * share, open_side * (1 - share) * axis.possible[column.codes][:, kept]], axis=2)
    return share, [f"{column.name} = {axis.values[place]}" for place in kept], room


@dataclass(frozen=True, eq=False)
class _Fit:
    """Coefficients of a design, and what was left when they were found."""

    coefficients: Floats
    residual: Floats  # of each row
    open_share: Floats  # of what is not known of each row's outcome, in units of the variance

    def std_error(self, design: Floats, rows: Rows) -> Floats:
        """Return the standard error of each coefficient."""
        correction = rows.units / (rows.units - design.shape[1])
        moved = (design * self.residual[:, None]) @ self._bread(design, rows)
        return np.asarray(np.sqrt(correction * rows.squares(moved)))

    def moved_by_label(self, design: Floats, place: int, codes: Codes, shift: Floats, rows: Rows) -> Floats:
        """Return the squared change of each coefficient when a covariate moves behind each label for itself.

        Labels, `codes` of rows, move by `shift`, (n,), each in a direction of its own: to first order.
        """
        by, known = rows.both * shift, -self.coefficients[place] * (1 - self.open_share)
        pull = np.stack([np.bincount(codes, by * known * column) for column in design.T], axis=1)
        pull[:, place] += np.bincount(codes, by * self.residual)
        return np.asarray(((pull @ self._bread(design, rows)) ** 2).sum(axis=0))

    def _bread(self, design: Floats, rows: Rows) -> Floats:
        return np.asarray(np.linalg.inv((design * (rows.both * (1 - self.open_share))[:, None]).T @ design))


def _fitted(design: Floats, low: Floats, high: Floats, rows: Rows) -> _Fit:
    """Return the fit of outcomes; their ranges are filled in by what it expects in them."""
    ranged = high > low
    value, open_share = (low + high) / 2, np.zeros(len(low))
    both = rows.both
    solve = _solver(design, both)
    coefficients = solve(value)
    if ranged.any():
        sigma2 = float((both * (value - design @ coefficients) ** 2).sum() / both.sum()) + _TINY
        for _ in range(STEPS):
            fit = design @ coefficients
            value, left = _expected(fit, math.sqrt(sigma2), low, high, ranged)
            before, coefficients = coefficients, solve(value)
            sigma2 = float((both * ((value - design @ coefficients) ** 2 + left)).sum() / both.sum()) + _TINY
            open_share = left / sigma2
            if np.abs(coefficients - before).max() <= TOLERANCE * (1 + np.abs(coefficients).max()):
                break
    return _Fit(coefficients, value - design @ coefficients, open_share)


def _moved(
    design: Floats, place: int, shift: Floats, fitted_to: tuple[Floats, Floats, Rows], coefficients: Floats
) -> Floats:
    """Return the most that coefficients change when a covariate lies on one side of its ranges, or on the other.

    `shift` is how far it may lie below and above, (n, 2).
    """
    most = np.zeros_like(coefficients)
    for side, by in zip((-1, 1), shift.T, strict=True) if shift.any() else ():
        crowded = design.copy()
        crowded[:, place] += side * by
        most = np.maximum(most, np.abs(_fitted(crowded, *fitted_to).coefficients - coefficients))
    return most


def _moved_by_outcome(design: Floats, fitted_to: tuple[Floats, Floats, Rows], coefficients: Floats) -> Floats:
    """Return the most that coefficients change when outcomes lie in the lower halves of their ranges, or the upper."""
    low, high, rows = fitted_to
    middle = (low + high) / 2
    halves = ((low, middle), (middle, high)) if (high > low).any() else ()
    changes = [np.abs(_fitted(design, *ends, rows).coefficients - coefficients) for ends in halves]
    return np.asarray(np.max([np.zeros_like(coefficients), *changes], axis=0))


def _solver(design: Floats, both: Floats) -> Callable[[Floats], Floats]:
    """Return what turns values into the coefficients of least squares.

    Products of columns are quick to make, and exact to nine digits or more where columns are well apart.
    """
    scale = np.sqrt(both @ design**2)
    scale[scale == 0] = 1.0
    weighted = design * (both[:, None] / scale)
    products = weighted.T @ design / scale
    if np.linalg.eigvalsh(products)[0] > WELL_APART:
        return lambda value: np.linalg.solve(products, weighted.T @ value) / scale
    root = np.sqrt(both)
    across, small = np.linalg.qr(design * root[:, None])
    inverse = np.linalg.pinv(small, rcond=np.finfo(np.float64).eps * max(design.shape))
    return lambda value: np.asarray(inverse @ (across.T @ (value * root)))


def _expected(fit: Floats, sigma: float, low: Floats, high: Floats, ranged: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return mean and variance of normal values around a fit, given that they lie in their ranges."""
    from scipy.special import ndtr  # takes long to load

    value, left = low.copy(), np.zeros(len(low))
    a, b = (low[ranged] - fit[ranged]) / sigma, (high[ranged] - fit[ranged]) / sigma
    a, b = np.clip(a, -30, 30), np.clip(b, -30, 30)
    flip = a > 0  # the upper tail has no digits left: look at the lower one
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    mass = ndtr(b) - ndtr(a)
    at_a, at_b = np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi), np.exp(-(b**2) / 2) / np.sqrt(2 * np.pi)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (at_a - at_b) / mass
        variance = 1 + (a * at_a - b * at_b) / mass - mean**2
    known = (mass > _TINY) & np.isfinite(mean)
    mean, variance = np.where(known, mean, (a + b) / 2), np.where(known, np.clip(variance, 0, 1), (b - a) ** 2 / 12)
    mean = np.where(flip, -mean, mean)
    value[ranged] = np.clip(fit[ranged] + sigma * mean, low[ranged], high[ranged])
    left[ranged] = sigma**2 * np.clip(variance, 0, 1)
    return value, left
