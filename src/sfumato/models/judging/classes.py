"""Equivalence classes as an outsider finds them: rows of a release whose published quasi-identifiers are equal.

Everything here starts from released labels. It shares no code with the anonymizers, so a mistake there shows here.
Sizes: n rows, c classes, v values of a sensitive column, p pairs of a class and a value that occurs in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets, starts_of
from sfumato.data.kinds import as_number, exact_number
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind, Role
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel, Verdict
from sfumato.models.judging.weights import Integers, row_weights, tally, tally_keys

LARGEST = 2**62  # whole numbers below are added and compared without overflow in 64 bits
NEAR = 1e-9  # closer than this, floats do not decide


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each value occurs in each class: what occurs only, by class, then by value."""

    start: Integers  # (c + 1,): the pairs of class i are start[i]:start[i + 1]; each class has one at least
    value: Integers  # (p,)
    count: Integers  # (p,)
    size: Integers  # (c,): rows of each class

    @property
    def class_of(self) -> NDArray[np.intp]:
        """The class of each pair, shape (p,)."""
        return np.repeat(np.arange(self.size.size), np.diff(self.start))

    def total(self, n_values: int) -> Integers:
        """Return how often each value occurs in the whole release, shape (v,)."""
        return np.bincount(self.value, weights=self.count, minlength=n_values).astype(np.int64)  # far below 2**53

    def of_class(self, number: int) -> Integers:
        """Return the counts of one class."""
        return self.count[self.start[number] : self.start[number + 1]]

    def astype(self, kind: type) -> Counts:
        """Return the same in 64 bits (np.int64), or in whole numbers of any size (object)."""
        return Counts(self.start, self.value, self.count.astype(kind), self.size.astype(kind))

    def only(self, chosen: NDArray[np.bool_]) -> Counts:
        """Return the counts of some classes."""
        pairs = np.repeat(chosen, np.diff(self.start))
        start = starts_of(np.diff(self.start)[chosen])
        return Counts(start, self.value[pairs], self.count[pairs], self.size[chosen])


@dataclass(frozen=True, eq=False)
class Classes:
    """The equivalence classes of a release."""

    class_of: NDArray[np.int32]  # (n,)
    size: Integers  # (c,): with weights
    weights: Integers | None = None  # (n,)
    _counted: dict[tuple[str, bytes], Counts] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """How many rows are in all classes together."""
        return int(self.size.sum())

    def counts(self, column: ReleasedColumn, value_of: Integers) -> Counts:
        """Return how often each value occurs in each class, where code x of the column stands for value_of[x]."""
        key = (column.name, value_of.tobytes())
        counts = self._counted.get(key)
        if counts is None:
            codes = checked_codes(column, self.class_of.size)
            counts = _count_pairs(self, value_of[codes], int(value_of.max(initial=0)) + 1)
            self._counted.clear()  # audits of one column follow one another; more than the last would only fill memory
            self._counted[key] = counts
        return counts


# A release is a value: it does not change once it is made, so its classes are found once for all audits.
_CLASSES: WeakKeyDictionary[Release, Classes] = WeakKeyDictionary()


def classes_of(release: Release) -> Classes:
    """Return the classes of a release; without a quasi-identifier, all rows are one class."""
    if release.person_of is not None:
        raise DataError(
            "Rows of people were to be judged one by one.\nJudge people: data/people.py puts them together."
        )
    classes = _CLASSES.get(release)
    if classes is None:
        classes = _CLASSES[release] = _find_classes(release)
    return classes


def known_with(release: Release, model: PrivacyModel, known: Sequence[str]) -> Classes:
    """Return the classes of a release for who knows some sensitive columns, too: these tell rows apart as well."""
    classes = classes_of(release)
    if not known:
        return classes
    class_of, n_classes = classes.class_of.astype(np.int64), classes.size.size
    for name in known:
        codes, n_codes = codes_of_labels(sensitive_column(release, name, model), release.n_rows)
        numbers, n_classes = renumbered(class_of * n_codes + codes)
        class_of = numbers.astype(np.int64)
    return Classes(class_of.astype(np.int32), tally(class_of, n_classes, classes.weights), classes.weights)


def _find_classes(release: Release) -> Classes:
    keys = np.zeros(release.n_rows, dtype=np.int64)
    n_keys = 1  # every key is below
    for column in release.columns.values():
        if column.role is not Role.QUASI_IDENTIFIER:
            continue
        codes: NDArray[Any]
        if isinstance(column, CodedSets):
            codes, n_codes = _codes_of_sets(column, release.n_rows)
        else:
            codes, n_codes = codes_of_labels(column, release.n_rows)
        if n_keys * n_codes >= LARGEST:
            numbers, n_keys = renumbered(keys)
            keys = numbers.astype(np.int64)
        keys *= n_codes
        keys += codes
        n_keys *= n_codes
    class_of, n_classes = renumbered(keys)
    weights = row_weights(release)
    return Classes(class_of, tally(class_of, n_classes, weights), weights)


def renumbered(keys: Integers) -> tuple[NDArray[np.int32], int]:
    """Number the distinct keys 0, 1, ... as they appear."""
    encoded = pa.array(keys).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False), len(encoded.dictionary)


def distinct_runs(start: Integers, items: Integers, width: int) -> tuple[Integers, Integers]:
    """Number the different runs of items 0, 1, ...; return the number of each run, and one run for each number.

    Runs are told apart by their first item, then by their second, and so on, as in a tree of prefixes. Items are below
    `width`.
    """
    length = np.diff(start)
    number, prefix = np.zeros(length.size, dtype=np.int64), np.zeros(length.size, dtype=np.int64)
    active = np.arange(length.size)
    used = 1  # for runs of nothing
    for position in range(int(length.max(initial=0))):
        active = active[length[active] > position]
        prefix[active], n_prefixes = renumbered(prefix[active] * width + items[start[active] + position])
        ended = active[length[active] == position + 1]
        number[ended] = used + prefix[ended]
        used += n_prefixes
    number_of, n_runs = renumbered(number)
    some_run = np.zeros(n_runs, dtype=np.int64)
    some_run[number_of] = np.arange(length.size)
    return number_of.astype(np.int64), some_run


def codes_of_labels(column: ReleasedColumn, n_rows: int) -> tuple[NDArray[Any], int]:
    """Return one code for each different label: two codes with one label are the same to whoever reads the release."""
    codes = checked_codes(column, n_rows)
    number_of: dict[tuple[str, bool], int] = {}  # missing or not is part of it: a typed table can show the difference
    code_of = [
        number_of.setdefault((label, code == column.missing), len(number_of))
        for code, label in enumerate(column.labels)
    ]
    if len(number_of) < len(code_of):
        codes = np.array(code_of, dtype=np.int32)[codes]
    return codes, max(len(number_of), 1)


def _codes_of_sets(column: CodedSets, n_rows: int) -> tuple[Integers, int]:
    """Return one code for each different set."""
    if column.start.size - 1 != n_rows:
        found = column.start.size - 1
        raise DataError(f"Column {column.name!r} has {found:,} rows, the release {n_rows:,}.\nRead it again.")
    codes, some_row = distinct_runs(column.start, column.items.astype(np.int64), max(len(column.labels), 1))
    return codes, max(some_row.size, 1)


def checked_codes(column: ReleasedColumn, n_rows: int) -> NDArray[np.int32]:
    """Return the codes of a column, each of which has a label, or raise."""
    codes = column.codes
    if codes.shape != (n_rows,):
        raise DataError(f"Column {column.name!r} has {codes.size:,} rows, the release {n_rows:,}.\nRead it again.")
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < len(column.labels):
        raise DataError(f"Column {column.name!r} has rows without a label.\nMake the release again.")
    return codes


def _count_pairs(classes: Classes, value_of: Integers, n_values: int) -> Counts:
    """Return how often each value occurs in each class; row r has value_of[r]."""
    n_classes = classes.size.size
    keys = classes.class_of.astype(np.int64)
    keys *= n_values
    keys += value_of
    cells = n_classes * n_values
    if cells <= 4 * keys.size + 1000:
        table = tally(keys, cells, classes.weights)
        pairs = np.flatnonzero(table)
        count = table[pairs]
    else:
        pairs, count = tally_keys(keys, classes.weights)
    in_class, value = np.divmod(pairs, n_values)
    start = np.searchsorted(in_class, np.arange(n_classes + 1)).astype(np.int64)
    return Counts(start, value, count, classes.size)


def judged_column(release: Release, name: str, model: PrivacyModel, role: Role) -> ReleasedColumn | CodedSets:
    """Return a column that a model names, or raise when the release does not have it, in the role that it needs."""
    column = release.columns.get(name)
    if column is None:
        carried = release.carried is not None and name in release.carried.column_names
        found = "which has role 'other'" if carried else "which the release does not have"
        raise DataError(
            f"{model.name} is asked of column {name!r}, {found}.\n"
            f"Its judged columns are: {', '.join(release.columns) or 'none'}.\n"
            f"Correct the name in the requirement, or give the column the role {role.value!r}."
        )
    return column


def sensitive_column(release: Release, name: str, model: PrivacyModel) -> ReleasedColumn:
    """Return the column that a model is about, or raise when it cannot be judged."""
    column = judged_column(release, name, model, Role.SENSITIVE)
    asked = f"{model.name} is asked of column {name!r}"
    if isinstance(column, CodedSets):
        raise DataError(f"{asked}, which holds sets.\nAsk it of a column with one value in each row.")
    if column.role is Role.QUASI_IDENTIFIER:
        raise DataError(
            f"{asked}, which is a quasi-identifier: all rows of a class have the same value in it.\n"
            "Give it the role 'sensitive', or ask it of another column."
        )
    return column


@dataclass(frozen=True, eq=False)
class Values:
    """The values that occur in a sensitive column, as a reader of the release tells them apart.

    Numbers are read by value, so that 1 and 1.0 are one, anything else as text. The missing value is a value of its
    own, whatever its label, and comes last.
    """

    value_of: Integers  # (codes,): the value of each code that occurs
    known: list[Any]  # numbers or texts
    labels: list[list[str]]  # of each known value, as published
    has_missing: bool

    def __len__(self) -> int:
        return len(self.known) + self.has_missing


def values_of(column: ReleasedColumn, n_rows: int) -> Values:
    """Return the values that occur in a column."""
    occurs = np.bincount(checked_codes(column, n_rows), minlength=len(column.labels)) > 0
    number_of: dict[Any, int] = {}
    labels: list[list[str]] = []
    value_of = np.zeros(len(column.labels), dtype=np.int64)
    for code in np.flatnonzero(occurs).tolist():
        if code == column.missing:
            continue
        label = column.labels[code]
        value = number_of.setdefault(read_label(label, column.kind), len(number_of))
        if value == len(labels):
            labels.append([])
        labels[value].append(label)
        value_of[code] = value
    has_missing = column.missing >= 0 and bool(occurs[column.missing])
    if has_missing:
        value_of[column.missing] = len(number_of)
    return Values(value_of, list(number_of), labels, has_missing)


def values_in(release: Release, column: ReleasedColumn) -> Values:
    """Return the values that occur in a column of a release; of the whole one where this is a part of it."""
    if release.whole is None:
        return values_of(column, release.n_rows)
    all_rows = release.whole[column.name]
    known = all_rows.column(column.name)
    values = values_of(known, all_rows.n_rows)
    value_of = {
        (label, code == known.missing): value
        for code, (label, value) in enumerate(zip(known.labels, values.value_of.tolist(), strict=True))
    }
    of_code = [value_of[label, code == column.missing] for code, label in enumerate(column.labels)]
    return replace(values, value_of=np.array(of_code, dtype=np.int64))


def total_in(release: Release, column: ReleasedColumn, counts: Counts, rank: Integers, size: int) -> Integers:
    """Return how often each of so many values occurs in the whole release, given the place of each one in `Values`."""
    if release.whole is None:
        return counts.total(size)
    all_rows = release.whole[column.name]
    known = all_rows.column(column.name)
    return tally(rank[values_of(known, all_rows.n_rows).value_of][known.codes], size, row_weights(all_rows))


def read_label(label: str, kind: Kind) -> Decimal | str:
    """Return a number to its last digit, or the text itself where it is none."""
    if kind is not Kind.NUMBER:
        return label
    if label.isascii() and label.isdigit() and len(label) < 16:  # most numbers: no need to look twice
        return Decimal(label)
    if math.isnan(as_number(label)):
        return label
    return exact_number(label)


def at_most(numerator: Integers, denominator: Integers, bound: Fraction) -> NDArray[np.bool_]:
    """Return where numerator / denominator <= bound, exactly; all are non-negative, no denominator is 0.

    >>> at_most(np.array([1, 2, 3]), np.array([3, 3, 9]), Fraction(1, 3)).tolist()
    [True, False, True]
    """
    high = max(int(numerator.max(initial=1)) * bound.denominator, int(denominator.max(initial=1)) * bound.numerator)
    if high < LARGEST:
        return np.asarray(numerator * bound.denominator <= denominator * bound.numerator, dtype=np.bool_)
    ratio = numerator.astype(np.float64) / denominator.astype(np.float64)
    passes = np.asarray(ratio <= float(bound), dtype=np.bool_)
    for i in np.flatnonzero(np.abs(ratio - float(bound)) <= NEAR * max(1.0, float(bound))):
        passes[i] = int(numerator[i]) * bound.denominator <= int(denominator[i]) * bound.numerator
    return passes


def class_verdict(
    model: PrivacyModel,
    classes: Classes,
    *,
    passes: NDArray[np.bool_],
    reached: NDArray[Any],
    required: float,
    measure: str,
    bound: str,
    **facts: int,
) -> Verdict:
    """Return the verdict on all classes, given which pass and what each reached, both of shape (c,)."""
    failing = np.flatnonzero(~passes)
    worst_reached = None
    if classes.size.size:
        candidates = failing if failing.size else np.arange(classes.size.size)
        at_worst = np.argmin if bound == "at least" else np.argmax
        worst = int(candidates[at_worst(reached[candidates])])
        # Rounding must not turn what is shown against what was decided exactly.
        keep = max if (bound == "at least") == (not failing.size) else min
        worst_reached = keep(reached[worst].item(), required)
        facts = {
            "rows": classes.n_rows,
            "worst_class_rows": int(classes.size[worst]),
            "smallest_class": int(classes.size.min()),
            "largest_class": int(classes.size.max()),
            **facts,
        }
    return Verdict(
        model=model,
        satisfied=not failing.size,
        reached=worst_reached,
        required=required,
        groups=int(classes.size.size),
        failing=int(failing.size),
        failing_rows=int(classes.size[failing].sum()),
        facts=facts,
        measure=measure,
        bound=bound,
        group="class",
    )
