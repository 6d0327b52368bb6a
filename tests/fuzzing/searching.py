"""Whether any release exists: the coarsest ones always, all of them on tiny tables."""

from __future__ import annotations

from collections import Counter
from itertools import product

from fuzzing.covering import covers, leaves_of
from fuzzing.definitions import as_list, judge

MOST = 1_000  # releases that are looked at
GROUPED = (
    *("k-anonymity", "l-diversity", "t-closeness", "beta-likeness", "delta-disclosure"),
    *("alpha-diversity", "multi-diversity"),
)


def existing(case):
    """Return a release that holds and that was within reach, None when there is none, or too many to look at all."""
    asked = [each for each in case.require if each["model"] in (*GROUPED, "qs-diversity", "qs-closeness")]
    crowd = max((each["k"] for each in case.require if in_classes(each)), default=1)
    merging = crowd > 1 or any(each["model"] in GROUPED or each.get("anonymizer") == "mondrian" for each in asked)
    ways = [groupings(case, merging=merging), *masks(case, asked), *terms(case, asked)]
    names = [name for way in ways for name in way[0]]
    known = ways[0][0]
    for looked_at, chosen in enumerate(product(*(way[1] for way in ways))):
        if looked_at == MOST:
            return None
        shown = dict(case.original) | dict(zip(names, (cells for part in chosen for cells in part), strict=True))
        sizes = Counter(zip(*(shown[name] for name in known), strict=True)).values()
        if min(sizes, default=crowd) >= crowd and all(judge(case, shown, each, {}) is True for each in asked):
            return shown
    return None


def in_classes(asked):
    """Whether a requirement of few items asks for classes of k rows, too, where there are quasi-identifiers."""
    return asked["model"] in ("km-anonymity", "hkp-coherence") and asked.get("within", "classes") == "classes"


def groupings(case, *, merging):
    """Return the quasi-identifiers, and ways to publish them: all alike first, then all ways to form groups."""
    names = [column.name for column in case.columns if column.role == "quasi-identifier"]
    if not merging:
        return names, [[case.original[name] for name in names]]
    ways = [[group] * len(names) for group in partitions(case.n)] if case.n <= 4 else [[["*"] * case.n] * len(names)]
    return names, ways


def partitions(n):
    """Return all ways to form groups of n rows, as the number of each row's group; all in one group first."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*way, group] for way in found for group in range(max(way) + 2)]
    return found


def masks(case, asked):
    """Yield each masked column with ways to publish it: hidden, as it is, and any labels on tiny tables."""
    for name in dict.fromkeys(name for each in asked if "alpha" in str(each) for name in as_list(each["sensitive"])):
        column = case.column(name)
        ways = [[["*"] * case.n], [column.cells]]
        if case.n <= 4:
            labels = {"*", *leaves_of(column), *(group for groups in (column.paths or {}).values() for group in groups)}
            own = [[label for label in labels if covers(column, label, cell)] for cell in column.cells]
            ways += [[list(cells)] for cells in product(*own)]
        yield [name], ways


def terms(case, asked):
    """Yield the columns of terms with ways to publish them: as they are, empty, and any removal on tiny tables."""
    names = next((as_list(each["column"]) for each in asked if each["model"].startswith("qs-")), [])
    removed = not any(each.get("anonymizer") == "mondrian" for each in asked if each["model"].startswith("qs-"))
    for name in names:
        cells = case.original[name]
        empty = [None if not isinstance(cell, list) else [] for cell in cells]
        ways = [[cells], [empty]] if removed else [[cells]]
        if removed and case.n <= 4:
            ways += [[list(some)] for some in product(*map(parts_of, cells))]
        yield [name], ways


def parts_of(cell):
    """Return all that may be left of a cell of terms."""
    if not isinstance(cell, list):
        return [cell, None] if cell is not None else [None]
    return [[term for at, term in enumerate(cell) if bits >> at & 1] for bits in range(2 ** len(cell))]
