"""What an intruder with a knowledge table believes about each group of a release.

A record is linked to a label when a row of the label contains all its terms; a group's belief in a label is the mean of
its records' 1/|K|, where K are the labels that a record is linked to. Everything here starts from released terms and
the public table. It shares no code with the anonymizers, so a mistake there shows here.

Sizes: n rows, b groups of a batch. Groups are worked on in batches, each of which links its different term sets once:
memory follows the batch and not the release.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sfumato.data.dataset import CodedSets
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.data.terms import TermColumns
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel, Verdict
from sfumato.models.judging.classes import Classes, Integers

BATCH = 1 << 19  # links that a batch of groups may have at most, unless one group alone has more
DENSE = 1 << 28  # cells of a term-by-row table that is kept as bits (32 MB); beyond, rows are looked up in sorted lists

Floats = NDArray[np.float64]


# What is public, and which column is judged.


def public_inputs(release: Release) -> PublicInputs:
    """Return what everybody knows besides the release."""
    return release.public


def with_public(release: Release, public: PublicInputs) -> Release:
    """Return the release together with what everybody knows besides it."""
    return replace(release, public=public)


def public_knowledge(release: Release, model: PrivacyModel) -> Knowledge:
    """Return the knowledge table that the intruder uses, or raise."""
    knowledge = public_inputs(release).knowledge
    if knowledge is None:
        raise DataError(
            f"{', '.join(model.judged_columns)}: {model.name} was asked for, but no knowledge table was given.\n"
            "It says which labels an intruder links terms to: name one under [knowledge] in the plan."
        )
    return knowledge


def quoted(names: Sequence[str]) -> str:
    """Return names of columns for people.

    >>> print(quoted(("fever", "cough")))
    'fever', 'cough'
    """
    return ", ".join(repr(name) for name in names)


def term_column(release: Release, model: PrivacyModel) -> CodedSets:
    """Return the terms that a model is about, of one column or of several, or raise when they cannot be judged."""
    for name in model.judged_columns:
        _check_column(release, name, model)
    terms = TermColumns.of_release(release, model.judged_columns)
    for name in terms.not_sets:
        raise DataError(
            f"{model.name} is asked of column {name!r}, which holds single values, not sets of terms.\n"
            'Declare kind = "set" and the separator between terms, or present = "yes" if it is binary, or ask it of '
            "another column."
        )
    return terms.sets


def _check_column(release: Release, name: str, model: PrivacyModel) -> None:
    column = release.columns.get(name)
    asked = f"{model.name} is asked of column {name!r}"
    if column is None:
        carried = release.carried is not None and name in release.carried.column_names
        found = "which has role 'other'" if carried else "which the release does not have"
        raise DataError(
            f"{asked}, {found}.\nIts judged columns are: {', '.join(release.columns) or 'none'}.\n"
            "Correct the name in the requirement, or give the column the role 'quasi-sensitive'."
        )
    if column.role is Role.QUASI_IDENTIFIER:
        raise DataError(
            f"{asked}, which is a quasi-identifier: all rows of a group have the same terms in it.\n"
            "Give it the role 'quasi-sensitive', or ask it of another column."
        )
    if isinstance(column, CodedSets):
        _check_sets(column, release.n_rows)


def _check_sets(column: CodedSets, n_rows: int) -> None:
    start, items = column.start, column.items
    if start.shape != (n_rows + 1,):
        raise DataError(f"Column {column.name!r} has {start.size - 1:,} rows, the release {n_rows:,}.\nRead it again.")
    whole = start[0] == 0 and start[-1] == items.size and not (np.diff(start) < 0).any()
    if not whole or (items.size and not 0 <= int(items.min()) <= int(items.max()) < len(column.labels)):
        raise DataError(f"Column {column.name!r} has rows whose terms have no label.\nMake the release again.")


# Links.


class Index:
    """A knowledge table, ready to be searched: its rows by term.

    Terms are numbered anew, the rarest first, so the first term of a sorted set has the shortest list.
    """

    def __init__(self, knowledge: Knowledge, *, dense: int = DENSE) -> None:
        self.knowledge = knowledge
        n_rows, n_terms = knowledge.label_of_row.size, len(knowledge.terms)
        frequency = np.bincount(knowledge.items, minlength=n_terms)
        rarest_first = np.argsort(frequency, kind="stable")
        self.rank_of_term = np.empty(n_terms, dtype=np.int64)
        self.rank_of_term[rarest_first] = np.arange(n_terms)
        rank = self.rank_of_term[knowledge.items]
        row = np.repeat(np.arange(n_rows), np.diff(knowledge.start))
        self._keys = np.sort(rank * n_rows + row)  # (occurrences,): one for each term of each row
        self.rows = self._keys % n_rows  # of rank 0, then of rank 1, ...; ascending in each
        self.start = np.concatenate([[0], np.cumsum(frequency[rarest_first])]).astype(np.int64)  # (terms + 1,)
        self.length = np.diff(self.start)  # (terms,)
        self.n_rows, self.n_terms = n_rows, n_terms
        self._width = (n_rows + 7) // 8
        self._bits: NDArray[np.uint8] | None = None
        if n_terms * n_rows <= dense:
            bits = np.zeros(n_terms * self._width, dtype=np.uint8)
            place = rank * self._width + (row >> 3)
            np.bitwise_or.at(bits, place, np.left_shift(1, row & 7).astype(np.uint8))
            self._bits = bits

    def ranks(self, labels: Iterable[str]) -> Integers:
        """Return the rank of each term by its text, -1 for a term that no row has."""
        number_of = self.knowledge.term_of
        return np.array(
            [self.rank_of_term[number_of[label]] if label in number_of else -1 for label in labels], dtype=np.int64
        )

    def contains(self, row: Integers, rank: Integers) -> NDArray[np.bool_]:
        """Return for each pair whether the row has the term."""
        if self._bits is not None:
            byte = self._bits[rank * self._width + (row >> 3)]
            return np.asarray((byte >> (row & 7).astype(np.uint8)) & 1 == 1)
        key = rank * self.n_rows + row
        place = np.minimum(np.searchsorted(self._keys, key), self._keys.size - 1)
        return np.asarray(self._keys[place] == key)

    def link(self, sets: TermSets) -> Links:
        """Return the labels that each set is linked to; every set has a term, and all its terms are known."""
        parts = [self._link(*part) for part in sets.split(self.length, BATCH)]
        of_set = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
        label = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int64)
        start = np.searchsorted(of_set, np.arange(sets.size + 1)).astype(np.int64)
        return Links(start, label)

    def _link(self, first: int, start: Integers, items: Integers) -> tuple[Integers, Integers]:
        """Return (set, label) pairs in order for the sets first, first + 1, ..."""
        shortest = items[start[:-1]]
        count = self.length[shortest]
        of_set = np.repeat(np.arange(shortest.size), count)
        row = self.rows[_ranges(self.start[shortest], count)]
        size = np.diff(start)
        for position in range(1, int(size.max(initial=0))):
            # Candidates of sets that have ended stay as they are; most others go with the second term.
            open_ = np.flatnonzero(size[of_set] > position)
            if not open_.size:
                break
            stays = self.contains(row[open_], items[start[of_set[open_]] + position])
            keep = np.ones(of_set.size, dtype=np.bool_)
            keep[open_[~stays]] = False
            of_set, row = of_set[keep], row[keep]
        label = self.knowledge.label_of_row[row].astype(np.int64)
        # Rows stand in the order of their labels: a label that is linked through two rows stands there twice in a row.
        again = np.zeros(label.size, dtype=np.bool_)
        again[1:] = (label[1:] == label[:-1]) & (of_set[1:] == of_set[:-1])
        return of_set[~again] + first, label[~again]


@dataclass(frozen=True, eq=False)
class Links:
    """The labels of each term set: those of set s are label[start[s]:start[s + 1]], ascending."""

    start: Integers
    label: Integers

    @cached_property
    def size(self) -> Integers:
        """How many labels each set is linked to: |K|."""
        return np.asarray(np.diff(self.start), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TermSets:
    """Some sets of ranked terms: those of set s are items[start[s]:start[s + 1]], ascending."""

    start: Integers
    items: Integers

    @property
    def size(self) -> int:
        """How many sets there are."""
        return int(self.start.size - 1)

    def split(self, length: Integers, most: int) -> Iterator[tuple[int, Integers, Integers]]:
        """Yield (first set, start, items) of runs of sets whose shortest lists have together about `most` rows."""
        cost = np.concatenate([[0], np.cumsum(length[self.items[self.start[:-1]]])])
        first = 0
        while first < self.size:
            last = max(first + 1, int(np.searchsorted(cost, cost[first] + most, side="right")) - 1)
            begin, end = self.start[first], self.start[last]
            yield first, self.start[first : last + 1] - begin, self.items[begin:end]
            first = last


def _ranges(first: Integers, count: Integers) -> Integers:
    """Return first[0], first[0] + 1, ... (count[0] of them), first[1], ..."""
    end = np.cumsum(count)
    return np.asarray(np.arange(end[-1] if end.size else 0) + np.repeat(first - (end - count), count), dtype=np.int64)


class Terms:
    """The released terms of each row, as ranks in an index."""

    def __init__(self, column: CodedSets, index: Index) -> None:
        self.index = index
        self.rank_of_code = index.ranks(column.labels)
        self.start, self.items = column.start, column.items
        size = np.diff(column.start)
        self.empty = size == 0  # (n,): linked to every label
        # A row with a term that nobody knows is linked to nothing. Reduced by the shortest list of each row's terms,
        # which is 0 then, rows can be weighed before anything is linked.
        length_of_code = np.where(self.rank_of_code < 0, 0, index.length[self.rank_of_code])
        self.cost = np.zeros(size.size, dtype=np.int64)  # (n,): links that a row has at most
        filled = np.flatnonzero(size)
        if filled.size:
            self.cost[filled] = np.minimum.reduceat(length_of_code[self.items], self.start[filled])

    def distinct(self, rows: Integers) -> tuple[TermSets, Integers]:
        """Return the different sets of some rows and the set of each row; rows have terms, all of them known."""
        size = np.diff(self.start)[rows]
        rank = self.rank_of_code[self.items[_ranges(self.start[rows], size)]]
        keys = np.repeat(np.arange(rows.size), size) * self.index.n_terms + rank
        keys.sort()
        row, items = np.divmod(keys, self.index.n_terms)
        start = np.searchsorted(row, np.arange(rows.size + 1)).astype(np.int64)
        set_of, some_row = _distinct_runs(start, items, self.index.n_terms)
        length = np.diff(start)[some_row]
        chosen = TermSets(
            np.concatenate([[0], np.cumsum(length)]).astype(np.int64), items[_ranges(start[some_row], length)]
        )
        return chosen, set_of


def _distinct_runs(start: Integers, items: Integers, width: int) -> tuple[Integers, Integers]:
    """Number the different runs of items 0, 1, ...; return the number of each run, and one run for each number.

    Runs are told apart by their first item, then by their second, and so on, as in a tree of prefixes.
    """
    length = np.diff(start)
    number = np.zeros(length.size, dtype=np.int64)
    prefix = np.zeros(length.size, dtype=np.int64)
    active = np.arange(length.size)
    used = 0
    for position in range(int(length.max(initial=0))):
        active = active[length[active] > position]
        encoded = pa.array(prefix[active] * width + items[start[active] + position]).dictionary_encode()
        prefix[active] = encoded.indices.to_numpy(zero_copy_only=False)
        ended = active[length[active] == position + 1]
        number[ended] = used + prefix[ended]
        used += len(encoded.dictionary)
    encoded = pa.array(number).dictionary_encode()
    number = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    some_run = np.zeros(len(encoded.dictionary), dtype=np.int64)
    some_run[number] = np.arange(length.size)
    return number, some_run


# Beliefs.


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed about some groups, not yet divided by how many records count.

    The mass of label x in group i is the sum of 1/|K| over the group's records that are linked to x. Records without
    terms are linked to every label: they are counted in `whole` and left out of `mass`, which stays sparse.
    """

    group: Integers  # (b,): numbers of the groups
    rows: Integers  # (b,): records
    linked: Integers  # (b,): records that are linked to a label
    whole: Integers  # (b,): records that are linked to every label because they have no terms
    start: Integers  # (b + 1,): labels of group i are label[start[i]:start[i + 1]]
    label: Integers
    mass: Floats
    n_labels: int
    pieces: Callable[[int], Iterator[tuple[Integers, Integers, Integers]]]  # (label, |K|, records) of group i, in parts

    @property
    def vacuous(self) -> NDArray[np.bool_]:
        """Whether a group has no record that is linked to anything, shape (b,)."""
        return np.asarray(self.linked == 0)

    @property
    def offset(self) -> Floats:
        """What the records without terms add to the mass of every label, shape (b,)."""
        return self.whole / self.n_labels

    @property
    def support(self) -> Integers:
        """How many labels have a mass, shape (b,)."""
        return np.where(self.whole > 0, self.n_labels, np.diff(self.start))

    def divisor(self, unlinked: str) -> Floats:
        """Return how many records a group's mass is divided by, shape (b,); 1 where nothing is linked."""
        return np.maximum(self.rows if unlinked == "zero" else self.linked, 1).astype(np.float64)

    def falling(self) -> Iterator[tuple[Integers, Floats]]:
        """Yield (groups, masses) of groups with much the same support: masses without the offset, falling, then 0."""
        support = np.diff(self.start)
        width = np.maximum(1, 2 ** np.ceil(np.log2(np.maximum(support, 1))).astype(np.int64))
        for columns in np.unique(width).tolist():
            of_width = np.flatnonzero(width == columns)
            step = max(1, BATCH // columns)
            for at in range(0, of_width.size, step):
                some = of_width[at : at + step]
                masses = np.zeros((some.size, columns))
                count = support[some]
                row = np.repeat(np.arange(some.size), count)
                masses[row, _ranges(np.zeros_like(count), count)] = self.mass[_ranges(self.start[some], count)]
                masses.sort(axis=1)
                yield some, masses[:, ::-1]

    def exact(self, group: int) -> tuple[list[int], int]:
        """Return all masses of a group other than 0 as whole numbers, largest first, and what to divide them by."""
        count: Counter[tuple[int, int]] = Counter()
        for label, size, records in self.pieces(group):
            key, inverse = np.unique(label * (self.n_labels + 1) + size, return_inverse=True)
            total = np.bincount(inverse, weights=records).astype(np.int64)  # far below 2**53
            for number, records_of in zip(key.tolist(), total.tolist(), strict=True):
                count[divmod(number, self.n_labels + 1)] += records_of
        whole = int(self.whole[group])
        scale = math.lcm(*{size for _, size in count}, self.n_labels if whole else 1)
        offset = scale // self.n_labels * whole if whole else 0
        mass: Counter[int] = Counter()
        for (of_label, of_size), records_of in count.items():
            mass[of_label] += records_of * (scale // of_size)
        masses = sorted((value + offset for value in mass.values()), reverse=True)
        if whole:
            masses += [offset] * (self.n_labels - len(masses))
        return masses, scale


def beliefs(
    class_of: NDArray[np.int32], n_classes: int, column: CodedSets, index: Index, *, batch: int = BATCH
) -> Iterator[Beliefs]:
    """Yield what is believed about every group, some groups at a time; `class_of` says to which group a row belongs."""
    terms = Terms(column, index)
    order = np.argsort(class_of, kind="stable").astype(np.int64)  # rows, group after group
    bounds = np.concatenate([[0], np.cumsum(np.bincount(class_of, minlength=n_classes))]).astype(np.int64)
    cost = np.concatenate([[0], np.cumsum(terms.cost[order] + 1)])  # one for the row itself
    at_bound = cost[bounds]
    first = 0
    while first < n_classes:
        last = max(first + 1, int(np.searchsorted(at_bound, at_bound[first] + batch, side="right")) - 1)
        rows = order[bounds[first] : bounds[last]]
        groups = np.arange(first, last)
        if last == first + 1 and at_bound[last] - at_bound[first] > batch:
            cuts = np.arange(at_bound[first], at_bound[last], batch)
            inside = np.unique(np.searchsorted(cost, cuts)) - bounds[first]
            parts = [part for part in np.split(rows, inside) if part.size]
            yield _belief_of_large_group(first, parts, terms)
        else:
            yield _beliefs_of_groups(
                groups, np.repeat(np.arange(last - first), np.diff(bounds[first : last + 1])), rows, terms
            )
        first = last


def _beliefs_of_groups(groups: Integers, group_of: Integers, rows: Integers, terms: Terms) -> Beliefs:
    """Return the beliefs about groups; row rows[i] belongs to group groups[group_of[i]]."""
    n_labels = terms.index.knowledge.n_labels
    linked_sets = _link_rows(rows, terms)
    links, counted = linked_sets.links, linked_sets.counts(group_of, groups.size)
    share = sparse.csr_matrix(
        (np.repeat(1.0 / np.maximum(links.size, 1), links.size), links.label, links.start),
        shape=(links.size.size, n_labels),
    )
    mass = (counted.astype(np.float64) @ share).tocsr()
    whole = np.bincount(group_of, weights=terms.empty[rows], minlength=groups.size).astype(np.int64)
    found = np.bincount(group_of, weights=linked_sets.is_linked, minlength=groups.size).astype(np.int64)

    def pieces(group: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        begin, end = counted.indptr[group], counted.indptr[group + 1]
        yield _spread(links, counted.indices[begin:end].astype(np.int64), counted.data[begin:end])

    return Beliefs(
        group=groups,
        rows=np.bincount(group_of, minlength=groups.size).astype(np.int64),
        linked=found + whole,
        whole=whole,
        start=mass.indptr.astype(np.int64),
        label=mass.indices.astype(np.int64),
        mass=mass.data,
        n_labels=n_labels,
        pieces=pieces,
    )


def _belief_of_large_group(group: int, parts: list[Integers], terms: Terms) -> Beliefs:
    """Return the belief about one group whose links would not fit: part by part, added up over all labels."""
    n_labels = terms.index.knowledge.n_labels
    mass = np.zeros(n_labels)
    found = whole = n_rows = 0
    for rows in parts:
        part = _beliefs_of_groups(np.zeros(1, np.int64), np.zeros(rows.size, np.int64), rows, terms)
        mass[part.label] += part.mass
        found += int(part.linked[0])
        whole += int(part.whole[0])
        n_rows += rows.size

    def pieces(_: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        for rows in parts:
            linked_sets = _link_rows(rows, terms)
            records = np.bincount(linked_sets.set_of, minlength=linked_sets.links.size.size)
            yield _spread(linked_sets.links, np.arange(records.size), records)

    label = np.flatnonzero(mass)
    return Beliefs(
        group=np.array([group]),
        rows=np.array([n_rows]),
        linked=np.array([found]),
        whole=np.array([whole]),
        start=np.array([0, label.size]),
        label=label,
        mass=mass[label],
        n_labels=n_labels,
        pieces=pieces,
    )


@dataclass(frozen=True, eq=False)
class _LinkedRows:
    """Some rows and the links of their term sets; rows without terms or with unknown ones have no set."""

    links: Links
    with_set: Integers  # which of the rows have a set
    set_of: Integers  # the set of each of these
    n_rows: int

    @property
    def is_linked(self) -> NDArray[np.bool_]:
        """Whether the terms of a row are linked to a label, shape (rows,); False without terms."""
        linked = np.zeros(self.n_rows, dtype=np.bool_)
        linked[self.with_set] = self.links.size[self.set_of] > 0
        return linked

    def counts(self, group_of: Integers, n_groups: int) -> Any:
        """Return how many rows of each group have each set, as a sparse matrix of shape (groups, sets)."""
        ones = np.ones(self.set_of.size, dtype=np.int64)
        shape = (n_groups, self.links.size.size)
        return sparse.coo_matrix((ones, (group_of[self.with_set], self.set_of)), shape=shape).tocsr()  # adds up repeats


def _link_rows(rows: Integers, terms: Terms) -> _LinkedRows:
    with_set = np.flatnonzero(terms.cost[rows] > 0)
    sets, set_of = terms.distinct(rows[with_set])
    return _LinkedRows(terms.index.link(sets), with_set, set_of, rows.size)


def _spread(links: Links, chosen: Integers, records: Integers) -> tuple[Integers, Integers, Integers]:
    """Return (label, |K|, records) of every link of the chosen sets."""
    size = links.size[chosen]
    return links.label[_ranges(links.start[chosen], size)], np.repeat(size, size), np.repeat(records, size)


def estimated_prior(sets: CodedSets, knowledge: Knowledge) -> Floats:
    """Return the belief about the whole table, shape (labels,): the prior of somebody who knows how frequent terms are.

    It is taken from the *original* terms, once, and sums to one; with `unlinked = "zero"`, to the share of records that
    are linked to a label.

    >>> table = Knowledge.from_rows([("flu", ["fever", "cough"]), ("cold", ["cough"])])
    >>> terms = CodedSets(name="symptoms", role=Role.QUASI_SENSITIVE, labels=("cough", "fever"),
    ...     items=np.array([0, 0, 1], np.int32), start=np.array([0, 1, 3]))
    >>> dict(zip(table.labels, estimated_prior(terms, table).tolist()))
    {'cold': 0.25, 'flu': 0.75}
    """
    n_rows = sets.start.size - 1
    _check_sets(sets, n_rows)
    prior = np.zeros(knowledge.n_labels)
    if not n_rows:
        return prior
    [whole] = beliefs(np.zeros(n_rows, dtype=np.int32), 1, sets, Index(knowledge))
    if not whole.linked[0]:
        raise DataError(
            f"The prior was to be estimated from column {sets.name!r}, but no label of the knowledge table explains "
            f"even one of its {n_rows:,} records.\n"
            "Check that terms are spelled as in the table and that the separator is right, or give a prior."
        )
    prior[whole.label] = whole.mass
    return np.asarray((prior + whole.offset[0]) / whole.divisor(knowledge.unlinked)[0])


# Measures of a group.


def largest_and_rest(found: Beliefs, l: int) -> tuple[Floats, Floats]:
    """Return p1 and p_l + p_(l+1) + ... of each group, both of shape (b,) and in records, not in shares."""
    offset, nonzero = found.offset, np.diff(found.start)
    largest, rest = np.zeros(found.group.size), np.zeros(found.group.size)
    for some, masses in found.falling():
        largest[some] = masses[:, 0] + offset[some]
        rest[some] = masses[:, l - 1 :].sum(axis=1)  # summed up rather than subtracted: an empty sum is exactly 0
        inside = np.maximum(nonzero[some] - (l - 1), 0)  # labels of p_l, ... that have a mass besides the offset
        outside = np.maximum(found.n_labels - np.maximum(nonzero[some], l - 1), 0)
        rest[some] += (inside + outside) * offset[some]
    return largest, rest


def diversity_bounds(found: Beliefs, c: Fraction, near: float) -> tuple[Integers, Integers]:
    """Return two bounds of l', the largest l with p1 <= c (p_l + ...), both of shape (b,); they differ near ties."""
    ours, theirs = weights_of(c)
    offset, nonzero = found.offset, np.diff(found.start)
    low, high = np.zeros(found.group.size, np.int64), np.zeros(found.group.size, np.int64)
    for some, masses in found.falling():
        shift = offset[some][:, None]
        outside = (found.n_labels - nonzero[some]) * offset[some]
        occurs = np.arange(masses.shape[1]) < nonzero[some][:, None]
        tails = np.cumsum(np.where(occurs, masses + shift, 0.0)[:, ::-1], axis=1)[:, ::-1] + outside[:, None]
        needed = theirs * (masses[:, 0] + offset[some])
        for bound, slack in ((low, near), (high, -near)):
            margin = slack * np.maximum(found.linked[some], 1)
            holds = occurs & (ours * tails - needed[:, None] >= margin[:, None])
            bound[some] = holds.sum(axis=1)
            # Behind the labels with a mass of their own stand those that have the offset only.
            with np.errstate(divide="ignore", invalid="ignore"):
                left = np.ceil((needed + margin) / (ours * offset[some]))
            more = found.n_labels - nonzero[some] - np.maximum(left, 1) + 1
            bound[some] += np.where((offset[some] > 0) & np.isfinite(more), np.maximum(more, 0), 0).astype(np.int64)
    return low, high


def exact_diversity(masses: list[int], c: Fraction) -> int:
    """Return l' of a group, given its masses, largest first.

    >>> [exact_diversity([3, 2, 1], c) for c in (Fraction(1), Fraction(1, 2), Fraction(1, 3))]
    [2, 1, 0]
    """
    rest, reached = sum(masses), 0
    for l, mass in enumerate(masses, start=1):
        if masses[0] * c.denominator > c.numerator * rest:
            break
        reached = l
        rest -= mass
    return reached


def weights_of(c: Fraction) -> tuple[float, float]:
    """Return two floats in 0..1 by which p1 <= c * rest becomes theirs * p1 <= ours * rest, whatever the size of c."""
    return float(c / (c + 1)), float(1 / (c + 1))


def distances(found: Beliefs, prior: Floats, unlinked: str, exact_near: float | None = None) -> Floats:
    """Return the distance of each group's belief to the prior, shape (b,); 0 where nothing is linked.

    Sums run over the labels of a group only, which costs digits when the distance is small, or near a limit. Groups
    closer to it than that are summed up over all labels.
    """
    divisor = found.divisor(unlinked)
    offset = found.offset / divisor
    group_of = np.repeat(np.arange(found.group.size), np.diff(found.start))
    share = found.mass / divisor[group_of]
    gain = share * (share + 2 * (offset[group_of] - prior[found.label]))
    everywhere = found.n_labels * offset**2 - 2 * offset * prior.sum() + prior @ prior
    square = everywhere + np.bincount(group_of, weights=gain, minlength=found.group.size)
    distance: Floats = np.sqrt(np.maximum(square, 0))
    unsure = distance < 1e-3
    if exact_near is not None:
        unsure |= np.abs(distance - exact_near) < 1e-8
    for group in np.flatnonzero(unsure & ~found.vacuous).tolist():
        begin, end = found.start[group], found.start[group + 1]
        difference = offset[group] - prior
        difference[found.label[begin:end]] += share[begin:end]
        distance[group] = np.linalg.norm(difference)
    distance[found.vacuous] = 0.0
    return distance


# Verdicts.


@dataclass
class Judgement:
    """What is found in batches, put together for a verdict."""

    classes: Classes
    unlinked: str

    def __post_init__(self) -> None:
        n_groups = self.classes.size.size
        self.passes = np.ones(n_groups, dtype=np.bool_)
        self.reached = np.zeros(n_groups)
        self.vacuous = np.zeros(n_groups, dtype=np.bool_)
        self.forbidden = np.zeros(n_groups, dtype=np.bool_)
        self.unlinkable = 0
        self.whole = 0

    def add(self, found: Beliefs, passes: NDArray[np.bool_], reached: Floats) -> None:
        """Take the findings of a batch, both of shape (b,)."""
        unlinkable = found.rows - found.linked
        self.passes[found.group] = passes | found.vacuous
        self.reached[found.group] = reached
        self.vacuous[found.group] = found.vacuous
        self.unlinkable += int(unlinkable.sum())
        self.whole += int(found.whole.sum())
        if self.unlinked == "forbid":
            self.forbidden[found.group] = unlinkable > 0

    def verdict(self, model: PrivacyModel, required: float, measure: str, **facts: Any) -> Verdict:
        """Return the verdict on all groups."""
        size = self.classes.size
        failing = np.flatnonzero(~self.passes | self.forbidden)
        beyond = np.flatnonzero(~self.passes)
        judged = np.flatnonzero(~self.vacuous)
        reached: float | None = None
        if judged.size:
            candidates = beyond if beyond.size else judged
            worst = int(candidates[np.argmax(self.reached[candidates])])
            # Rounding must not turn what is shown against what was decided.
            keep = max if beyond.size else min
            reached = keep(float(self.reached[worst]), required)
            facts = {"worst_group_rows": int(size[worst]), **facts}
        if self.forbidden.any() and not beyond.size:
            facts = {"worst": reached, "limit": required, **facts}
            reached, required, measure = float(self.unlinkable), 0.0, "records that no label explains"
        return Verdict(
            model=model,
            satisfied=not failing.size,
            reached=reached,
            required=required,
            groups=int(size.size),
            failing=int(failing.size),
            failing_rows=int(size[failing].sum()),
            facts={
                "rows": self.classes.n_rows,
                "unlinked": self.unlinked,
                "unlinkable_rows": self.unlinkable,
                "rows_without_terms": self.whole,
                "vacuous_groups": int(self.vacuous.sum()),
                **facts,
            },
            measure=measure,
            bound="at most",
        )
