"""How the rows behind a label spread over values: evenly, or by base rates. m labels, d values of an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.base_rates import BaseRates
from sfumato.data.figures import spans_of
from sfumato.data.hierarchy import ROOT, some
from sfumato.errors import DataError
from sfumato.receiving.values import Floats, Groups, Ranges

ELSEWHERE = "elsewhere"  # values outside the bins that were asked for, or that no row shows
MISSING = "(missing)"
Rates: TypeAlias = BaseRates | Mapping[Any, float]  # how common each value is, in any unit


@dataclass(frozen=True, eq=False)
class Spread:
    """A column as the axis of a table: how likely, and whether at all, each label stands for each value."""

    name: str
    values: tuple[str, ...]  # (d,)
    share: Floats  # (m, d), each row sums to 1
    possible: NDArray[np.bool_]  # (m, d)


def spread(
    column: Ranges | Groups,
    *,
    bins: Sequence[Any] | None = None,
    values: Sequence[str] | None = None,
    rates: Rates | None = None,
) -> Spread:
    """Return a column as an axis: numbers by the edges of bins, words by their values."""
    if isinstance(column, Ranges):
        return _of_numbers(column, bins, rates)
    if bins is not None:
        raise DataError(f"Bins were asked for of column {column.name!r}, which holds words.\nLeave them out.")
    return _of_words(column, values, rates)


def weights_in(rates: Rates) -> Mapping[Any, float]:
    """Return base rates, of whatever make, as weights by value."""
    return rates.weight if isinstance(rates, BaseRates) else rates


def _of_words(column: Groups, values: Sequence[str] | None, rates: Rates | None) -> Spread:
    given = weights_in(rates) if rates is not None else column.rates.weight if column.rates is not None else None
    domain = _domain(column, values, rates)
    place = {value: position for position, value in enumerate(domain)}
    more = [ELSEWHERE] if values is None and given is None and ROOT in column.members else []  # what no row shows
    more += [MISSING] if column.missing >= 0 else []
    possible = np.zeros((len(column.labels), len(domain) + len(more)), dtype=np.bool_)
    for code, label in enumerate(column.labels):
        if code == column.missing:
            possible[code, -1] = True
            continue
        found = [place[value] for value in _behind(column, label, domain) if value in place]
        if not found:
            raise DataError(
                f"Column {column.name!r} shows labels that stand for none of the {len(domain):,} values given.\n"
                "Give all values of the column."
            )
        possible[code, found] = True
        if label == ROOT:
            possible[code, len(domain) :] = True
    weight = np.array([1.0 if given is None else float(given.get(name, 0)) for name in domain] + [0.0] * len(more))
    return Spread(column.name, (*domain, *more), _shared(possible, weight), possible)


def _domain(column: Groups, values: Sequence[str] | None, rates: Rates | None) -> tuple[str, ...]:
    """Return all values of a column that somebody speaks of: who asks, base rates, the release."""
    if values is not None:
        return tuple(values)
    if rates is not None:
        return tuple(dict.fromkeys([*map(str, weights_in(rates)), *(column.domain or ())]))
    if column.domain is not None:
        return column.domain
    unknown = [label for label, members in column.members.items() if members is None]
    hidden = [label for label in unknown if label != ROOT] or [ROOT]
    raise DataError(
        f"A table by {column.name!r} was asked for, but the release does not say which values stand behind "
        f"{some(hidden, 3)}.\nGive all values of the column (values), or how common they are (rates)."
    )


def _behind(column: Groups, label: str, domain: tuple[str, ...]) -> Sequence[str]:
    """Return the values behind a label; of a code that lost its last characters, those that begin alike."""
    if label == ROOT:
        return domain
    if (members := column.members[label]) is not None:
        return members
    begin = label.rstrip("*")
    return [value for value in domain if len(value) == len(label) and value.startswith(begin)]


def _shared(possible: NDArray[np.bool_], weight: Floats) -> Floats:
    """Return shares in proportion to weights; evenly where none of what is possible has any."""
    share = np.where(possible, weight, 0.0)
    share = np.where(share.sum(axis=1, keepdims=True) == 0, possible.astype(np.float64), share)
    shared: Floats = share / share.sum(axis=1, keepdims=True)
    return shared


def _of_numbers(column: Ranges, bins: Sequence[Any] | None, rates: Rates | None) -> Spread:
    edges = [column.number(given) for given in bins or ()]  # none is above or below what is no number
    if len(edges) < 2 or not all(low < high for low, high in pairwise(edges)):
        kind, such = ("days", "1980, 1990, 2000-07-01") if column.days else ("numbers", "20, 30, 40")
        first, last = such.split(", ")[:2]
        raise DataError(
            f"A table by {column.name!r} was asked for, which holds {kind}.\nGive the edges of bins, rising, such as "
            f"{such}: from {first} up to, but not including, {last}, and so on."
        )
    if column.spans:
        return _of_figures(column, edges, rates)
    low, high, closed = column.ends
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    hull = (min([*finite, edges[0]]), max([*finite, edges[-1]]))
    whole = bool(closed.all() and (finite == np.floor(finite)).all())
    begin, end = np.where(np.isinf(low), hull[0], low), np.where(np.isinf(high), hull[1], high)
    if whole:
        end = end + 1  # [20, 29] is ten numbers
    if rates is None:
        inside = _even(begin, end, edges)
    else:
        inside = _by_rates(column, low, high, closed, edges, weights_in(rates), _even(begin, end, edges))
    names = [f"[{column.text(first)}, {column.text(last)})" for first, last in pairwise(edges)]
    share = np.column_stack([inside, 1 - inside.sum(axis=1)])
    reaches = closed & (not whole)  # ranges of whole numbers end before the next one begins
    touched = [(begin < last) & ((end > first) | (reaches & (end == first))) for first, last in pairwise(edges)]
    beyond = (begin < edges[0]) | (end > edges[-1]) | (reaches & (end == edges[-1])) | np.isinf(low) | np.isinf(high)
    possible = np.column_stack([*touched, beyond])
    names.append(ELSEWHERE)
    if column.missing >= 0:
        share[column.missing], possible[column.missing] = 0.0, False
        share = np.column_stack([share, np.arange(len(low)) == column.missing])
        possible = np.column_stack(
            [possible, (np.arange(len(low)) == column.missing) | (np.isinf(low) & np.isinf(high))]
        )
        names.append(MISSING)
    share = np.clip(share, 0.0, 1.0)
    kept = [place for place, name in enumerate(names) if name != ELSEWHERE or possible[:, place].any()]
    return Spread(column.name, tuple(names[place] for place in kept), share[:, kept], possible[:, kept])


def _of_figures(column: Ranges, edges: Sequence[float], rates: Rates | None) -> Spread:
    """Return the same for figures of classes: each spreads over its ranges, by how many rows have them."""
    parts = [
        (code, span, rows)
        for code, label in enumerate(column.labels)
        for span, rows in (spans_of(column.spans, label) or {label: 1}).items()
    ]
    code_of, labels, weight = (list(part) for part in zip(*parts, strict=True))
    missing = code_of.index(column.missing) if column.missing >= 0 else -1
    ranges = replace(
        column, codes=np.arange(len(labels), dtype=np.int32), labels=tuple(labels), spans={}, missing=missing
    )
    of_part = _of_numbers(ranges, edges, rates)
    share, possible = (np.zeros((len(column.labels), len(of_part.values))) for _ in range(2))
    np.add.at(share, code_of, of_part.share * np.array(weight, dtype=np.float64)[:, None])
    np.add.at(possible, code_of, of_part.possible)
    return Spread(column.name, of_part.values, share / share.sum(axis=1, keepdims=True), possible > 0)


def _even(begin: Floats, end: Floats, edges: Sequence[float]) -> Floats:
    """Return the share of each range that lies in each bin, (m, bins); of a single number all or nothing."""
    inside = np.zeros((begin.size, len(edges) - 1))
    width = end - begin
    for place, (first, last) in enumerate(pairwise(edges)):
        overlap = np.clip(np.minimum(end, last) - np.maximum(begin, first), 0, None)
        at = (begin >= first) & (begin < last)
        with np.errstate(invalid="ignore", divide="ignore"):
            inside[:, place] = np.where(width > 0, overlap / width, at)
    return inside


def _by_rates(
    column: Ranges,
    low: Floats,
    high: Floats,
    closed: NDArray[np.bool_],
    edges: Sequence[float],
    rates: Mapping[Any, float],
    even: Floats,
) -> Floats:
    """Return the share of the weight in each range that lies in each bin; evenly where a range has no weight."""
    if column.days:
        raise DataError(f"Base rates were given for {column.name!r}, which holds days.\nLeave them out.")
    order = sorted((float(value), float(weight)) for value, weight in rates.items())
    points = np.array([value for value, _ in order])
    up_to = np.concatenate([[0.0], np.cumsum([weight for _, weight in order])])

    def below(ends: Floats, *, with_end: NDArray[np.bool_] | bool) -> Floats:
        right, left = np.searchsorted(points, ends, "right"), np.searchsorted(points, ends, "left")
        return up_to[np.where(with_end, right, left)]

    begin, end = below(low, with_end=False), below(high, with_end=closed)
    total, inside = end - begin, even.copy()
    known = total > 0
    for place, (first, last) in enumerate(pairwise(edges)):
        at = [float(up_to[np.searchsorted(points, edge, "left")]) for edge in (first, last)]
        part = np.clip(np.minimum(end, at[1]) - np.maximum(begin, at[0]), 0, None)
        inside[known, place] = part[known] / total[known]
    return inside
