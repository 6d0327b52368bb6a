"""What other published columns tell of hidden cells: masked values, and terms and items that are withheld.

An attacker who sees another column of a record guesses the hidden value from it. Each value of that column counts only
if at least four rows show it, and each cell is guessed from the other rows. The shares of a value that few rows show
are drawn towards the shares in the whole table, by as much as predicts the cells best that were left out: a column of
nearly as many values as rows, or one that has nothing to do with the hidden one, then tells nothing by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Phase
from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import (
    CodedColumn,
    CodedSets,
    Codes,
    Dataset,
    as_arrow,
    as_numpy,
    counted,
    distinct_codes,
    starts_of,
)
from sfumato.data.distinct import entries_of
from sfumato.data.kinds import is_list, is_text, value_type
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Role
from sfumato.data.sets import flattened, repeat_sets
from sfumato.errors import DataError, Unsatisfiable
from sfumato.models.base import Policy
from sfumato.parameters import Takes, parameter, parametrized

if TYPE_CHECKING:
    from sfumato.anonymizers.choosing import Step

FEW = 20  # a column is refused that gives away one in so many hidden cells or more; fewer are a warning
FEWEST = 4  # rows that show a value, so that it counts
ROWS = 1 << 18  # rows in which elements of sets, and parts of texts, are looked at
CLEAR = 12.0  # log-likelihood that a column must add: less is found by chance
_PAIRS = 1 << 14  # pairs of values that say how far shares in few rows can be trusted
_PULLS = 4.0 ** np.arange(-5, 11)  # rows like the whole table that are added to those with a value
_APART = r"[\s|;,/]+"  # between the elements of a text

Known: TypeAlias = CodedColumn | Labelled | CodedSets | pa.ChunkedArray
Integers: TypeAlias = NDArray[np.int64]


def about_dependence(found: str, column: str = "") -> Any:
    """Return the parameter that says what becomes of columns that could be read off from others; found: such ones."""
    return parameter(
        Takes.CHOICE,
        "Columns that give one another away",
        f"What to do about {found} that could be read off from another{column}.",
        default="refuse",
        choices=("refuse", "allow"),
    )


def refusal(what: str, first: Sequence[str], remedy: str, anonymizer: str) -> Unsatisfiable:
    """Return the error that columns give one another away; first: which, in words."""
    more = f" and {len(first) - 5} more" if len(first) > 5 else ""
    return Unsatisfiable(
        f"{what} could be read off from others: {'; '.join(first[:5])}{more}.\n"
        f'{remedy}, or accept it by name: [anonymizers.{anonymizer}] dependence = "allow".'
    )


@runtime_checkable
@parametrized
class HidesCells(Anonymizer, Protocol):
    """An anonymizer that masks values, or withholds terms or items, of the columns that its requirements judge."""

    dependence: str = about_dependence("masked or withheld values", " column")

    def bound(self, policy: Policy) -> Fraction:
        """Return how sure an attacker may be of a hidden cell, as the requirements on one column have it."""


@dataclass(frozen=True)
class Question:
    """A column with hidden cells, and which others do not count: the same requirement judges them."""

    column: str
    bound: Fraction
    judged: frozenset[str]


@dataclass(frozen=True)
class GivenAway:
    """How many of the hidden cells of a column another one tells."""

    known: str
    told: str
    cells: int
    hidden: int

    def __str__(self) -> str:
        return f"{self.known!r} gives away {self.told!r} ({self.cells:,} of {self.hidden:,} hidden cells)"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        strength = round(self.cells / self.hidden, 3)
        return {"known": self.known, "told": self.told, "strength": strength, "cells": self.cells}


Look: TypeAlias = Callable[[Sequence[Question]], Sequence[GivenAway]]


def dependence_of_steps(
    steps: Sequence[Step], dataset: Dataset, labels: Collection[str], look: Look
) -> dict[str, dict[str, Any]]:
    """Return what there is to say about each anonymizer that hides cells, or raise where one refuses what was found.

    `look` answers questions by what is published once all steps are done. `labels` are those that terms lead to: a
    sensitive column of them does not count for terms, if a requirement of its own bounds what is learnt of it.
    """
    bounded = {name for step in steps for name in step.policy.judged_columns}
    of_labels = frozenset(
        column.name
        for column in dataset.with_role(Role.SENSITIVE)
        if column.name in bounded and labels and set(column.labels) <= {*labels, *dataset.schema.missing}
    )
    told: dict[str, dict[str, Any]] = {}
    for step in steps:
        anonymizer = step.anonymizer
        if not isinstance(anonymizer, HidesCells):
            continue
        found = look(list(_questions(step, anonymizer, dataset, of_labels)))
        many = [each for each in found if FEW * each.cells >= each.hidden]
        if many and anonymizer.dependence == "refuse":
            raise refusal(
                f"Hidden cells of {len({each.told for each in many}):,} column(s)",
                list(map(str, many)),
                "An attacker who sees both columns can undo the protection. Drop the column that gives it away "
                '(role = "identifier"), protect it (a role that the same requirement judges)',
                anonymizer.name,
            )
        told[anonymizer.name] = {"dependences": [each.as_dict() for each in found]}
    return told


def _questions(step: Step, anonymizer: HidesCells, dataset: Dataset, of_labels: frozenset[str]) -> Iterator[Question]:
    """Yield each column in which a step may have hidden cells."""
    shown = [column.name for column in dataset.quasi_identifiers]
    models = [model for model in step.policy if anonymizer.aims(model)]
    for name in dict.fromkeys(name for model in models for name in model.judged_columns):
        asked = [model for model in models if name in model.judged_columns]
        judged = {name, *(each for model in asked for each in model.judged_columns)}
        by_class = anonymizer.phase.forms_groups or any(
            getattr(model, "within", "classes") == "classes" for model in asked
        )
        judged |= set(shown if by_class else ()) | (of_labels if anonymizer.phase is Phase.TERMS else set())
        yield Question(name, anonymizer.bound(Policy(tuple(asked))), frozenset(judged))


# Cells that are hidden.


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of cells, ascending: by the true value first, then by what is shown for it. u kinds."""

    value: Codes  # (u,)
    shown: Codes  # (u,): a code of the published labels; of members of sets 0: as it is, 1: not
    count: Integers  # (u,): cells of each kind


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column, or the members of its sets: o of them, in n rows."""

    row_of: Integers | None  # (o,), ascending; None: one in each row
    kind_of: Codes  # (o,)
    kinds: Kinds

    @classmethod
    def of(cls, original: CodedColumn | CodedSets, published: Any, weights: Integers | None = None) -> Cells:
        """Return the cells of a column, given what is published of it; weights: how many rows each row stands for."""
        row_of = None
        if isinstance(original, CodedSets):
            value, row_of, n_shown = original.items, original.row_of, 2
            shown = _missing_from(original, row_of, published)
            weights = None if weights is None else weights[row_of]
        else:
            value, shown, n_shown = original.codes, published.codes, len(published.labels)
        found = distinct_codes([(value, max(len(original.labels), 1)), (shown, n_shown)], value.size, weights)
        kinds = Kinds(found.codes[:, 0], found.codes[:, 1], found.weight)
        return cls(row_of, found.distinct_of, kinds)

    def in_rows(self, rows: Integers, n_rows: int) -> tuple[Integers, Codes]:
        """Return where the cells of some rows begin, (rows + 1,), and their kinds."""
        if self.row_of is None:
            return np.arange(rows.size + 1), self.kind_of[rows]
        start = np.searchsorted(self.row_of, np.arange(n_rows + 1))
        kinds, found = repeat_sets(self.kind_of, start, rows)
        return found, kinds


def _missing_from(original: CodedSets, row_of: Integers, published: CodedSets) -> Codes:
    """Return 1 for each member of a set that is not published as it is, else 0."""
    n = max(len(original.labels), 1)
    place = {label: code for code, label in enumerate(original.labels)}
    code_of = np.array([place.get(label, -1) for label in published.labels], dtype=np.int64)
    codes = code_of[published.items]
    keys = (published.row_of * n + codes)[codes >= 0]
    if keys.size and (keys[1:] < keys[:-1]).any():
        keys.sort()
    keys = np.append(keys, -1)
    asked = row_of * n + original.items
    absent: NDArray[np.bool_] = keys[np.searchsorted(keys[:-1], asked)] != asked
    return absent.astype(np.int32)


@dataclass(frozen=True, eq=False)
class Doubt:
    """What hides the cells of a column: how sure an attacker has to be of each kind of cell, before it is given away.

    Sizes: v values, u kinds.
    """

    share: NDArray[np.float64]  # (v,): of rows with each value
    limit: NDArray[np.float64]  # (u,): no share is above it where a cell is shown as it is

    @classmethod
    def of(cls, original: CodedColumn | CodedSets, published: Any, kinds: Kinds, rows: int, bound: Fraction) -> Doubt:
        """Return the doubt that the requirement and what is shown leave: three quarters of it have to be removed."""
        share = np.bincount(kinds.value, weights=kinds.count, minlength=len(original.labels)) / max(rows, 1)
        if isinstance(original, CodedColumn):
            below = _share_below(original, published.labels, share)
            believed = np.minimum(share[kinds.value] / np.maximum(below[kinds.shown], 1e-300), 1.0)
            hidden = _labels(original.labels)[kinds.value] != _labels(published.labels)[kinds.shown]
        else:
            believed, hidden = share[kinds.value], kinds.shown == 1
        return cls(share, np.where(hidden, np.maximum(float(bound), 1 - (1 - believed) / 4), np.inf))

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which kinds of cells are hidden, (u,)."""
        return np.isfinite(self.limit)


def _labels(labels: Sequence[str]) -> NDArray[np.object_]:
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def _share_below(column: CodedColumn, labels: Sequence[str], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many rows have a value that each label stands for, as a share; all where nothing says which."""
    tree, upto = column.tree, np.concatenate([[0.0], np.cumsum(share)])
    if tree is None:
        return np.ones(len(labels))
    node_of = {label: node for node, label in enumerate(tree.labels)}
    nodes = [node_of.get(label) for label in labels]
    return np.array([1.0 if node is None else upto[tree.last[node] + 1] - upto[tree.first[node]] for node in nodes])


# What is known.


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each value of a column stands beside each kind of cell. p pairs, ascending; k values."""

    known: Integers  # (p,)
    kind: Integers  # (p,)
    count: Integers  # (p,)
    rows: Integers  # (k,): that show each value

    def given_away(self, doubt: Doubt, kinds: Kinds) -> int:
        """Return how many hidden cells are told beyond what the requirement allows."""
        often = self.rows[self.known] >= FEWEST
        known, kind, count = self.known[often], self.kind[often], self.count[often]
        if not known.size or not doubt.hidden[kind].any():
            return 0
        value = kinds.value[kind]
        begins = np.flatnonzero(np.append(True, (known[1:] != known[:-1]) | (value[1:] != value[:-1])))
        both = np.add.reduceat(count, begins).astype(np.float64)
        share, rows = doubt.share[value[begins]], self.rows[known[begins]].astype(np.float64)
        sure = _shares(both, rows, share)
        if sure is None:
            return 0
        pair_of = np.repeat(np.arange(begins.size), np.diff(np.append(begins, known.size)))
        return int(count[sure[pair_of] > doubt.limit[kind]].sum())


def _shares(
    both: NDArray[np.float64], rows: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return how sure one is of a cell from the others beside the same value; None where these tell nothing.

    both: cells of a value in rows that show another one, rows: all that show that, share: of the value in the table.
    """
    some = slice(None, None, -(-both.size // _PAIRS))

    def guess(pull: float, part: slice) -> NDArray[np.float64]:
        return (both[part] - 1 + pull * share[part]) / (rows[part] - 1 + pull)

    gains = [float(both[some] @ np.log(guess(pull, some) / share[some])) for pull in _PULLS]
    best = int(np.argmax(gains))
    return guess(float(_PULLS[best]), slice(None)) if gains[best] > CLEAR else None


@dataclass(frozen=True, eq=False)
class Elements:
    """A column of several values a row: those of row r are items[start[r]:start[r + 1]]."""

    items: Codes
    start: Integers
    labels: Sequence[str] | pa.Array  # null is behind the last

    @property
    def n_values(self) -> int:
        """How many there may be."""
        return len(self.labels) + 1


def single_values(known: Known) -> tuple[Codes, Sequence[str] | pa.Array] | None:
    """Return a column of single values in codes, and their labels, null behind the last; None where cells are sets."""
    if isinstance(known, CodedColumn | Labelled):
        return known.codes, known.labels
    if isinstance(known, CodedSets) or is_list(known.type):
        return None
    return _entries(known)


def _entries(array: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    try:
        return entries_of(array)
    except DataError:  # of a type that is published, but that nothing is asked of
        return entries_of(pa.chunked_array([pa.array(list(map(str, array.to_pylist())), pa.string())]))


def elements(known: Known, rows: Integers) -> Elements | None:
    """Return the elements of some rows of a column; None where cells are single values, and texts of one part."""
    if isinstance(known, CodedColumn | Labelled):
        return None
    if isinstance(known, BitSets):
        known = known.with_packed(known.packed[rows])
        return Elements(known.items, known.start, known.labels)
    if isinstance(known, CodedSets):
        items, start = repeat_sets(known.items, known.start, rows)
        return Elements(items, start, known.labels)
    if is_list(known.type):
        values, start = flattened(known.take(as_arrow(rows)))
        items, texts = _entries(values)
        return _each_once(items, start, texts)
    if not is_text(value_type(known.type)):
        return None
    cells, texts = entries_of(known.take(as_arrow(rows)))
    parts = pc.split_pattern_regex(pa.concat_arrays([pc.fill_null(texts, ""), pa.array([""])]), _APART)
    size = as_numpy(pc.list_value_length(parts)).astype(np.int64)
    if size.max(initial=0) < 2:
        return None
    coded = pc.dictionary_encode(pc.list_flatten(parts))
    distinct = _each_once(as_numpy(coded.indices), starts_of(size), coded.dictionary)
    items, start = repeat_sets(distinct.items, distinct.start, cells)
    return replace(distinct, items=items, start=start)


def _each_once(items: Codes, start: Integers, labels: pa.Array) -> Elements:
    """Return sets without repeats."""
    n = len(labels) + 1
    keys = np.repeat(np.arange(start.size - 1), np.diff(start)) * n + items
    keys.sort()
    keys = keys[np.append(True, keys[1:] > keys[:-1])] if keys.size else keys
    row, items = np.divmod(keys, n)
    return Elements(items.astype(np.int32), np.searchsorted(row, np.arange(start.size)).astype(np.int64), labels)


def tally_single(
    codes: Codes, n_known: int, cells: Cells, weights: Integers | None = None, fewest: int = FEWEST
) -> Tally:
    """Return how often single values stand beside each kind of cell; those that fewer rows show are left out."""
    rows = counted(codes, n_known, weights)
    known = codes if cells.row_of is None else codes[cells.row_of]
    kind = cells.kind_of
    beside = weights if weights is None or cells.row_of is None else weights[cells.row_of]
    if (rows < fewest).any():
        often = (rows >= fewest)[known]
        known, kind, beside = known[often], kind[often], None if beside is None else beside[often]
    found = distinct_codes([(known, n_known), (kind, cells.kinds.value.size)], known.size, beside)
    return Tally(found.codes[:, 0].astype(np.int64), found.codes[:, 1].astype(np.int64), found.weight, rows)


def tally_elements(known: Elements, cells: Cells, rows: Integers, n_rows: int) -> Tally:
    """Return how often elements of some rows stand beside each kind of cell there."""
    start, kinds = cells.in_rows(rows, n_rows)
    size = np.diff(start)
    row_of = np.repeat(np.arange(rows.size), np.diff(known.start))
    each = size[row_of]  # cells beside each element
    element = np.repeat(known.items, each)
    place = np.repeat(start[:-1][row_of] - (np.cumsum(each) - each), each) + np.arange(element.size)
    sized = [(element, known.n_values), (kinds[place], cells.kinds.value.size)]
    found = distinct_codes(sized, element.size)
    shown = counted(known.items, known.n_values)
    return Tally(found.codes[:, 0].astype(np.int64), found.codes[:, 1].astype(np.int64), found.weight, shown)


def some_rows(n_rows: int, most: int = ROWS) -> Integers:
    """Return some rows of a table, always the same."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def published_columns(dataset: Dataset, recoding: Recoding) -> Iterator[tuple[str, Known]]:
    """Yield each column as it is published, in order."""
    for name in dataset.order:
        if name in dataset.columns:
            yield name, recoding.columns.get(name, dataset.columns[name])
        elif dataset.carried is not None:
            yield from ((name, found) for found in _plain(dataset.carried.column(name)))


def _plain(array: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield a column, or the fields of one of records."""
    if not pa.types.is_struct(array.type):
        yield array
        return
    for field in array.flatten():
        yield from _plain(field)


def given_away(dataset: Dataset, recoding: Recoding, questions: Sequence[Question]) -> list[GivenAway]:
    """Answer questions by all rows of a table, given what is published of them."""
    questions = [each for each in questions if each.column in recoding.columns]
    questions = [each for each in questions if not each.judged.issuperset(dataset.order)]
    if not questions:
        return []
    if recoding.pieces is not None:
        dataset = dataset.standing_for(recoding.pieces.row_of, recoding.pieces.count)
    dataset, recoding = kept_rows(dataset.held, recoding)
    cells, doubts = {}, {}
    for each in questions:
        original, published = dataset.columns[each.column], recoding.columns[each.column]
        cells[each.column] = found = Cells.of(original, published, dataset.weights)
        doubts[each.column] = Doubt.of(original, published, found.kinds, dataset.total, each.bound)
    questions = [each for each in questions if doubts[each.column].hidden.any()]
    rows = some_rows(dataset.n_rows)
    answers = []
    for name, known in published_columns(dataset, recoding):
        asked = [each for each in questions if name not in each.judged]
        if not asked:
            continue
        single = single_values(known)
        several = elements(known, rows) if dataset.weights is None else None
        for each in asked:
            here, doubt = cells[each.column], doubts[each.column]
            tallies = []
            if single is not None:
                tallies.append(tally_single(single[0], len(single[1]) + 1, here, dataset.weights))
            if several is not None:
                tallies.append(tally_elements(several, here, rows, dataset.n_rows))
            told = max((found.given_away(doubt, here.kinds) for found in tallies), default=0)
            if told:
                answers.append(answer(name, each.column, told, doubt, here.kinds))
    return answers


def answer(known: str, told: str, cells: int, doubt: Doubt, kinds: Kinds) -> GivenAway:
    """Return that so many cells are told: each once, though several elements of a set may tell it."""
    hidden = int(kinds.count[doubt.hidden].sum())
    return GivenAway(known, told, min(cells, hidden), hidden)


def kept_rows(dataset: Dataset, recoding: Recoding) -> tuple[Dataset, Recoding]:
    """Return the rows that are published."""
    if recoding.keep_row is None or recoding.keep_row.all():
        return dataset, recoding
    rows = np.flatnonzero(recoding.keep_row)

    def of(column: Any) -> Any:
        if isinstance(column, BitSets):
            return column.with_packed(column.packed[rows])
        if isinstance(column, CodedSets):
            items, start = repeat_sets(column.items, column.start, rows)
            return replace(column, items=items, start=start)
        return replace(column, codes=column.codes[rows])

    columns: Mapping[str, Any] = {name: of(column) for name, column in dataset.columns.items()}
    carried = dataset.carried.take(as_arrow(rows)) if dataset.carried is not None else None
    weights = dataset.weights_in(rows)
    dataset = replace(dataset, columns=columns, carried=carried, n_rows=rows.size, weights=weights)
    return dataset, Recoding(columns={name: of(column) for name, column in recoding.columns.items()})
