"""People with several sensitive values, as whoever reads a release sees them: who has which value, class by class.

Whichever of a person's values is the one that counts, a class must pass. So a person counts for each value of theirs,
and a class shows as many values as it takes to have one of everybody's. Numbers are equal by value, as elsewhere.

Sizes: n people, c classes, p pairs of a class and a value that somebody in it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import starts_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.release import ReleasedColumn
from sfumato.data.schema import Kind
from sfumato.data.sets import repeat_sets
from sfumato.errors import DataError
from sfumato.models.judging.classes import Classes, Counts, checked_codes, read_label
from sfumato.models.judging.weights import Integers, tally_keys


@dataclass(frozen=True, eq=False)
class Held:
    """Which values people have."""

    counts: Counts  # people of each class who have each value
    n_values: int
    person: Integers  # (h,): who has a value, in order
    value: Integers  # (h,): and which; each once
    class_of: NDArray[np.int32]  # (n,)

    def fewest(self, enough: int) -> Integers:
        """Return how many values it takes at least to have one of everybody's in a class, shape (c,).

        No value is had by more people than the most frequent one, and people who share none need one each: of these
        two bounds, the better one. The second is looked for where the first is not enough.
        """
        largest = np.maximum.reduceat(self.counts.count, self.counts.start[:-1])
        found: Integers = -(-self.counts.size // largest)
        short = np.flatnonzero(found < enough)
        if short.size:
            order = np.argsort(self.class_of[self.person], kind="stable")
            sorted_classes = self.class_of[self.person][order]
            first, last = np.searchsorted(sorted_classes, short), np.searchsorted(sorted_classes, short, side="right")
            for number, low, high in zip(short.tolist(), first.tolist(), last.tolist(), strict=True):
                here = order[low:high]
                found[number] = max(found[number], _strangers(self.person[here], self.value[here]))
        return found


def held_by(classes: Classes, column: ReleasedColumn) -> Held:
    """Return which values of a column people have, where some have several; raise where values are withheld."""
    codes = checked_codes(column, classes.class_of.size)
    if ROOT in column.labels or any(ROOT in members for members in column.several.values()):
        raise DataError(
            f"Column {column.name!r} has withheld values ({ROOT!r}), and people with several values: who has which "
            "cannot be judged.\nPublish them, or gather the rows of a person."
        )
    number_of: dict[Any, int] = {}
    members = []
    for code, label in enumerate(column.labels):
        texts = column.several.get(label, (None if code == column.missing else label,))
        read = [None if text is None else read_label(text, Kind.NUMBER) for text in texts]
        members.append(sorted({number_of.setdefault(value, len(number_of)) for value in read}))
    flat = np.array([value for each in members for value in each], dtype=np.int32)
    held, start = repeat_sets(flat, starts_of([len(each) for each in members]), codes)
    person, value = np.repeat(np.arange(codes.size), np.diff(start)), held.astype(np.int64)
    keys = classes.class_of[person].astype(np.int64) * len(number_of) + value
    pairs, count = tally_keys(keys, None if classes.weights is None else classes.weights[person])
    in_class, values = np.divmod(pairs, max(len(number_of), 1))
    first = np.searchsorted(in_class, np.arange(classes.size.size + 1)).astype(np.int64)
    counts = Counts(first, values, count, classes.size)
    return Held(counts, len(number_of), person, value, classes.class_of)


def _strangers(person: Integers, value: Integers) -> int:
    """Return a number of people no two of whom share a value, taken one by one, those with the fewest values first."""
    bounds = np.flatnonzero(np.diff(person, prepend=-1))
    sets = sorted({tuple(part.tolist()) for part in np.split(value, bounds[1:])}, key=lambda each: (len(each), each))
    taken: set[int] = set()
    found = 0
    for each in sets:
        if taken.isdisjoint(each):
            taken.update(each)
            found += 1
    return found
