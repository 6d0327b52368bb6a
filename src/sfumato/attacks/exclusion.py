"""What somebody believes who finds a person's class and can exclude one value of one sensitive column.

In a class, the belief in a value x of one column when y is excluded in another is (T(x) - J(x, y)) / L(y): expected
rows with x, those of them with y, and rows that are left. A label counts for the values below it in proportion to base
rates. Values that the same labels of a class cover and that no row shows differ by their base rate w only, and the
quotient is monotonic in w; so the most common of them stands for all, and the other end, w = 0, is what the class alone
tells. A class has no more of these representatives than it has labels, however many values a column has.

Sizes: n rows, c classes, and in each of them a labels and y representatives of the excluded column, b and x of the
other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.models.judging.posteriors import Domain, Secrets
from sfumato.models.judging.weights import tally

AT_ONCE = 1 << 21  # numbers of a table, worked on at once
WORK = 1 << 32  # multiplications for two columns; classes beyond are left out, the costliest first
NEAR = 1e-9

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a column in each class, ascending, so that values come before groups; and representatives."""

    domain: Domain
    start: Integers  # (c + 1,): where the labels of each class begin
    label: Integers
    place_of: Integers  # (n,): of a row's label among those of its class
    own: Integers  # (n,): of the value that a row shows among the representatives of its class, -1 for a group
    first_rep: Integers  # (c + 1,): where the representatives of each class begin; those that rows show come first
    rep: Integers

    @classmethod
    def of(cls, secrets: Secrets, i: int, n_classes: int) -> Labels:
        """Return those of one column."""
        domain, width = secrets.domains[i], len(secrets.domains[i].names)
        keys, number_of = np.unique(secrets.class_of.astype(np.int64) * width + secrets.labels[i], return_inverse=True)
        of_class, label = np.divmod(keys, width)
        start = np.searchsorted(of_class, np.arange(n_classes + 1))
        shown = label < domain.n_leaves
        hidden_class, hidden_leaf = _most_common(domain, keys, of_class[~shown], label[~shown])
        # Shown ones first in each class; equal representatives of labels that cover the same do no harm.
        classes = np.concatenate([of_class[shown], hidden_class])
        order = np.argsort(classes, kind="stable")
        place_of = number_of - start[secrets.class_of]
        return cls(
            domain=domain,
            start=start,
            label=label,
            place_of=place_of,
            own=np.where(secrets.labels[i] < domain.n_leaves, place_of, -1),
            first_rep=np.searchsorted(classes[order], np.arange(n_classes + 1)),
            rep=np.concatenate([label[shown], hidden_leaf])[order],
        )

    @property
    def sizes(self) -> tuple[Integers, Integers]:
        """How many labels and how many representatives each class has."""
        return np.diff(self.start), np.diff(self.first_rep)

    def tables(self, classes: Integers, n_labels: int, n_reps: int) -> tuple[Floats, Integers]:
        """Return the chance of each representative below each label of some classes, and the representatives.

        Shapes (classes, n_labels, n_reps) and (classes, n_reps); what a class does not have is 0, and -1.
        """
        label = _padded(self.label, self.start, classes, n_labels)
        rep = _padded(self.rep, self.first_rep, classes, n_reps)
        part, whole = self.domain.shares("prior")
        below = (label >= 0)[:, :, None] & (rep >= 0)[:, None, :]
        below &= self.domain.first[label][:, :, None] <= rep[:, None, :]
        below &= rep[:, None, :] <= self.domain.last[label][:, :, None]
        share = part[rep][:, None, :] / np.maximum(whole[label], 1)[:, :, None]
        return np.where(below, share, 0.0), rep


def _padded(values: Integers, start: Integers, classes: Integers, width: int) -> Integers:
    """Return the values of each class as a row, -1 where it has no more; shape (classes, width)."""
    place = start[classes][:, None] + np.arange(width)
    inside = place < start[classes + 1][:, None]
    return np.where(inside, values[np.minimum(place, max(values.size - 1, 0))] if values.size else -1, -1)


def _most_common(domain: Domain, keys: Integers, of_class: Integers, group: Integers) -> tuple[Integers, Integers]:
    """Return for groups in classes the most common value below each that no smaller label of the class covers.

    `keys` are all labels of all classes. Groups all of whose values are covered are left out.
    """
    width, size = len(domain.names), domain.last - domain.first + 1
    weight = np.array(domain.weight, dtype=np.float64)
    above = _labels_above(domain)
    by_weight = {}
    for number in np.unique(group).tolist():
        first, last = domain.first[number], domain.last[number]
        by_weight[number] = first + np.argsort(-weight[first : last + 1], kind="stable")
    found_class, found_leaf = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    rank = 0
    while of_class.size:
        leaf = np.array([by_weight[number][rank] for number in group.tolist()], dtype=np.int64)
        labels = above[leaf]  # (groups, deepest)
        smaller = (labels >= 0) & (size[labels] < size[group][:, None])
        wanted = of_class[:, None] * width + labels
        place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        covered = (smaller & (keys[place] == wanted)).any(axis=1)
        found_class.append(of_class[~covered])
        found_leaf.append(leaf[~covered])
        rank += 1
        more = covered & (size[group] > rank)
        of_class, group = of_class[more], group[more]
    return np.concatenate(found_class), np.concatenate(found_leaf)


def _labels_above(domain: Domain) -> Integers:
    """Return the labels that cover each value, itself among them, -1 where there are no more; (values, height)."""
    levels = np.zeros(domain.n_leaves + 1, dtype=np.int64)
    np.add.at(levels, domain.first, 1)
    np.add.at(levels, domain.last + 1, -1)
    above = np.full((domain.n_leaves, int(np.cumsum(levels).max(initial=0))), -1, dtype=np.int64)
    above[:, :1] = np.arange(domain.n_leaves)[:, None]
    level = np.ones(domain.n_leaves, dtype=np.int64)
    for number in range(domain.n_leaves, len(domain.names)):
        below = np.arange(domain.first[number], domain.last[number] + 1)
        above[below, level[below]] = number
        level[below] += 1
    return above


def beliefs_without_one(
    secrets: Secrets, excluded: Labels, told: Labels, limit: Floats
) -> Iterator[tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]]:
    """Yield rows, the highest belief about the told column when some value but their own is excluded, and exposure.

    `limit` is the belief in each value of the told column above which it exposes. Rows of classes that are left out,
    as all together would take too long, are not yielded.
    """
    (a, y), (b, x) = excluded.sizes, told.sizes
    cost = a * x * (b + y)
    by_cost = np.argsort(cost, kind="stable")
    by_cost = by_cost[np.cumsum(cost[by_cost]) <= WORK]
    shape = np.stack([_rounded(size[by_cost]) for size in (a, y, b, x)], axis=1)
    rows_of = np.argsort(secrets.class_of, kind="stable")
    first_row = np.searchsorted(secrets.class_of[rows_of], np.arange(a.size + 1))
    for widths in np.unique(shape, axis=0).tolist():
        alike = by_cost[(shape == widths).all(axis=1)]
        step = max(AT_ONCE // max(widths[0] * widths[1], max(widths) * widths[3], widths[0] * widths[2]), 1)
        for at in range(0, alike.size, step):
            classes = alike[at : at + step]
            place = np.repeat(np.arange(classes.size), np.diff(first_row)[classes])
            rows = rows_of[np.concatenate([np.arange(first_row[c], first_row[c + 1]) for c in classes.tolist()])]
            highest, above = _beliefs(secrets, excluded, told, limit, classes, rows, place, widths)
            yield rows, *_best_but_own(highest, above, place, excluded.own[rows])


def _rounded(sizes: Integers) -> Integers:
    """Return the next powers of two: classes of like sizes are worked on together."""
    return 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)


def _beliefs(
    secrets: Secrets,
    excluded: Labels,
    told: Labels,
    limit: Floats,
    classes: Integers,
    rows: Integers,
    place: Integers,
    widths: list[int],
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the highest belief, and whether one is above its limit, by class and excluded representative."""
    a, y, b, x = widths
    key = (place * a + excluded.place_of[rows]) * b + told.place_of[rows]
    weights = None if secrets.weights is None else secrets.weights[rows]
    count = tally(key, classes.size * a * b, weights).reshape(classes.size, a, b).astype(np.float64)
    share_excluded, _ = excluded.tables(classes, a, y)
    share_told, rep = told.tables(classes, b, x)
    by_value = count @ share_told  # (classes, a, x)
    joint = np.swapaxes(share_excluded, 1, 2) @ by_value  # (classes, y, x)
    of_label = count.sum(axis=2)
    left = of_label.sum(axis=1)[:, None] - (of_label[:, None, :] @ share_excluded)[:, 0, :]  # (classes, y)
    rest = by_value.sum(axis=1)[:, None, :] - joint
    chance = np.where(left[:, :, None] > NEAR, rest / np.maximum(left, NEAR)[:, :, None], 0.0)
    limits = np.where(rep >= 0, limit[rep], np.inf)
    return chance.max(axis=2), np.asarray((chance > limits[:, None, :]).any(axis=2))


def _best_but_own(
    highest: Floats, above: NDArray[np.bool_], place: Integers, own: Integers
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the best over all values that can be excluded for a row: any but the one that it shows itself."""
    order = np.argsort(-highest, axis=1, kind="stable")
    top, second = order[place, 0], order[place, min(1, highest.shape[1] - 1)]
    instead = highest[place, second] if highest.shape[1] > 1 else np.zeros(place.size)
    best = np.where(top == own, instead, highest[place, top])
    return best, above.sum(axis=1)[place] > np.where(own >= 0, above[place, np.maximum(own, 0)], False)
