"""Random columns: tiny to medium, with ties, skew, gaps, huge numbers and odd hierarchies."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

import pyarrow as pa

ROOT = "*"
WORDS = ["ash", "bee", "cod", "doe", "elk", "fox", "gnu", "hen", "a|b", "ünal", "x, y", "O'Neil"]


@dataclass
class Column:
    """A column of a case, and what the plan says of it."""

    name: str
    role: str
    kind: str  # number, category, date, ordered, set
    cells: list  # text or None; of sets, lists of text
    hierarchy: object = None  # as a plan gives it
    paths: dict | None = None  # of a tree: value -> groups above it, the lowest first, without the root
    domain: list | None = None
    extra: dict = field(default_factory=dict)  # further keys of the plan

    def document(self):
        """Return the column's table in a plan."""
        found = {"role": self.role, "kind": self.kind, **self.extra}
        if self.hierarchy is not None:
            found["hierarchy"] = self.hierarchy
        if self.domain is not None:
            found["domain"] = self.domain
        return found

    def arrow(self, rng):
        """Return the cells as somebody might hand them over."""
        if self.kind == "set":
            joined = rng.random() < 0.5
            return pa.array([("|".join(cell) if joined else cell) if cell is not None else None for cell in self.cells])
        if self.kind == "number" and all(cell is None or cell.lstrip("-").isdigit() for cell in self.cells):
            numbers = [None if cell is None else int(cell) for cell in self.cells]
            if rng.random() < 0.6 and all(cell is None or abs(cell) < 2**62 for cell in numbers):
                return pa.array(numbers, type=pa.int64())
        return pa.array(self.cells, type=pa.string())


def drawn(rng, values, n):
    """Return n of the values, evenly, skewed, or all the same."""
    shape = rng.choice(["even", "even", "skewed", "one"])
    if shape == "one":
        values = [rng.choice(values)]
    weights = [1.0 if shape == "even" else 4.0**-place for place in range(len(values))]
    return rng.choices(values, weights, k=n)


def with_gaps(rng, cells):
    """Return the cells, now and then with some of them missing."""
    if rng.random() < 0.75:
        return cells
    share = rng.choice([0.1, 0.3, 0.9])
    return [None if rng.random() < share else cell for cell in cells]


def nested(rng, values):
    """Return a random tree over values, as a plan writes it, and the groups above each value.

    Chains, groups of one, branches of different depth and values that do not occur are all there.
    """
    values = [*values, *(f"unused{number}" for number in range(rng.choice([0, 0, 0, 1, 3])))]
    rng.shuffle(values)
    number = iter(range(10**6))

    def below(some, depth):
        if depth == 0 or (len(some) == 1 and rng.random() < 0.7):
            return list(some)
        cuts = sorted(rng.sample(range(1, len(some)), min(len(some) - 1, rng.choice([0, 1, 1, 2]))))
        parts = [some[a:b] for a, b in zip([0, *cuts], [*cuts, len(some)], strict=True)]
        return {f"g{next(number)}": below(part, depth - rng.choice([1, 1, 2]) if depth > 1 else 0) for part in parts}

    tree = below(values, rng.choice([1, 1, 2, 3]))
    if not isinstance(tree, dict) or (len(tree) == 1 and isinstance(*tree.values(), list)):  # one group says nothing
        return {"flat": True}, None
    paths = {}

    def walk(node, above):
        for key in node:
            if isinstance(node, dict):
                walk(node[key], (key, *above))
            else:
                paths[key] = above

    walk(tree, ())
    return tree, paths


def number_column(rng, name, n, role, *, tree):
    """Return numbers: small ones with ties, huge ones that floats confuse, decimals, numbers below zero."""
    base = rng.choice(["small", "small", "wide", "huge", "decimal", "negative"])
    some = rng.choice([1, 2, 4, 9, n])
    if base == "huge":
        start = rng.choice([2**53, 10**17, 2**61])
        values = [str(start + step) for step in range(some)]
    elif base == "decimal":
        values = [f"{rng.randrange(-20, 90) / 4:g}" for _ in range(some)]
    else:
        low, high = {"small": (18, 30), "wide": (0, 100_000), "negative": (-30, 5)}[base]
        values = [str(rng.randrange(low, high)) for _ in range(some)]
    column = Column(name, role, "number", with_gaps(rng, drawn(rng, sorted(set(values)), n)))
    if tree and base != "huge":
        column.hierarchy = rng.choice([{"widths": [5, 10, 20]}, {"widths": [7]}, {"flat": True}])
    elif tree:
        column.hierarchy = {"flat": True}
    return column


def category_column(rng, name, n, role, *, tree):
    """Return words, with a tree, a flat hierarchy, codes that lose their last characters, or nothing above them."""
    if tree and rng.random() < 0.2:
        codes = [f"{rng.randrange(10**3, 10**4)}" for _ in range(rng.choice([2, 5, n]))]
        return Column(name, role, "category", with_gaps(rng, drawn(rng, sorted(set(codes)), n)), {"prefix": 4})
    values = rng.sample(WORDS, rng.choice([1, 2, 3, 4, 8]))
    column = Column(name, role, "category", with_gaps(rng, drawn(rng, values, n)))
    if tree and rng.random() < 0.3:
        column.hierarchy = {"flat": True}
    elif tree:
        column.hierarchy, column.paths = nested(rng, values)
    return column


def date_column(rng, name, n, role, *, tree):
    """Return days over a few years."""
    days = [date(1996, 1, 1) + timedelta(days=rng.randrange(4_000)) for _ in range(rng.choice([1, 3, n]))]
    column = Column(name, role, "date", with_gaps(rng, drawn(rng, sorted({day.isoformat() for day in days}), n)))
    if tree:
        levels = rng.choice([["month", "quarter", "year"], ["year"], ["month", "year", "decade"], ["week", "year"]])
        column.hierarchy = {"dates": levels}
    return column


def ordered_column(rng, name, n, role, *, tree):
    """Return grades whose order the plan declares."""
    domain = rng.sample(["A", "B", "C", "D", "E", "F"], rng.choice([2, 4, 6]))
    used = rng.sample(domain, rng.randrange(1, len(domain) + 1))
    column = Column(name, role, "ordered", with_gaps(rng, drawn(rng, used, n)), domain=domain)
    if tree:
        column.hierarchy = {"flat": True}
    return column


def single_values(rng, name, n, role, *, tree=None):
    """Return a column of any kind of single values; tree: whether it has a hierarchy, by chance when None."""
    tree = rng.random() < 0.6 if tree is None else tree
    make = rng.choice([number_column, number_column, category_column, category_column, date_column, ordered_column])
    return make(rng, name, n, role, tree=tree)


def set_column(rng, name, n, role, values, longest):
    """Return sets of values, some of them empty, many of them equal."""
    pool = [rng.sample(values, rng.randrange(min(longest, len(values)) + 1)) for _ in range(rng.choice([2, 4, n]))]
    return Column(name, role, "set", [list(rng.choice(pool)) for _ in range(n)])
