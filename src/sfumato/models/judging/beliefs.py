"""What an intruder with a knowledge table believes about each group of a release.

A group's belief in a label is the mean of its records' 1/|K|, where K are the labels that a record is linked to; where
the knowledge table weighs terms, of the label's share in K.

Sizes: n rows, b groups of a batch. Groups are worked on in batches, each of which links its different term sets once:
memory follows the batch and not the release.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets, starts_of
from sfumato.data.knowledge import Knowledge
from sfumato.errors import DataError
from sfumato.models.judging.links import BATCH, Index, Links, Terms, TermSets, ranges
from sfumato.models.judging.terms import check_sets
from sfumato.models.judging.weights import Integers, tally

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed about some groups, not yet divided by how many records count.

    The mass of label x in group i is the sum of 1/|K|, or of x's share of K where terms are weighed, over the group's
    records that are linked to x. Records without
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
    # Where terms are weighed: the shares of the labels of each set of group i, and its records.
    weighed: Callable[[int], Iterator[tuple[dict[int, Fraction], int]]] | None = None

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
                masses[row, ranges(np.zeros_like(count), count)] = self.mass[ranges(self.start[some], count)]
                masses.sort(axis=1)
                yield some, masses[:, ::-1]

    def exact(self, group: int) -> tuple[list[int], int]:
        """Return all masses of a group other than 0 as whole numbers, largest first, and what to divide them by."""
        if self.weighed is not None:
            return self._exact_by_weights(group)
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

    def _exact_by_weights(self, group: int) -> tuple[list[int], int]:
        offset = Fraction(int(self.whole[group]), self.n_labels)
        mass: dict[int, Fraction] = dict.fromkeys(range(self.n_labels), offset) if offset else {}
        for shares, records in self.weighed(group) if self.weighed is not None else ():
            for label, share in shares.items():
                mass[label] = mass.get(label, Fraction(0)) + records * share
        scale = math.lcm(*(each.denominator for each in mass.values()))
        return sorted((int(each * scale) for each in mass.values()), reverse=True), scale


def beliefs(
    class_of: NDArray[np.int32],
    n_classes: int,
    column: CodedSets,
    index: Index,
    *,
    weights: Integers | None = None,
    batch: int = BATCH,
) -> Iterator[Beliefs]:
    """Yield what is believed about every group, some groups at a time; `class_of` says to which group a row belongs.

    Where rows have weights, (n,), each stands for as many records.
    """
    terms = Terms(column, index, weights)
    order = np.argsort(class_of, kind="stable").astype(np.int64)  # rows, group after group
    bounds = starts_of(np.bincount(class_of, minlength=n_classes))
    cost = starts_of(terms.cost[order] + 1)  # one for the row itself
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
    from scipy import sparse  # heavy, and few plans need it

    share = sparse.csr_matrix(
        (terms.index.shares(linked_sets.sets, links), links.label, links.start), shape=(links.size.size, n_labels)
    )
    mass = (counted.astype(np.float64) @ share).tocsr()
    records = linked_sets.records
    whole = tally(group_of, groups.size, records * terms.empty[rows])
    found = tally(group_of, groups.size, records * linked_sets.is_linked)

    def pieces(group: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        begin, end = counted.indptr[group], counted.indptr[group + 1]
        yield _spread(links, counted.indices[begin:end].astype(np.int64), counted.data[begin:end])

    def weighed(group: int) -> Iterator[tuple[dict[int, Fraction], int]]:
        begin, end = counted.indptr[group], counted.indptr[group + 1]
        for number, records_of in zip(counted.indices[begin:end], counted.data[begin:end], strict=True):
            yield terms.index.exact_shares(linked_sets.sets, links, int(number)), int(records_of)

    return Beliefs(
        group=groups,
        rows=tally(group_of, groups.size, records),
        linked=found + whole,
        whole=whole,
        start=mass.indptr.astype(np.int64),
        label=mass.indices.astype(np.int64),
        mass=mass.data,
        n_labels=n_labels,
        pieces=pieces,
        weighed=weighed if terms.index.knowledge.likelihood is not None else None,
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
        n_rows += int(part.rows[0])

    def pieces(_: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        for rows in parts:
            linked_sets = _link_rows(rows, terms)
            records = tally(linked_sets.set_of, linked_sets.links.size.size, linked_sets.records[linked_sets.with_set])
            yield _spread(linked_sets.links, np.arange(records.size), records)

    def weighed(_: int) -> Iterator[tuple[dict[int, Fraction], int]]:
        for rows in parts:
            part = _beliefs_of_groups(np.zeros(1, np.int64), np.zeros(rows.size, np.int64), rows, terms)
            assert part.weighed is not None
            yield from part.weighed(0)

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
        weighed=weighed if terms.index.knowledge.likelihood is not None else None,
    )


@dataclass(frozen=True, eq=False)
class _LinkedRows:
    """Some rows and the links of their term sets; rows without terms or with unknown ones have no set."""

    sets: TermSets
    links: Links
    with_set: Integers  # which of the rows have a set
    set_of: Integers  # the set of each of these
    records: Integers  # (rows,): how many records each row stands for

    @property
    def is_linked(self) -> NDArray[np.bool_]:
        """Whether the terms of a row are linked to a label, shape (rows,); False without terms."""
        linked = np.zeros(self.records.size, dtype=np.bool_)
        linked[self.with_set] = self.links.size[self.set_of] > 0
        return linked

    def counts(self, group_of: Integers, n_groups: int) -> Any:
        """Return how many records of each group have each set, as a sparse matrix of shape (groups, sets)."""
        shape = (n_groups, self.links.size.size)
        places = (group_of[self.with_set], self.set_of)
        from scipy import sparse

        return sparse.coo_matrix((self.records[self.with_set], places), shape=shape).tocsr()  # adds up repeats


def _link_rows(rows: Integers, terms: Terms) -> _LinkedRows:
    with_set = np.flatnonzero(terms.cost[rows] > 0)
    sets, set_of = terms.distinct(rows[with_set])
    return _LinkedRows(sets, terms.index.link(sets), with_set, set_of, terms.records(rows))


def _spread(links: Links, chosen: Integers, records: Integers) -> tuple[Integers, Integers, Integers]:
    """Return (label, |K|, records) of every link of the chosen sets."""
    size = links.size[chosen]
    return links.label[ranges(links.start[chosen], size)], np.repeat(size, size), np.repeat(records, size)


def estimated_prior(sets: CodedSets, knowledge: Knowledge, weights: Integers | None = None) -> Floats:
    """Return the belief about the whole table, shape (labels,): the prior of somebody who knows how frequent terms are.

    It is taken from the *original* terms, once, and sums to one; with `unlinked = "zero"`, to the share of records that
    are linked to a label. Where rows have weights, (n,), each stands for as many records.

    >>> from sfumato.data.schema import Role
    >>> table = Knowledge.from_rows([("flu", ["fever", "cough"]), ("cold", ["cough"])])
    >>> terms = CodedSets(name="symptoms", role=Role.QUASI_SENSITIVE, labels=("cough", "fever"),
    ...     items=np.array([0, 0, 1], np.int32), start=np.array([0, 1, 3]))
    >>> dict(zip(table.labels, estimated_prior(terms, table).tolist()))
    {'cold': 0.25, 'flu': 0.75}
    """
    n_rows = sets.start.size - 1
    check_sets(sets, n_rows)
    prior = np.zeros(knowledge.n_labels)
    if not n_rows:
        return prior
    [whole] = beliefs(np.zeros(n_rows, dtype=np.int32), 1, sets, Index(knowledge), weights=weights)
    if not whole.linked[0]:
        raise DataError(
            f"The prior was to be estimated from column {sets.name!r}, but no label of the knowledge table explains "
            f"even one of its {int(whole.rows[0]):,} records.\n"
            "Check that terms are spelled as in the table and that the separator is right, or give a prior."
        )
    prior[whole.label] = whole.mass
    return np.asarray((prior + whole.offset[0]) / whole.divisor(knowledge.unlinked)[0])
