"""From a table as found to coded columns: roles checked, identifiers dropped, kinds inferred and stated.

Tables come with text columns as dictionaries where the reader could make them so: work on values is then done once for
each distinct value, not once for each row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Codes, Dataset
from sfumato.data.hierarchy import Hierarchy, some
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, HierarchyError, did_you_mean

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def encode(table: pa.Table, schema: Schema) -> Dataset:
    """Return the table in codes, or raise with everything in the schema that does not fit the table."""
    check_columns(table.column_names, schema)
    columns: dict[str, CodedColumn | CodedSets] = {}
    carried: list[str] = []
    problems: list[str] = []
    for name in table.column_names:
        spec = schema.spec(name)
        if spec is None or spec.role is Role.IDENTIFIER:
            continue
        if spec.role is Role.OTHER:
            carried.append(name)
            continue
        try:
            columns[name] = encode_column(table.column(name), spec, schema.missing)
        except (DataError, HierarchyError) as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    if table.num_rows >= 2**31:
        raise DataError(
            f"The table has {table.num_rows:,} rows; one machine takes up to {2**31 - 1:,}.\nUse the Spark engine."
        )
    order = tuple(name for name in table.column_names if name in columns or name in carried)
    return Dataset(
        schema=schema,
        columns=columns,
        carried=table.select(carried) if carried else None,
        n_rows=table.num_rows,
        order=order,
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
    is_list = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    if spec.kind is Kind.SET or is_list or spec.role is Role.ITEMS:
        if spec.kind not in (None, Kind.SET):
            raise DataError(
                f"Column {spec.name!r} is declared as {spec.kind.value} but holds lists.\nDeclare it as a set."
            )
        return _encode_sets(array, spec, missing)
    codes, labels, has_missing = text_codes(array, missing)
    return _encode_values(codes, labels, has_missing, array.type, spec, missing)


def text_codes(array: pa.ChunkedArray, missing: Sequence[str]) -> tuple[Codes, list[str], bool]:
    """Return codes and the text of each distinct value; missing cells get the code after the last label.

    Null, not-a-number and the markers in `missing` are missing.
    """
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    array = array.unify_dictionaries()
    if array.num_chunks:
        dictionary = array.chunk(0).dictionary
        indices = [chunk.indices for chunk in array.chunks]
    else:
        dictionary, indices = pa.array([], pa.string()), []
    texts = dictionary.cast(pa.string()).to_pylist()
    marker = set(missing)
    position = {
        text: code for code, text in enumerate(dict.fromkeys(t for t in texts if t is not None and t not in marker))
    }
    absent = len(position)
    new_code = np.array([position.get(text, absent) for text in texts] + [absent], dtype=np.int32)
    codes = np.empty(sum(len(chunk) for chunk in indices), dtype=np.int32)
    at = 0
    for chunk in indices:
        filled = pc.fill_null(chunk, len(texts)) if chunk.null_count else chunk
        codes[at : at + len(chunk)] = new_code[filled.to_numpy(zero_copy_only=False)]
        at += len(chunk)
    has_missing = bool(codes.size) and bool((codes == absent).any())
    return codes, list(position), has_missing


def _encode_values(
    codes: Codes,
    labels: list[str],
    has_missing: bool,
    found_type: pa.DataType,
    spec: ColumnSpec,
    missing: tuple[str, ...],
) -> CodedColumn:
    kind = spec.kind or infer_kind(labels, found_type)
    if kind is Kind.NUMBER:
        codes, labels, values = _merge_equal_numbers(codes, labels, spec)
    hierarchy = _hierarchy_for(spec, kind, labels)
    order = _order_of(kind, labels, hierarchy, spec)
    rank = np.empty(len(labels) + 1, dtype=np.int32)  # the last entry is the missing value, which stays last
    rank[order] = np.arange(len(labels), dtype=np.int32)
    rank[-1] = len(labels)
    ordered_labels = [labels[code] for code in order]
    ordered_values = None
    if kind is Kind.NUMBER:
        ordered_values = values[order]
        if hierarchy is not None and np.any(np.diff(ordered_values) <= 0):
            raise HierarchyError(
                f"The hierarchy of number column {spec.name!r} has groups that reach into one another.\n"
                'Make each group a range of numbers, or declare kind = "category".'
            )
    if has_missing:
        ordered_labels.append(missing[0] if missing else "")
        if ordered_values is not None:
            ordered_values = np.append(ordered_values, np.nan)
    return CodedColumn(
        name=spec.name,
        role=spec.role,
        kind=kind,
        codes=rank[codes],
        labels=tuple(ordered_labels),
        values=ordered_values,
        missing=len(labels) if has_missing else -1,
        hierarchy=hierarchy,
        type=found_type.value_type if pa.types.is_dictionary(found_type) else found_type,
        kind_inferred=spec.kind is None,
    )


def infer_kind(labels: Sequence[str], found_type: pa.DataType) -> Kind:
    """Return `number` when every value is one; codes with leading zeros are categories."""
    if pa.types.is_boolean(found_type) or not labels:
        return Kind.CATEGORY
    return Kind.NUMBER if all(_NUMBER.fullmatch(label) for label in labels) else Kind.CATEGORY


def is_integer(label: str) -> bool:
    """Whether a text is a whole number that fits 64 bits."""
    return _INTEGER.fullmatch(label) is not None


def _merge_equal_numbers(
    codes: Codes, labels: list[str], spec: ColumnSpec
) -> tuple[Codes, list[str], NDArray[np.float64]]:
    """Give texts of the same number, such as 1 and 1.0, one code; the shortest text stays."""
    not_numbers = 0
    values = np.empty(len(labels), dtype=np.float64)
    for code, label in enumerate(labels):
        try:
            values[code] = float(label)
        except ValueError:
            not_numbers += 1
    if not_numbers or not np.isfinite(values).all():
        count = not_numbers or int((~np.isfinite(values)).sum())
        raise DataError(
            f"Column {spec.name!r} is declared as number, but {count:,} of its {len(labels):,} distinct values are none.\n"
            "List their spelling under missing = [...] if they stand for missing values, or declare another kind."
        )
    distinct, of_label = np.unique(values, return_inverse=True)
    if distinct.size == len(labels):
        return codes, labels, values
    kept = [""] * distinct.size
    for label, number in zip(labels, of_label, strict=True):
        if not kept[number] or (len(label), label) < (len(kept[number]), kept[number]):
            kept[number] = label
    return np.append(of_label, distinct.size).astype(np.int32)[codes], kept, distinct


def _hierarchy_for(spec: ColumnSpec, kind: Kind, labels: list[str]) -> Hierarchy | None:
    if spec.hierarchy is None:
        return None
    name = f"The hierarchy of column {spec.name!r}"
    hierarchy = spec.hierarchy.build(labels, name, secret=spec.secret)
    absent = [
        label for label in labels if label not in hierarchy.node_of or hierarchy.node_of[label] >= hierarchy.n_leaves
    ]
    if absent:
        shown = "" if spec.secret else f": {some(absent)}"
        raise HierarchyError(
            f"{name} misses {len(absent):,} of the {len(labels):,} values in the data{shown}.\n"
            "Add a line for each, or list their spelling under missing = [...] if they stand for missing values."
        )
    if kind is Kind.NUMBER:
        try:
            hierarchy = Hierarchy.from_paths(
                sorted(hierarchy.paths(), key=lambda path: float(path[0])), name, secret=spec.secret
            )
        except ValueError:
            raise HierarchyError(
                f'{name} has values that are no numbers.\nDeclare kind = "category", or remove these lines.'
            ) from None
    return hierarchy


def _order_of(kind: Kind, labels: list[str], hierarchy: Hierarchy | None, spec: ColumnSpec) -> NDArray[np.int64]:
    """Return the old codes in their new order."""
    if spec.domain is not None:
        outside = sum(label not in set(spec.domain) for label in labels)
        if outside:
            raise DataError(
                f"Column {spec.name!r} has {outside:,} distinct value(s) outside its declared domain of {len(spec.domain):,}.\n"
                "Add them to domain = [...], or clean the data."
            )
    if hierarchy is not None:
        rank = {leaf: position for position, leaf in enumerate(hierarchy.leaves)}
        return np.array(sorted(range(len(labels)), key=lambda code: rank[labels[code]]), dtype=np.int64)
    if kind is Kind.NUMBER:
        return np.argsort(np.array([float(label) for label in labels]), kind="stable")
    if kind is Kind.ORDERED:
        if spec.domain is None:
            raise DataError(
                f"Column {spec.name!r} is ordered, but nothing says in which order.\n"
                "Give domain = [lowest, ..., highest], or a hierarchy whose lines are in order."
            )
        rank = {value: position for position, value in enumerate(spec.domain)}
        return np.array(sorted(range(len(labels)), key=lambda code: rank[labels[code]]), dtype=np.int64)
    return np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int64)


def _encode_sets(array: pa.ChunkedArray, spec: ColumnSpec, missing: tuple[str, ...]) -> CodedSets:
    """Return a column of sets; a missing or empty cell is the empty set."""
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        lists = array.combine_chunks()
        lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        flat, terms, _ = text_codes(pa.chunked_array([lists.flatten()]), ())
        start = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum(lengths, out=start[1:])
    else:
        cell_of, cells, _ = text_codes(array, missing)
        term_of: dict[str, int] = {}
        members = [
            [term_of.setdefault(term.strip(), len(term_of)) for term in cell.split(spec.separator) if term.strip()]
            for cell in cells
        ]
        members.append([])  # the missing cell
        size = np.array([len(cell) for cell in members], dtype=np.int64)
        cell_start = np.concatenate([[0], np.cumsum(size)])
        cell_terms = np.array([term for cell in members for term in cell], dtype=np.int32)
        start = np.concatenate([[0], np.cumsum(size[cell_of])])
        source = np.repeat(cell_start[cell_of] - start[:-1], size[cell_of]) + np.arange(start[-1])
        flat, terms = cell_terms[source], list(term_of)
    return _sorted_sets(flat, start, terms, spec)


def _sorted_sets(flat: Codes, start: NDArray[np.int64], terms: list[str], spec: ColumnSpec) -> CodedSets:
    """Sort the terms of each row by label and drop repeats."""
    order = sorted(range(len(terms)), key=terms.__getitem__)
    rank = np.empty(len(terms), dtype=np.int64)
    rank[order] = np.arange(len(terms))
    n_rows = start.size - 1
    row = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(start))
    keys = np.unique(row * max(len(terms), 1) + rank[flat]) if flat.size else np.empty(0, np.int64)
    rows, items = np.divmod(keys, max(len(terms), 1))
    new_start = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=new_start[1:])
    labels = tuple(terms[code] for code in order)
    sensitive = None
    if spec.sensitive_items is not None:
        chosen = set(spec.sensitive_items)
        sensitive = np.array([label in chosen for label in labels], dtype=np.bool_)
    return CodedSets(
        name=spec.name,
        role=spec.role,
        items=items.astype(np.int32),
        start=new_start,
        labels=labels,
        separator=spec.separator,
        sensitive=sensitive,
    )
