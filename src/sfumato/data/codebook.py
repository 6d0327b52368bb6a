"""Codebooks: every decision about the values of a column, made from its tally alone, before any row is coded.

Which texts are missing, which spell the same number, the kind, bins, the order, the hierarchy. Coding rows with a
codebook decides nothing. So the tallies of parts add up to the codebook of the whole, by which each part is coded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.base_rates import read_base_rates
from sfumato.data.builders import DECLARED, Flat
from sfumato.data.dataset import TEXT, CodedColumn, Codes, as_arrow, as_numpy
from sfumato.data.dates import Dates, day_of
from sfumato.data.distinct import Placed, Tally
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.kinds import INFINITE, as_number, exact_number, infer_kind, is_text
from sfumato.data.schema import ColumnSpec, Kind, Role
from sfumato.data.variants import Variants, given_hierarchy, is_judged, variants_among, words_of_plan
from sfumato.errors import DataError, HierarchyError

_FEW_WORDS = 30
_INFINITE = "{count:,} infinite number(s), which are read as missing: no range contains them"
_ALL_DIFFERENT = (
    "{count:,} words or codes, nearly all of them different, and no hierarchy: cells show the value or *. Give it a "
    "hierarchy, or another role if no attacker can know it about a person"
)


@dataclass(frozen=True, eq=False)
class Codebook:
    """The codebook of a column of single values, t texts and v labels."""

    column: CodedColumn  # all that is known of it without its rows
    tally: Tally
    code_of: Codes  # (t + 1,): the code of each text and, last, of no value

    @classmethod
    def of(cls, tally: Tally, spec: ColumnSpec, missing: tuple[str, ...], *, normalize: bool | None = None) -> Codebook:
        """Decide about a column, or raise with what does not fit its declaration.

        Several spellings of a value are read as one with `normalize`, refused without, and kept where that is None.
        """
        variants = None if normalize is None else _variants_of(tally, spec, missing, normalize=normalize)
        if variants is not None:
            once, place_of = _spelled_once(tally, variants)
            book = cls.of(once, spec, missing)
            column = replace(book.column, spellings=variants.others)
            return cls(column, tally, book.code_of[np.append(place_of, len(once.texts))])
        marker = tally.is_marker(missing)
        infinite = _infinite(tally, spec) & ~marker
        marker |= infinite
        notice = _INFINITE.format(count=int(tally.counts[infinite].sum())) if infinite.any() else ""
        has_missing = bool(tally.absent or marker.any())
        labels = tally.texts.filter(as_arrow(~marker)).to_pylist()
        kind, dates, inferred, found_type = _kind_of(labels, tally.type, spec)
        values = None
        label_of = np.arange(len(labels))  # the place among labels that stay of each label so far
        if kind is Kind.NUMBER or spec.bins is not None:
            labels, values, label_of = _merge_equal_numbers(labels, spec)
        if spec.bins is not None:
            labels, bin_of = _binned(values, spec)
            values, label_of = None, bin_of[label_of]
        if spec.hierarchy is None and _nearly_all_differ(labels, kind, tally, spec):
            spec, notice = replace(spec, hierarchy=Flat()), _ALL_DIFFERENT.format(count=len(labels))
        ends = _ends_of(spec.domain, dates=dates) if dates or values is not None else None
        if dates:
            spec = _in_order_of_time(labels, spec)
        hierarchy = hierarchy_for(spec, kind, labels)
        order = _order_of(kind, labels, values, hierarchy, spec)
        ordered = [labels[place] for place in order]
        if values is not None:
            values = values[order]
            if hierarchy is not None and not _rises(ordered, values):
                raise HierarchyError(
                    f"The hierarchy of number column {spec.name!r} has groups that reach into one another.\n"
                    'Make each group a range of numbers, or declare kind = "category".'
                )
        if has_missing:
            ordered.append(missing[0] if missing else "")
            values = None if values is None else np.append(values, np.nan)
        rank = np.empty(len(labels), dtype=np.int32)
        rank[order] = np.arange(len(labels), dtype=np.int32)
        code_of = np.full(len(tally.texts) + 1, len(labels), dtype=np.int32)  # the missing value is the last one
        code_of[:-1][~marker] = rank[label_of]
        column = CodedColumn(
            name=spec.name,
            role=spec.role,
            kind=kind,
            codes=np.empty(0, dtype=np.int32),
            labels=tuple(ordered),
            values=values,
            missing=len(labels) if has_missing else -1,
            hierarchy=hierarchy,
            type=found_type,
            kind_inferred=inferred,
            dates=dates,
            weight=spec.weight,
            ends=ends,
            notice=notice,
        )
        return cls(column, tally, code_of)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows hold each label, (v,)."""
        counts = np.zeros(len(self.column.labels) + 1, dtype=np.int64)
        np.add.at(counts, self.code_of, np.append(self.tally.counts, self.tally.absent))
        return counts[: len(self.column.labels)]

    def encode(self, placed: Placed) -> CodedColumn:
        """Return the column, or a part of it, in codes; what was placed is used up."""
        place_of = placed.tally.places_in(self.tally)
        if unknown := int((place_of < 0).sum()) + (placed.tally.absent > 0 and self.column.missing < 0):
            raise DataError(
                f"Column {self.column.name!r} has {unknown:,} distinct value(s) that its codebook does not know.\n"
                "Make the codebook from all parts of the table."
            )
        return replace(self.column, codes=placed.coded(self.code_of[np.append(place_of, len(self.tally.texts))]))


def _variants_of(tally: Tally, spec: ColumnSpec, missing: tuple[str, ...], *, normalize: bool) -> Variants | None:
    """Return which values of a judged column have several spellings, or raise unless they are to be read as one.

    Equal numbers are one value however they are spelled, and dates are read as dates.
    """
    if not is_judged(spec) or spec.bins is not None or not is_text(tally.type):
        return None
    if spec.kind in (Kind.NUMBER, Kind.DATE):
        return None
    known = as_arrow(~tally.is_marker(missing))
    texts, counts = tally.texts.filter(known), tally.counts[as_numpy(known)]
    words = words_of_plan(spec, missing)
    variants = variants_among(texts, counts, words)
    if variants is None and not normalize:
        return None
    if spec.kind is None and infer_kind(texts.to_pylist(), tally.type) is not Kind.CATEGORY:
        return None
    if normalize:
        return variants_among(texts, counts, [*words, *_looked_up(spec, missing)])
    assert variants is not None
    variants.refuse(spec.name)
    return None


def _looked_up(spec: ColumnSpec, missing: tuple[str, ...]) -> list[str]:
    """Return the values of a column that files of the plan name, as they are spelled there."""
    hierarchy = given_hierarchy(spec)
    rates = () if spec.base_rates is None else read_base_rates(spec.base_rates, missing, of_plan=True).weight
    return [*(() if hierarchy is None else hierarchy.leaves), *rates]


def _spelled_once(tally: Tally, variants: Variants) -> tuple[Tally, NDArray[np.int32]]:
    """Return the tally of values in one spelling each, and the place in it of each text as found."""
    kept = variants.kept
    found = pa.array([kept.get(text, text) for text in tally.texts.to_pylist()], pa.string()).dictionary_encode()
    place_of = as_numpy(found.indices)
    counts = np.zeros(len(found.dictionary), dtype=np.int64)
    np.add.at(counts, place_of, tally.counts)
    return Tally(found.dictionary, counts, tally.absent, tally.type), place_of


def _infinite(tally: Tally, spec: ColumnSpec) -> NDArray[np.bool_]:
    """Return which texts are infinite numbers of a quasi-identifier: no range holds them, so they are missing, (t,)."""
    if spec.role is not Role.QUASI_IDENTIFIER or spec.kind not in (None, Kind.NUMBER):
        return np.zeros(len(tally.texts), dtype=np.bool_)
    return as_numpy(
        pc.is_in(tally.texts, value_set=pa.array(INFINITE if pa.types.is_floating(tally.type) else [], TEXT))
    )


def _nearly_all_differ(labels: Sequence[str], kind: Kind, tally: Tally, spec: ColumnSpec) -> bool:
    """Whether sets of the values of a quasi-identifier would be long lists of words that one person has each."""
    if kind is not Kind.CATEGORY or spec.role is not Role.QUASI_IDENTIFIER or len(labels) <= _FEW_WORDS:
        return False
    return 10 * len(labels) >= 9 * int(tally.counts.sum())


def _kind_of(labels: list[str], found: pa.DataType, spec: ColumnSpec) -> tuple[Kind, bool, bool, pa.DataType]:
    """Return the kind in codes, whether it is one of dates, whether it was inferred, and the type of the labels."""
    if spec.bins is not None:
        return Kind.ORDERED, False, False, TEXT
    kind = spec.kind or infer_kind(labels, found)
    if spec.kind is None and kind is Kind.DATE and not isinstance(spec.hierarchy, Dates | None):
        kind = Kind.CATEGORY  # somebody has other groups in mind than periods
    return (Kind.ORDERED if kind is Kind.DATE else kind), kind is Kind.DATE, spec.kind is None, found


def _merge_equal_numbers(
    labels: list[str], spec: ColumnSpec
) -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    """Return one label a number, the shortest of 1 and 1.0, with its value; and the place of each old label."""
    values = np.array([as_number(label) for label in labels], dtype=np.float64)
    if odd := int(np.isnan(values).sum()):
        raise DataError(
            f"Column {spec.name!r} shall hold numbers, but {odd:,} of its {len(labels):,} distinct values are none.\n"
            "List their spelling under missing = [...] if they stand for missing values, or declare another kind."
        )
    if np.all(np.diff(np.sort(values)) > 0):
        return labels, values, np.arange(len(labels))
    # Equal floats may still be different numbers: identifiers of 17 digits are.
    spellings: dict[Any, list[str]] = {}
    numbers = [exact_number(label) for label in labels]
    for number, label in zip(numbers, labels, strict=True):
        spellings.setdefault(number, []).append(label)
    place_of = {number: place for place, number in enumerate(spellings)}
    kept = [min(same, key=lambda label: (len(label), label)) for same in spellings.values()]
    return kept, np.array([as_number(label) for label in kept]), np.array([place_of[number] for number in numbers])


def _binned(values: Any, spec: ColumnSpec) -> tuple[list[str], NDArray[np.int64]]:
    """Return the labels of the bins that occur, and the place of each number among them."""
    assert spec.bins is not None
    place = spec.bins.place(values)
    if outside := int((place < 0).sum()):
        raise DataError(
            f"Column {spec.name!r} has {outside:,} distinct number(s) outside its {len(spec.bins.lower):,} bins.\n"
            "Widen the first or the last of them, or clean the data."
        )
    occurring_bins, bin_of = np.unique(place, return_inverse=True)
    return [spec.bins.labels[place] for place in occurring_bins], bin_of


def _ends_of(domain: Sequence[str] | None, *, dates: bool) -> tuple[str, str] | None:
    """Return the lowest and the highest number, or date, of a declared domain; None where it lists others, too."""
    key: Callable[[str], Any] = day_of if dates else exact_number
    if not domain or not all(day_of(each) if dates else as_number(each) == as_number(each) for each in domain):
        return None
    return min(domain, key=key), max(domain, key=key)


def _in_order_of_time(labels: list[str], spec: ColumnSpec) -> ColumnSpec:
    """Return the column as an ordered one whose domain is the dates that occur; those of one day by their text."""
    dated = [(day, label) for label in labels if (day := day_of(label)) is not None]
    if odd := len(labels) - len(dated):
        shown = spec.shown(label for label in labels if day_of(label) is None)
        raise DataError(
            f"Column {spec.name!r} shall hold ISO dates such as 2024-05-31, but {odd:,} of its {len(labels):,} "
            f"distinct values are none{shown}.\n"
            "Write all dates as year-month-day, list what stands for missing values under missing = [...], or declare "
            "another kind."
        )
    return replace(spec, kind=Kind.ORDERED, domain=spec.domain or tuple(label for _, label in sorted(dated)))


def hierarchy_for(spec: ColumnSpec, kind: Kind, labels: list[str]) -> Hierarchy | None:
    """Return the column's hierarchy, its leaves in the order of the column; raise if it misses some of the values."""
    if spec.hierarchy is None:
        return None
    hierarchy, absent = hierarchy_over(spec, kind, labels)
    if absent:
        raise HierarchyError(
            f"The hierarchy of column {spec.name!r} misses {len(absent):,} of the {len(labels):,} values in the data"
            f"{spec.shown(absent)}.\n"
            "Add a line for each, or list their spelling under missing = [...] if they stand for missing values."
        )
    return hierarchy


def hierarchy_over(spec: ColumnSpec, kind: Kind, labels: list[str]) -> tuple[Hierarchy, list[str]]:
    """Return the column's hierarchy, its leaves in the order of the column, and the values that it misses."""
    assert spec.hierarchy is not None
    name = f"The hierarchy of column {spec.name!r}"
    hierarchy = spec.hierarchy.build(labels, name, secret=spec.secret)
    if spec.role is Role.QUASI_IDENTIFIER and not isinstance(spec.hierarchy, DECLARED):
        hierarchy = hierarchy.with_top()  # distances between secrets, and what masks them, count up to the root
    if kind is Kind.NUMBER:
        hierarchy = _by_number(hierarchy, labels, name, secret=spec.secret)
    elif kind is Kind.ORDERED and spec.domain is not None:
        place_of = {value: place for place, value in enumerate(spec.domain)}
        hierarchy = hierarchy.in_order(lambda leaf: place_of.get(leaf, len(place_of)))
    node_of = hierarchy.node_of
    return hierarchy, [label for label in labels if node_of.get(label, hierarchy.n_leaves) >= hierarchy.n_leaves]


def _by_number(hierarchy: Hierarchy, labels: list[str], name: str, *, secret: bool) -> Hierarchy:
    """Return the hierarchy with leaves in rising order, spelled as in the data: 20 there is 20.0 here."""
    if any(math.isnan(as_number(leaf)) for leaf in hierarchy.leaves):
        known = [path for path in hierarchy.paths() if not math.isnan(as_number(path[0]))]
        if not known:
            raise HierarchyError(
                f"{name} is about {hierarchy.n_leaves:,} words, but the column holds numbers.\n"
                'Give it a hierarchy of numbers, or declare kind = "category" if they stand for something else.'
            )
        hierarchy = Hierarchy.from_paths(known, name, secret=secret)
    if not set(labels) <= set(hierarchy.leaves):
        spelling = {exact_number(label): label for label in labels}
        leaves = [spelling.get(exact_number(leaf), leaf) for leaf in hierarchy.leaves]
        if len(set(leaves)) < len(leaves):
            raise HierarchyError(
                f"{name} lists {len(leaves) - len(set(leaves)):,} number(s) more than once, in other spellings.\n"
                "Keep one line for each number."
            )
        hierarchy = replace(hierarchy, labels=(*leaves, *hierarchy.labels[hierarchy.n_leaves :]))
    return hierarchy.in_order(exact_number)


def _rises(labels: list[str], values: NDArray[np.float64]) -> bool:
    """Whether numbers stand in rising order, also where floats cannot tell neighbours apart."""
    steps = np.diff(values)
    if np.any(steps < 0):
        return False
    return all(exact_number(labels[at]) < exact_number(labels[at + 1]) for at in np.flatnonzero(steps == 0))


def _order_of(
    kind: Kind, labels: list[str], values: NDArray[np.float64] | None, hierarchy: Hierarchy | None, spec: ColumnSpec
) -> NDArray[np.int64]:
    """Return the old codes in their new order."""
    place_in_domain = {value: place for place, value in enumerate(spec.domain or ())}
    if spec.domain is not None and (outside := sum(label not in place_in_domain for label in labels)):
        raise DataError(
            f"Column {spec.name!r} has {outside:,} distinct value(s) outside its declared domain of "
            f"{len(spec.domain):,}.\nAdd them to domain = [...], or clean the data."
        )
    keys: Sequence[Any] = labels
    if hierarchy is not None:
        keys = [hierarchy.node_of[label] for label in labels]
        if kind is Kind.ORDERED and spec.domain is not None:
            places = [place_in_domain[label] for label in sorted(labels, key=hierarchy.node_of.__getitem__)]
            if places != sorted(places):
                raise HierarchyError(
                    f"The hierarchy of ordered column {spec.name!r} has groups that reach into one another.\n"
                    "Make each group a range of the declared domain, or declare another kind."
                )
    elif values is not None:
        order = np.argsort(values, kind="stable")
        if not np.any(np.diff(values[order]) == 0):
            return order
        keys = [exact_number(label) for label in labels]
    elif kind is Kind.ORDERED:
        if spec.domain is None:
            raise DataError(
                f"Column {spec.name!r} is ordered, but nothing says in which order.\n"
                "Give domain = [lowest, ..., highest], or a hierarchy whose lines are in order."
            )
        keys = [place_in_domain[label] for label in labels]
    return np.array(sorted(range(len(labels)), key=keys.__getitem__), dtype=np.int64)
