"""How many people of a population are unique, estimated from the sizes of classes in a sample.

Three models of how sizes in a population come about, and the rule of Dankar et al. (2012) that chooses among them. A
sample is n rows in u classes, n_i of them of size i, drawn from N people; f = n / N.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

PITMAN, ZAYATZ, SNB, COUNTED = "pitman", "zayatz", "snb", "counted"
SMALL = 0.1  # of a sample, as a share of the population, up to which Pitman's model is the one to take
_CLOSE = 1e-12  # of roots
_LOWEST = 50.0  # of -alpha: people are spread so evenly then that no sample tells how evenly
_NEAR_ZERO = 1e-7  # of alpha, where it makes no difference


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many classes of each size a sample has."""

    size: NDArray[np.int64]  # distinct, ascending
    count: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> Sizes:
        """Count the sizes of classes.

        >>> Sizes.of(np.array([1, 3, 1])).count.tolist()
        [2, 1]
        """
        found, count = np.unique(sizes, return_counts=True)
        return cls(found.astype(np.int64), count.astype(np.int64))

    @property
    def rows(self) -> int:
        """The rows of the sample, n."""
        return int((self.size * self.count).sum())

    @property
    def classes(self) -> int:
        """The classes of the sample, u."""
        return int(self.count.sum())

    def number(self, size: int) -> int:
        """Return n_i: how many classes have this size."""
        return int(self.count[self.size == size].sum())


@dataclass(frozen=True, kw_only=True)
class Uniques:
    """How many people of the population nobody else looks like, as each model has it; None where it has no answer."""

    people: float
    model: str  # whose estimate it is
    by_model: Mapping[str, float | None]


def estimated_uniques(sizes: Sizes, population: int) -> Uniques:
    """Estimate the uniques of a population, by the model that Dankar et al. (2012) choose.

    Up to a tenth of the population, Pitman's model; above, the lower one of Zayatz' and the slide negative binomial's.
    Where a model has no answer, Zayatz' is taken, which always has one. A sample without uniques shows none, and the
    whole population needs no estimate.
    """
    n = sizes.rows
    if not sizes.number(1) or population <= n:
        return Uniques(people=float(sizes.number(1)), model=COUNTED, by_model=dict.fromkeys((PITMAN, ZAYATZ, SNB)))
    found = {
        PITMAN: pitman_uniques(sizes, population),
        ZAYATZ: zayatz_uniques(sizes, population),
        SNB: snb_uniques(sizes, population),
    }
    able = {name: people for name, people in found.items() if people is not None}
    if n / population <= SMALL:
        model = PITMAN if PITMAN in able else ZAYATZ
    else:
        model = min((ZAYATZ, SNB), key=lambda name: able.get(name, math.inf))
    return Uniques(people=able[model], model=model, by_model=found)


def zayatz_uniques(sizes: Sizes, population: int) -> float:
    """Return n_1 / f, times the chance that a unique of the sample is one of the population (Zayatz 1991).

    The population's classes are taken to be as large as those of the sample, as often as there; a class of size i shows
    one row in the sample with the hypergeometric chance.

    >>> zayatz_uniques(Sizes.of(np.ones(7, np.int64)), 35)  # all rows are alone: so is everybody
    35.0
    """
    from scipy.special import gammaln  # heavy, and few plans need it

    n, one = sizes.rows, sizes.number(1)
    size = sizes.size[sizes.size <= population - n + 1]  # larger ones cannot show one row only
    count = sizes.count[: size.size]
    ways = gammaln(population - size + 1) - gammaln(n) - gammaln(population - size - n + 2)
    all_ways = gammaln(population + 1) - gammaln(n + 1) - gammaln(population - n + 1)
    chance = size * np.exp(ways - all_ways)
    alone = one * (n / population) / float((count * chance).sum())
    return min(one * min(alone, 1.0) * population / n, float(population))


def pitman_uniques(sizes: Sizes, population: int) -> float | None:
    """Return the uniques that Pitman's sampling formula expects, with parameters of the greatest likelihood.

    For alpha above 0 that is G(theta + 1) / G(theta + alpha) N ** alpha, its limit for large populations, as Hoshino
    (2001) and ARX take it. Below, theta may be larger than the population, and the expectation itself is taken.
    None where no parameters are best.
    """
    from scipy.special import gammaln

    found = pitman_parameters(sizes)
    if found is None:
        return None
    theta, alpha = found
    log = gammaln(theta + 1) - gammaln(theta + alpha)
    if alpha > 0:
        log += alpha * math.log(population)
    else:
        log += math.log(population) + gammaln(theta + alpha + population - 1) - gammaln(theta + population)
    people = math.exp(log)
    return people if people <= population else None


def pitman_parameters(sizes: Sizes) -> tuple[float, float] | None:
    """Return theta and alpha of the greatest likelihood, None where they run out of bounds.

    For each alpha there is one theta that is best; what is left is a search along alpha, down to where it makes no
    difference any more.
    """
    from scipy.special import digamma

    n, u = sizes.rows, sizes.classes
    if u in (1, n):  # nobody is like another, or all are
        return None

    def theta_at(alpha: float) -> float | None:
        def by_theta(theta: float) -> float:
            return _harmonic(theta, alpha, u) - float(digamma(n + theta) - digamma(1 + theta))

        lowest = -alpha if alpha > 0 else -alpha * (u - 1)  # no theta + i alpha may be 0 or less
        return _falling_root(by_theta, lowest + 1e-9 * max(abs(lowest), 1e-3), lowest + 1)

    def by_alpha(alpha: float) -> float:
        theta = theta_at(alpha)
        if theta is None:
            return math.nan
        if abs(alpha) < _NEAR_ZERO:
            between = u * (u - 1) / 2 / theta
        else:
            between = (u - 1 - theta * _harmonic(theta, alpha, u)) / alpha
        return between - float((sizes.count * (digamma(sizes.size - alpha) - digamma(1 - alpha))).sum())

    low, high = -_LOWEST, 1 - 1e-9
    if not by_alpha(high) < 0:
        return None
    alpha = _bisected(by_alpha, low, high) if by_alpha(low) > 0 else low
    theta = theta_at(alpha)
    return (theta, alpha) if theta is not None else None


def _harmonic(theta: float, alpha: float, classes: int) -> float:
    """Return the sum of 1 / (theta + i alpha), i from 1 to below the number of classes."""
    from scipy.special import digamma

    if abs(alpha) < _NEAR_ZERO:
        return (classes - 1) / (theta + alpha * classes / 2)
    at = theta / alpha
    if alpha > 0:
        return float(digamma(classes + at) - digamma(1 + at)) / alpha
    return float(digamma(-at) - digamma(-at - classes + 1)) / -alpha


def snb_uniques(sizes: Sizes, population: int) -> float | None:
    """Return the uniques that the slide negative binomial model expects, K beta ** alpha (Chen, Keller-McNulty 1998).

    Each of K classes has one person more than a negative binomial says. K is Shlosser's estimate (Haas et al. 1995);
    alpha and beta give the sample the number of classes of one and of two rows that it has. None where none do.
    """
    model = _Slide(sizes, population)
    grid = 1 / (1 + np.exp(-np.linspace(-14, 14, 113)))  # no formula says where pairs are right
    for rising in (True, False):
        found = np.array([model.pairs(float(beta), rising) for beta in grid])
        turns = np.flatnonzero(np.sign(found[:-1]) * np.sign(found[1:]) < 0)
        if turns.size:
            low, high = grid[turns[0]], grid[turns[0] + 1]
            beta = _bisected(partial(model.pairs, rising=rising), float(low), float(high))
            people = model.classes * beta ** model.alpha(beta, rising)
            return people if 0 < people <= population else None
    return None


class _Slide:
    """The slide negative binomial, fitted to a sample: what it says of classes of one row and of two."""

    def __init__(self, sizes: Sizes, population: int) -> None:
        self.f, self.one, self.two = sizes.rows / population, sizes.number(1), sizes.number(2)
        self.classes = shlosser_classes(sizes, self.f)

    def alpha(self, beta: float, rising: bool) -> float:
        """Return the alpha that gives the right number of classes of one row; it rises in alpha, then falls."""
        gone = (1 - self.f) * (1 - beta)
        rate, odds = -math.log1p(self.f * (1 - beta) / beta), gone / (1 - gone)

        def beyond(alpha: float) -> float:
            return self.classes * self.f * math.exp(rate * alpha) * (alpha * odds + 1) - self.one

        top = max(0.0, -1 / rate - 1 / odds)
        if beyond(top) <= 0 or (rising and beyond(0.0) >= 0):
            return math.nan
        if rising:
            return _bisected(beyond, 0.0, top)
        root = _falling_root(beyond, top, top + 1)
        return root if root is not None else math.nan

    def pairs(self, beta: float, rising: bool) -> float:
        """Return by how many classes of two rows beta and its alpha are too high."""
        alpha = self.alpha(beta, rising)
        gone = (1 - self.f) * (1 - beta)
        shape = math.exp(alpha * math.log(beta) - (alpha + 2) * math.log1p(-gone))
        expected = self.classes * alpha * self.f**2 * (1 - beta) / 2 * shape * (2 - (1 - alpha) * gone)
        return expected - self.two


def shlosser_classes(sizes: Sizes, f: float) -> float:
    """Return Shlosser's estimate of how many classes the population has."""
    size, count = sizes.size.astype(np.float64), sizes.count
    unseen = (1 - f) ** size
    shown = float((size * f**2 * (1 - f**2) ** (size - 1) * count).sum())
    of = float((((1 - f**2) ** size - unseen) * count).sum())
    ratio = float((unseen * count).sum()) / float((size * f * (1 - f) ** (size - 1) * count).sum())
    return sizes.classes + sizes.number(1) * shown / of * ratio**2


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Return where a function that is above 0 near its lowest point falls to 0; None where it never does."""
    if not function(low) > 0:
        return None
    step = high - low
    while function(low + step) > 0:
        step *= 4
        if step > 1e15:
            return None
    return _bisected(function, low, low + step)


def _bisected(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a function between two points where it has different signs."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=_CLOSE, rtol=1e-14, maxiter=500))
