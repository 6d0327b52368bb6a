"""From a table as found to coded columns: roles checked, identifiers dropped, kinds inferred and stated.

Tables come with text columns as dictionaries where the reader could make them so: work on values is then done once for
each distinct value, not once for each row. Work on rows is done in steps of a million, so that it needs next to no room
beside the codes themselves.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.dataset import TEXT, CodedColumn, CodedSets, Codes, Dataset, as_arrow, as_numpy
from sfumato.data.dates import Dates, day_of
from sfumato.data.hierarchy import Hierarchy, some
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, HierarchyError, did_you_mean

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_STEP = 1 << 20  # rows, or members of sets, worked on at once


def encode(table: pa.Table, schema: Schema) -> Dataset:
    """Return the table in codes, or raise with everything in the schema that does not fit the table.

    Identifiers need not be in the table any more. The columns are let go one after the other: who hands over the last
    reference to the table never holds both in full.
    """
    names, n_rows = table.column_names, table.num_rows
    dropped = [name for name in schema.named(Role.IDENTIFIER) if name not in names]
    check_columns([*names, *dropped], schema)
    if n_rows >= 2**31:
        raise DataError(f"The table has {n_rows:,} rows; one machine takes up to {2**31 - 1:,}.\nUse the Spark engine.")
    waiting = [(name, table.column(name)) for name in reversed(names)]
    del table
    columns: dict[str, CodedColumn | CodedSets] = {}
    carried: dict[str, pa.ChunkedArray] = {}
    problems: list[str] = []
    while waiting:
        name, array = waiting.pop()
        spec = schema.spec(name)
        if spec is None or spec.role is Role.IDENTIFIER:
            continue
        try:
            if spec.role is Role.OTHER:
                carried[name] = carry(array)
            else:
                columns[name] = encode_column(array, spec, schema.missing)
        except (DataError, HierarchyError) as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    return Dataset(
        schema=schema,
        columns=columns,
        carried=pa.Table.from_arrays(list(carried.values()), names=list(carried)) if carried else None,
        n_rows=n_rows,
        order=tuple(name for name in names if name in columns or name in carried),
    )


def check_columns(found: Sequence[str], schema: Schema) -> None:
    """Raise unless each column of the table has a role and each column of the schema is in the table, once."""
    problems = []
    twice = [name for name, count in Counter(found).items() if count > 1]
    if twice:
        problems.append(f"The table has columns with the same name: {some(twice)}.\nRename them in the file.")
    for name in schema.columns:
        if name not in found:
            problems.append(
                f"The plan names a column that the table does not have: {name!r}.{did_you_mean(name, found)}"
            )
    silent = [name for name in found if schema.spec(name) is None]
    if silent:
        problems.append(
            f"The plan says nothing about {len(silent)} column(s) of the table: {some(silent, 20)}.\n"
            'Give each a role under [columns], or all of them with [columns."*"] role = "other".'
        )
    if problems:
        raise DataError("\n".join(problems))


def encode_column(array: pa.ChunkedArray, spec: ColumnSpec, missing: tuple[str, ...]) -> CodedColumn | CodedSets:
    """Return one column in codes."""
    if holds_sets(array.type, spec):
        if spec.kind not in (None, Kind.SET):
            raise DataError(
                f"Column {spec.name!r} is declared as {spec.kind.value} but holds lists.\nDeclare it as a set."
            )
        return encode_sets(array, spec, missing)
    try:
        codes, labels, has_missing = text_codes(array, missing)
    except DataError as error:
        raise DataError(f"Column {spec.name!r}: {error}") from None
    if spec.bins is not None:
        labels, spec = _binned(codes, labels, spec), replace(spec, kind=Kind.ORDERED)
        return _encode_values(codes, labels, has_missing, TEXT, spec, missing)
    return _encode_values(codes, labels, has_missing, array.type, spec, missing)


def holds_sets(found_type: pa.DataType, spec: ColumnSpec) -> bool:
    """Whether a column is one of sets: so declared, or found as lists."""
    return spec.kind is Kind.SET or spec.role is Role.ITEMS or is_list(found_type)


# Distinct values.


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is one of lists."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of single values, be they in a dictionary or not; any text is plain text."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if is_text(inner) else inner


def unify(dictionaries: Sequence[pa.Array]) -> tuple[pa.Array, list[NDArray[np.int32]]]:
    """Return one dictionary for many, and for each of them where its entries are in it."""
    plain = [dictionary.cast(value_type(dictionary.type)) for dictionary in dictionaries]
    if not plain:
        return pa.array([], pa.string()), []
    if len({_place(dictionary) for dictionary in plain}) == 1:
        return plain[0], [np.arange(len(plain[0]), dtype=np.int32)] * len(plain)
    if any(dictionary.null_count for dictionary in plain):
        whole = pa.chunked_array(plain).dictionary_encode().combine_chunks()
        code_of = as_numpy(pc.fill_null(whole.indices, len(whole.dictionary)))
        ends = np.cumsum([len(dictionary) for dictionary in plain])
        return pa.concat_arrays([whole.dictionary, pa.nulls(1, whole.dictionary.type)]), np.split(code_of, ends[:-1])
    chunks = [
        pa.DictionaryArray.from_arrays(as_arrow(np.arange(len(dictionary), dtype=np.int32)), dictionary)
        for dictionary in plain
    ]
    shared = pa.chunked_array(chunks).unify_dictionaries()
    return shared.chunk(0).dictionary, [as_numpy(chunk.indices) for chunk in shared.chunks]


def _place(array: pa.Array) -> tuple[int, ...]:
    """Return where an array lies in memory."""
    return (array.offset, len(array), *(buffer.address if buffer else 0 for buffer in array.buffers()))


def text_codes(array: pa.ChunkedArray, missing: Sequence[str]) -> tuple[Codes, list[str], bool]:
    """Return codes and the text of each distinct value; missing cells get the code after the last label.

    Null, not-a-number and the markers in `missing` are missing. Every label occurs.
    """
    codes, labels, has_missing = _text_codes(array, missing)
    return codes, labels.to_pylist(), has_missing


def _text_codes(array: pa.ChunkedArray, missing: Sequence[str], *, trim: bool = False) -> tuple[Codes, pa.Array, bool]:
    """Do what `text_codes` says, with labels as Arrow text; `trim` takes blanks off both ends of each."""
    codes, texts = _places(array)
    if trim:
        texts = pc.utf8_trim_whitespace(texts)
    occurs = occurring(codes, len(texts) + 1)
    # Nulls are published as the first marker. Without any marker that is the empty text, which then means the same.
    markers = list(missing) if missing or not occurs[-1] else [""]
    absent = as_numpy(pc.is_in(texts, value_set=pa.array(markers, pa.string()))) | as_numpy(pc.is_null(texts))
    kept = occurs[:-1] & ~absent
    has_missing = bool(occurs[-1] or (occurs[:-1] & absent).any())
    distinct = texts.filter(as_arrow(kept)).dictionary_encode()
    new_code = np.full(len(texts) + 1, len(distinct.dictionary), dtype=np.int32)
    new_code[:-1][kept] = as_numpy(distinct.indices)
    look_up(new_code, codes, codes)
    return codes, distinct.dictionary, has_missing


def _places(array: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Return for each row the place of its value among the texts, one behind the last for null, and the texts."""
    indices, texts = _as_dictionary(array)
    codes = np.empty(len(array), dtype=np.int32)
    at = 0
    for chunk, code_of in indices:
        place_of = np.append(code_of, np.int32(len(texts)))
        filled = pc.fill_null(chunk.cast(pa.int32()), len(code_of)) if chunk.null_count else chunk
        look_up(place_of, as_numpy(filled), codes[at : at + len(chunk)])
        at += len(chunk)
    return codes, texts


def occurring(codes: Codes, size: int) -> NDArray[np.bool_]:
    """Return which of the codes 0 to size - 1 occur."""
    occurs = np.zeros(size, dtype=np.bool_)
    for start in range(0, codes.size, _STEP):
        occurs[codes[start : start + _STEP]] = True
    return occurs


def _as_dictionary(array: pa.ChunkedArray) -> tuple[list[tuple[pa.Array, NDArray[np.int32]]], pa.Array]:
    """Return index chunks, each with the place of its indices in the texts, and the texts of all distinct values."""
    kind = array.type
    try:
        if isinstance(kind, pa.BaseExtensionType):
            array = pa.chunked_array([chunk.storage for chunk in array.chunks], kind.storage_type)
        if pa.types.is_null(array.type):
            array = array.cast(pa.string())
        if not pa.types.is_dictionary(array.type):
            try:
                array = array.dictionary_encode()
            except pa.ArrowNotImplementedError:
                array = array.cast(pa.string()).dictionary_encode()
        dictionary, code_of = unify([chunk.dictionary for chunk in array.chunks])
        texts = dictionary.cast(pa.string())
        if pa.types.is_floating(dictionary.type):
            texts = pc.if_else(pc.is_nan(dictionary), pa.scalar(None, pa.string()), texts)
    except pa.ArrowException:
        raise DataError(
            f"Values of type {kind} cannot be coded.\nConvert them to text, numbers, dates or lists of these."
        ) from None
    return list(zip([chunk.indices for chunk in array.chunks], code_of, strict=True)), texts


def look_up(new_code: NDArray[np.int32], places: NDArray[Any], found: Codes) -> None:
    """Put new_code[places] into `found`, which may be `places` itself; numpy alone would widen all places first."""
    for start in range(0, places.size, _STEP):
        found[start : start + _STEP] = new_code[places[start : start + _STEP]]


def carry(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that is only carried along, text as dictionary.

    The dictionary is in the order of its text, not of the rows, and holds no text that does not occur.
    """
    if is_list(array.type):
        inner = array.type.value_type
        return array.cast(pa.large_list(value_type(inner))) if pa.types.is_dictionary(inner) else array
    if not is_text(value_type(array.type)):
        return array.cast(value_type(array.type)) if pa.types.is_dictionary(array.type) else array
    codes, texts = _places(array)
    occurs = occurring(codes, len(texts) + 1)
    occurs[:-1] &= ~as_numpy(pc.is_null(texts))
    order = as_numpy(pc.sort_indices(texts))
    order = order[occurs[:-1][order]]
    rank = np.full(len(texts) + 1, -1, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    look_up(rank, codes, codes)
    absent = codes < 0
    codes[absent] = 0
    dictionary = texts.take(as_arrow(order))
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(as_arrow(codes, absent if absent.any() else None), dictionary)]
    )


# Columns of single values.


def _encode_values(
    codes: Codes,
    labels: list[str],
    has_missing: bool,
    found_type: pa.DataType,
    spec: ColumnSpec,
    missing: tuple[str, ...],
) -> CodedColumn:
    """Return the column with codes in a meaningful order; `codes` is used up."""
    inferred = spec.kind is None
    kind = spec.kind or infer_kind(labels, value_type(found_type))
    if inferred and kind is Kind.DATE and not isinstance(spec.hierarchy, Dates | None):
        kind = Kind.CATEGORY  # somebody has other groups in mind than periods
    dates, values = kind is Kind.DATE, None
    if kind is Kind.NUMBER:
        labels, values = _merge_equal_numbers(codes, labels, spec)
    elif dates:
        kind, spec = Kind.ORDERED, _in_order_of_time(labels, spec)
    hierarchy = hierarchy_for(spec, kind, labels)
    order = _order_of(kind, labels, values, hierarchy, spec)
    rank = np.empty(len(labels) + 1, dtype=np.int32)  # the last entry is the missing value, which stays last
    rank[order] = np.arange(len(labels), dtype=np.int32)
    rank[-1] = len(labels)
    ordered_labels = [labels[code] for code in order]
    if values is not None:
        values = values[order]
        if hierarchy is not None and np.any(np.diff(values) < 0):
            raise HierarchyError(
                f"The hierarchy of number column {spec.name!r} has groups that reach into one another.\n"
                'Make each group a range of numbers, or declare kind = "category".'
            )
    if has_missing:
        ordered_labels.append(missing[0] if missing else "")
        if values is not None:
            values = np.append(values, np.nan)
    look_up(rank, codes, codes)
    return CodedColumn(
        name=spec.name,
        role=spec.role,
        kind=kind,
        codes=codes,
        labels=tuple(ordered_labels),
        values=values,
        missing=len(labels) if has_missing else -1,
        hierarchy=hierarchy,
        type=value_type(found_type),
        kind_inferred=inferred,
        dates=dates,
    )


def infer_kind(labels: Sequence[str], found_type: pa.DataType) -> Kind:
    """Return `number` or `date` when every value is one; codes with leading zeros are categories."""
    if pa.types.is_boolean(found_type) or not labels:
        return Kind.CATEGORY
    numbers = all(_NUMBER.fullmatch(label) and math.isfinite(float(label)) for label in labels)
    if numbers:
        return Kind.NUMBER
    return Kind.DATE if all(day_of(label) for label in labels) else Kind.CATEGORY


def is_integer(label: str) -> bool:
    """Whether a text is a whole number that fits 64 bits."""
    return _INTEGER.fullmatch(label) is not None


def _number(label: str) -> float:
    """Return a text as number, not-a-number when it is none: Python's `1_000` and `inf` are not what people mean."""
    try:
        number = float(label) if "_" not in label else math.nan
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _merge_equal_numbers(codes: Codes, labels: list[str], spec: ColumnSpec) -> tuple[list[str], NDArray[np.float64]]:
    """Give texts of the same number, such as 1 and 1.0, one code, in place; the shortest text stays."""
    values = np.array([_number(label) for label in labels], dtype=np.float64)
    odd = int(np.isnan(values).sum())
    if odd:
        raise DataError(
            f"Column {spec.name!r} shall hold numbers, but {odd:,} of its {len(labels):,} distinct values are none.\n"
            "List their spelling under missing = [...] if they stand for missing values, or declare another kind."
        )
    if np.all(np.diff(np.sort(values)) > 0):
        return labels, values
    # Equal floats may still be different numbers: identifiers of 17 digits are.
    number_of: dict[Decimal, int] = {}
    of_label = [number_of.setdefault(Decimal(label.strip()), len(number_of)) for label in labels]
    kept = [""] * len(number_of)
    for label, number in zip(labels, of_label, strict=True):
        if not kept[number] or (len(label), label) < (len(kept[number]), kept[number]):
            kept[number] = label
    look_up(np.array([*of_label, len(kept)], dtype=np.int32), codes, codes)
    return kept, np.array([_number(label) for label in kept], dtype=np.float64)


def _in_order_of_time(labels: list[str], spec: ColumnSpec) -> ColumnSpec:
    """Return the column as an ordered one whose domain is the dates that occur; those of one day by their text."""
    dated = [(day, label) for label in labels if (day := day_of(label)) is not None]
    odd = len(labels) - len(dated)
    if odd:
        shown = "" if spec.secret else f": {some(label for label in labels if day_of(label) is None)}"
        raise DataError(
            f"Column {spec.name!r} shall hold ISO dates such as 2024-05-31, but {odd:,} of its {len(labels):,} "
            f"distinct values are none{shown}.\n"
            "Write all dates as year-month-day, list what stands for missing values under missing = [...], or declare "
            "another kind."
        )
    return replace(spec, kind=Kind.ORDERED, domain=spec.domain or tuple(label for _, label in sorted(dated)))


def _binned(codes: Codes, labels: list[str], spec: ColumnSpec) -> list[str]:
    """Give the numbers of one bin one code, in place; return the labels of the bins that occur."""
    assert spec.bins is not None
    labels, values = _merge_equal_numbers(codes, labels, spec)
    place = spec.bins.place(values)
    outside = int((place < 0).sum())
    if outside:
        raise DataError(
            f"Column {spec.name!r} has {outside:,} distinct number(s) outside its {len(spec.bins.lower):,} bins.\n"
            "Widen the first or the last of them, or clean the data."
        )
    occurring_bins = np.unique(place)
    look_up(np.append(np.searchsorted(occurring_bins, place), occurring_bins.size).astype(np.int32), codes, codes)
    return [spec.bins.labels[place] for place in occurring_bins]


def hierarchy_for(spec: ColumnSpec, kind: Kind, labels: list[str]) -> Hierarchy | None:
    """Return the column's hierarchy, its leaves in the order of the column."""
    if spec.hierarchy is None:
        return None
    name = f"The hierarchy of column {spec.name!r}"
    hierarchy = spec.hierarchy.build(labels, name, secret=spec.secret)
    if kind is Kind.NUMBER:
        hierarchy = _by_number(hierarchy, labels, name, secret=spec.secret)
    elif kind is Kind.ORDERED and spec.domain is not None:
        place_of = {value: place for place, value in enumerate(spec.domain)}
        hierarchy = hierarchy.in_order(lambda leaf: place_of.get(leaf, len(place_of)))
    node_of = hierarchy.node_of
    absent = [label for label in labels if node_of.get(label, hierarchy.n_leaves) >= hierarchy.n_leaves]
    if absent:
        shown = "" if spec.secret else f": {some(absent)}"
        raise HierarchyError(
            f"{name} misses {len(absent):,} of the {len(labels):,} values in the data{shown}.\n"
            "Add a line for each, or list their spelling under missing = [...] if they stand for missing values."
        )
    return hierarchy


def _by_number(hierarchy: Hierarchy, labels: list[str], name: str, *, secret: bool) -> Hierarchy:
    """Return the hierarchy with leaves in rising order, spelled as in the data: 20 there is 20.0 here."""
    if any(math.isnan(_number(leaf)) for leaf in hierarchy.leaves):
        known = [path for path in hierarchy.paths() if not math.isnan(_number(path[0]))]
        hierarchy = Hierarchy.from_paths(known, name, secret=secret)
    if not set(labels) <= set(hierarchy.leaves):
        spelling = {Decimal(label.strip()): label for label in labels}
        leaves = [spelling.get(Decimal(leaf.strip()), leaf) for leaf in hierarchy.leaves]
        if len(set(leaves)) < len(leaves):
            raise HierarchyError(
                f"{name} lists {len(leaves) - len(set(leaves)):,} number(s) more than once, in other spellings.\n"
                "Keep one line for each number."
            )
        hierarchy = replace(hierarchy, labels=(*leaves, *hierarchy.labels[hierarchy.n_leaves :]))
    return hierarchy.in_order(lambda leaf: Decimal(leaf.strip()))


def _order_of(
    kind: Kind, labels: list[str], values: NDArray[np.float64] | None, hierarchy: Hierarchy | None, spec: ColumnSpec
) -> NDArray[np.int64]:
    """Return the old codes in their new order."""
    place_in_domain = {value: place for place, value in enumerate(spec.domain or ())}
    if spec.domain is not None:
        outside = sum(label not in place_in_domain for label in labels)
        if outside:
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
        keys = [Decimal(label.strip()) for label in labels]
    elif kind is Kind.ORDERED:
        if spec.domain is None:
            raise DataError(
                f"Column {spec.name!r} is ordered, but nothing says in which order.\n"
                "Give domain = [lowest, ..., highest], or a hierarchy whose lines are in order."
            )
        keys = [place_in_domain[label] for label in labels]
    return np.array(sorted(range(len(labels)), key=keys.__getitem__), dtype=np.int64)


# Columns of sets.


def encode_sets(array: pa.ChunkedArray, spec: ColumnSpec, missing: tuple[str, ...]) -> CodedSets:
    """Return a column of sets; a missing or empty cell is the empty set.

    Blanks around a member do not count, nor do members of blanks only, nulls and repeats. Randomized columns, whose
    domain is known, come as bit sets over it.
    """
    domain = spec.domain if spec.role is Role.SENSITIVE_QUASI_IDENTIFIER else None
    try:
        if is_list(array.type):
            flat, start, terms = _flat_lists(array)
            inner = value_type(array.type.value_type)
            if domain is not None:
                return _over_domain(flat, start, terms.to_pylist(), domain, inner, spec)
            flat, start = _sorted_sets(flat, start)
        else:
            # Text cells are cut, sorted and rid of repeats once each, however many rows show them.
            cell_of, cells, _ = _text_codes(array, missing)
            lists = pc.split_pattern(cells.cast(pa.large_string()), pattern=spec.separator)
            flat, start, terms = _flat_lists(pa.chunked_array([lists]))
            if domain is not None:
                start = np.append(start, start[-1])  # the last cell is the missing one
                return _over_domain(flat, start, terms.to_pylist(), domain, pa.string(), spec).take(cell_of)
            flat, start = _sorted_sets(flat, start)
            flat, start = repeat_sets(flat, np.append(start, start[-1]), cell_of)  # the last cell is the missing one
            inner = pa.string()
    except DataError as error:
        raise DataError(f"Column {spec.name!r}: {error}") from None
    labels = tuple(terms.to_pylist())
    sensitive = None
    if spec.sensitive_items is not None:
        named = spec.sensitive_items
        chosen = set(named) if isinstance(named, tuple) else named
        sensitive = np.array([label in chosen for label in labels], dtype=np.bool_)
    return CodedSets(
        name=spec.name,
        role=spec.role,
        items=flat,
        start=start,
        labels=labels,
        separator=spec.separator,
        sensitive=sensitive,
        type=inner,
    )


def _over_domain(
    items: Codes,
    start: NDArray[np.int64],
    terms: list[str],
    domain: tuple[str, ...],
    inner: pa.DataType,
    spec: ColumnSpec,
) -> BitSets:
    """Return sets as bit sets over a domain, and whether each was found in the order of the domain without repeats."""
    place_of = {label: place for place, label in enumerate(domain)}
    outside = sum(term not in place_of for term in terms)
    if outside:
        raise DataError(f"{outside:,} of {len(terms):,} distinct members are outside the domain of {len(domain):,}.")
    items = np.array([place_of[term] for term in terms], dtype=np.int32)[items] if terms else items
    rising = items[1:] > items[:-1]
    rising[start[1:-1][(start[1:-1] > 0) & (start[1:-1] < items.size)] - 1] = True  # from one cell to the next
    in_order = bool(rising.all())
    if not in_order:
        items, start = _sorted_sets(items, start)
    return BitSets(
        name=spec.name,
        role=spec.role,
        packed=bit_sets_of(items, start, len(domain)),
        labels=domain,
        separator=spec.separator,
        type=inner,
        in_order=in_order,
        spec=spec,
    )


def _flat_lists(array: pa.ChunkedArray) -> tuple[Codes, NDArray[np.int64], pa.Array]:
    """Return members, where each list begins, and the sorted texts of members; what counts as no member is gone."""
    chunks = [chunk.flatten() for chunk in array.chunks]
    inner = array.type.value_type
    codes, texts, has_missing = _text_codes(pa.chunked_array(chunks, inner), ("",), trim=True)
    sizes = [as_numpy(pc.fill_null(pc.list_value_length(chunk), 0)) for chunk in array.chunks]
    size = np.concatenate(sizes).astype(np.int64) if sizes else np.empty(0, dtype=np.int64)
    if has_missing:
        real = codes < len(texts)
        size = np.bincount(np.repeat(np.arange(size.size), size)[real], minlength=size.size)
        codes = codes[real]
    start = np.zeros(size.size + 1, dtype=np.int64)
    np.cumsum(size, out=start[1:])
    order = as_numpy(pc.sort_indices(texts)).astype(np.int32)
    rank = np.empty(len(texts) + 1, dtype=np.int32)
    rank[order] = np.arange(len(texts), dtype=np.int32)
    look_up(rank, codes, codes)
    return codes, start, texts.take(as_arrow(order))


def _sorted_sets(items: Codes, start: NDArray[np.int64]) -> tuple[Codes, NDArray[np.int64]]:
    """Sort the items of each set and drop repeats; `items` is used up."""
    n_rows = start.size - 1
    size = np.diff(start)
    width = int(items.max()) + 1 if items.size else 1
    written = 0
    first = 0
    while first < n_rows:
        # As many whole sets as make up a step, one at least.
        last = max(first + 1, int(np.searchsorted(start, start[first] + _STEP, side="right")) - 1)
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
    new_start = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(size, out=new_start[1:])
    return items[:written], new_start


def repeat_sets(items: Codes, start: NDArray[np.int64], set_of: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """Return the sets that rows show, given the number of the set of each row."""
    size = np.diff(start)
    new_start = np.zeros(set_of.size + 1, dtype=np.int64)
    np.cumsum(size[set_of], out=new_start[1:])
    found = np.empty(new_start[-1], dtype=np.int32)
    for first in range(0, set_of.size, _STEP):
        chosen = set_of[first : first + _STEP]
        here = new_start[first : first + chosen.size + 1]
        source = np.repeat(start[chosen] - here[:-1], size[chosen]) + np.arange(here[0], here[-1])
        found[here[0] : here[-1]] = items[source]
    return found, new_start
