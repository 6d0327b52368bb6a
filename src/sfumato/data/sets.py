"""Columns of sets: cells cut into members, members in codes, sorted and rid of repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.dataset import STEP, CodedSets, Codes, as_arrow, as_numpy, starts_of
from sfumato.data.distinct import Placed, Tally, entries_of, look_up, naming
from sfumato.data.kinds import is_list, is_text
from sfumato.data.schema import ColumnSpec, Role
from sfumato.data.variants import Variants, is_judged, variants_among, words_of_plan
from sfumato.errors import DataError


@dataclass(frozen=True, eq=False)
class PlacedSets:
    """Cells as runs of members; text cells are cut once each, however many rows show them."""

    members: Placed
    start: NDArray[np.int64]  # (c + 1,): where the members of each cell begin
    cell_of: Codes | None  # (n,): the cell that each row shows; None: one cell a row

    @classmethod
    def of(cls, array: pa.ChunkedArray, spec: ColumnSpec, missing: tuple[str, ...]) -> PlacedSets:
        """Return a column of lists, or of text whose members have the declared separator between them."""
        with naming(spec.name):
            if is_list(array.type):
                members, start = flattened(array)
                return cls(Placed.of(members, sets=True), start, None)
            return cls._of_text(array, spec, missing)

    @classmethod
    def _of_text(cls, array: pa.ChunkedArray, spec: ColumnSpec, missing: tuple[str, ...]) -> PlacedSets:
        if spec.role is Role.SENSITIVE_QUASI_IDENTIFIER:  # what is missing may be a value of its own there
            missing = tuple(marker for marker in missing if marker not in (spec.domain or ()))
        markers = pa.array(missing, pa.string())
        cell_of = np.empty(len(array), dtype=np.int32)
        members, sizes, weights = [], [_ONE_EMPTY], []  # the first cell is the missing one
        n_cells, at = 1, 0
        for chunk in array.chunks:  # hardly any cell twice: to compare those of all chunks would be for nothing
            rows, texts = entries_of(pa.chunked_array([chunk]))
            shown = np.bincount(rows, minlength=len(texts) + 1)[:-1]
            kept = (shown > 0) & as_numpy(pc.and_(pc.is_valid(texts), pc.invert(pc.is_in(texts, value_set=markers))))
            lists = pc.split_pattern(texts.filter(as_arrow(kept)).cast(pa.large_string()), pattern=spec.separator)
            new_cell = np.zeros(kept.size + 1, dtype=np.int32)
            new_cell[:-1][kept] = np.arange(n_cells, n_cells + len(lists), dtype=np.int32)
            look_up(new_cell, rows, cell_of[at : at + rows.size])
            members.append(lists.flatten().cast(pa.string()).dictionary_encode())
            sizes.append(as_numpy(pc.list_value_length(lists)))
            weights.append(np.repeat(shown[kept], sizes[-1]))
            n_cells, at = n_cells + len(lists), at + rows.size
        flat = pa.chunked_array(members, pa.dictionary(pa.int32(), pa.string()))
        start = starts_of(np.concatenate(sizes))
        return cls(Placed.of(flat, np.concatenate([_NO_WEIGHT, *weights]), sets=True), start, cell_of)


def flattened(array: pa.ChunkedArray) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
    """Return the members of all lists, and where those of each begin among them, and the last ones end."""
    sizes = [as_numpy(pc.fill_null(pc.list_value_length(chunk), 0)) for chunk in array.chunks]
    members = pa.chunked_array([chunk.flatten() for chunk in array.chunks], array.type.value_type)
    return members, starts_of(np.concatenate([_NO_WEIGHT, *sizes]))


@dataclass(frozen=True, eq=False)
class SetCodebook:
    """The codebook of a column of sets, t texts of members and v labels.

    Blanks around a member do not count, nor do members of blanks only and nulls. A missing or empty cell is the empty
    set. Randomized columns, whose domain is known, come as bits over it.
    """

    column: CodedSets  # all that is known of it without its rows
    tally: Tally  # of members
    code_of: Codes  # (t + 1,): the code of each text, -1 where it is no member, as is, last, no value

    @classmethod
    def of(cls, tally: Tally, spec: ColumnSpec, *, normalize: bool | None = None) -> SetCodebook:
        """Decide about a column, or raise with what does not fit its declaration.

        Several spellings of a value are read as one with `normalize`, refused without, and kept where that is None.
        """
        texts = pc.utf8_trim_whitespace(tally.texts)
        real = as_numpy(pc.not_equal(texts, ""))
        found = texts.filter(as_arrow(real)).dictionary_encode()
        spellings: Mapping[str, tuple[str, ...]] = {}
        variants = None if normalize is None else _variants_of(found, tally.counts[real], tally.type, spec)
        if variants is not None:
            if not normalize:
                variants.refuse(spec.name)
            spellings, kept = variants.others, variants.kept
            spelled = pa.array([kept.get(text, text) for text in found.dictionary.to_pylist()], pa.string())
            found = spelled.take(found.indices).dictionary_encode()
        order = as_numpy(pc.sort_indices(found.dictionary)).astype(np.int32)
        labels: tuple[str, ...] = tuple(found.dictionary.take(as_arrow(order)).to_pylist())
        rank = np.empty(len(labels), dtype=np.int32)
        rank[order] = np.arange(len(labels), dtype=np.int32)
        column: CodedSets
        if spec.role is Role.SENSITIVE_QUASI_IDENTIFIER and spec.domain is not None:
            rank = _places_in_domain(labels, spec)[rank]
            column = BitSets(
                name=spec.name,
                role=spec.role,
                packed=bit_sets_of(_NOTHING, np.zeros(1, dtype=np.int64), len(spec.domain)),
                labels=spec.domain,
                separator=spec.separator,
                type=tally.type,
                spec=spec,
                spellings=spellings,
            )
        else:
            column = CodedSets(
                name=spec.name,
                role=spec.role,
                items=_NOTHING,
                start=np.zeros(1, dtype=np.int64),
                labels=labels,
                separator=spec.separator,
                sensitive=_sensitive(labels, spec),
                type=tally.type,
                spellings=spellings,
            )
        code_of = np.full(len(texts) + 1, -1, dtype=np.int32)
        code_of[:-1][real] = rank[as_numpy(found.indices)]
        return cls(column, tally, code_of)

    def encode(self, placed: PlacedSets) -> CodedSets:
        """Return the column, or a part of it, in codes; what was placed is used up."""
        tally = placed.members.tally
        place_of = tally.places_in(self.tally)
        if unknown := int((place_of < 0).sum()):
            raise DataError(
                f"Column {self.column.name!r} has {unknown:,} distinct member(s) that its codebook does not know.\n"
                "Make the codebook from all parts of the table."
            )
        code_of = self.code_of[np.append(place_of, len(self.tally.texts))]
        items, start = placed.members.coded(code_of), placed.start
        if tally.absent or code_of.min() < 0:
            items, start = _without(items, start)
        if isinstance(self.column, BitSets):
            sets = _packed(self.column, items, start)
            return sets if placed.cell_of is None else sets.take(placed.cell_of)
        items, start = _sorted_sets(items, start)
        if placed.cell_of is not None:
            items, start = repeat_sets(items, start, placed.cell_of)
        return replace(self.column, items=items, start=start)


def encode_sets(
    array: pa.ChunkedArray, spec: ColumnSpec, missing: tuple[str, ...], *, normalize: bool | None = None
) -> CodedSets:
    """Return a column of sets in codes."""
    placed = PlacedSets.of(array, spec, missing)
    return SetCodebook.of(placed.members.tally, spec, normalize=normalize).encode(placed)


def _variants_of(
    found: pa.DictionaryArray, counts: NDArray[np.int64], kind: pa.DataType, spec: ColumnSpec
) -> Variants | None:
    """Return which members, none of them blank, have several spellings."""
    if not is_judged(spec) or not is_text(kind):
        return None
    often = np.zeros(len(found.dictionary), dtype=np.int64)
    np.add.at(often, as_numpy(found.indices), counts)
    return variants_among(found.dictionary, often, words_of_plan(spec, ()))


_NOTHING = np.empty(0, dtype=np.int32)
_NO_WEIGHT = np.empty(0, dtype=np.int64)
_ONE_EMPTY = np.zeros(1, dtype=np.int64)


def _places_in_domain(labels: tuple[str, ...], spec: ColumnSpec) -> NDArray[np.int32]:
    assert spec.domain is not None
    place_of = {label: place for place, label in enumerate(spec.domain)}
    if outside := sum(label not in place_of for label in labels):
        raise DataError(
            f"Column {spec.name!r}: {outside:,} of {len(labels):,} distinct members are outside the domain of "
            f"{len(spec.domain):,}."
        )
    return np.array([place_of[label] for label in labels], dtype=np.int32)


def _sensitive(labels: tuple[str, ...], spec: ColumnSpec) -> NDArray[np.bool_] | None:
    if spec.sensitive_items is None:
        return None
    chosen = set(spec.sensitive_items) if isinstance(spec.sensitive_items, tuple) else spec.sensitive_items
    return np.array([label in chosen for label in labels], dtype=np.bool_)


def _without(items: Codes, start: NDArray[np.int64]) -> tuple[Codes, NDArray[np.int64]]:
    """Leave out what is no member, items below 0."""
    real = items >= 0
    return items[real], starts_of(real)[start]


def _packed(column: BitSets, items: Codes, start: NDArray[np.int64]) -> BitSets:
    """Return sets as bits over a domain, and whether each was found in the order of the domain without repeats."""
    rising = items[1:] > items[:-1]
    rising[start[1:-1][(start[1:-1] > 0) & (start[1:-1] < items.size)] - 1] = True  # from one cell to the next
    in_order = bool(rising.all())
    if not in_order:
        items, start = _sorted_sets(items, start)
    return column.with_packed(bit_sets_of(items, start, len(column.labels)), in_order=in_order)


def _sorted_sets(items: Codes, start: NDArray[np.int64]) -> tuple[Codes, NDArray[np.int64]]:
    """Sort the items of each set and drop repeats; `items` is used up."""
    n_rows = start.size - 1
    size = np.diff(start)
    width = int(items.max()) + 1 if items.size else 1
    written = 0
    first = 0
    while first < n_rows:
        # As many whole sets as make up a step, one at least.
        last = max(first + 1, int(np.searchsorted(start, start[first] + STEP, side="right")) - 1)
        part = items[start[first] : start[last]]
        row = np.repeat(np.arange(last - first, dtype=np.int64), size[first:last])
        keys = row * width + part
        if np.any(keys[1:] <= keys[:-1]):
            keys.sort()  # faster than np.unique, which hashes first
            keys = keys[np.append(True, keys[1:] > keys[:-1])]
            row, part = np.divmod(keys, width)
            size[first:last] = np.bincount(row, minlength=last - first)
        items[written : written + part.size] = part
        written += part.size
        first = last
    return items[:written], starts_of(size)


def repeat_sets(items: Codes, start: NDArray[np.int64], set_of: NDArray[Any]) -> tuple[Codes, NDArray[np.int64]]:
    """Return the sets that rows show, given the number of the set of each row."""
    size = np.diff(start)
    new_start = starts_of(size[set_of])
    found = np.empty(new_start[-1], dtype=np.int32)
    for first in range(0, set_of.size, STEP):
        chosen = set_of[first : first + STEP]
        here = new_start[first : first + chosen.size + 1]
        source = np.repeat(start[chosen] - here[:-1], size[chosen]) + np.arange(here[0], here[-1])
        found[here[0] : here[-1]] = items[source]
    return found, new_start
