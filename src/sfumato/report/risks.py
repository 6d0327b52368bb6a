"""Who could still be found, and what could still be learned about them."""

from __future__ import annotations

from typing import Any

from sfumato.report.plots import BEFORE_AND_AFTER, Picture, Table, bar_chart, pairs_of_shares, shares, upright_pairs
from sfumato.report.reading import (
    Facts,
    counts_people,
    mapping,
    mappings,
    measurement,
    measurements,
    number,
    numbers,
    text,
)
from sfumato.report.wording import NAME_LENGTH, PEOPLE, count, figure, plural, said, share, shortened

TITLE = "Who could still be found"


def content(facts: Facts) -> dict[str, Any] | None:
    """Return how likely people are to be found again."""
    parts = (_risk, _population, _special_uniques, _class_sizes, _beliefs)
    shown = [picture for part in parts if (picture := part(facts))]
    main_first = sorted(measurements(facts, "risk"), key=lambda entry: entry.get("main") is not True)
    sentences = [sentence for sentence in map(said, main_first) if sentence]
    return {"sentences": sentences, "pictures": shown} if shown or sentences else None


def _risk(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "risk").get("facts"))
    prosecutor = mapping(inside.get("prosecutor"))
    before, after = mapping(prosecutor.get("before")), mapping(prosecutor.get("after"))
    if not before and not after:
        return None
    words = {
        "max": "Highest chance",
        "mean": "Average chance",
        "unique": "Unique people",
        "above_threshold": f"Chance above {share(inside.get('threshold'))}",
    }
    named = [(name, [number(before.get(key)), number(after.get(key))]) for key, name in words.items()]
    journalist = mapping(inside.get("journalist"))
    if number(journalist.get("population")) is not None:
        named.append(("Highest, in the population", [None, number(journalist.get("max"))]))
    return pairs_of_shares(
        "Finding a person again",
        named,
        "Chance of finding a person by the quasi-identifiers",
        "For an intruder who knows all quasi-identifiers of a person and that the person is in the table.",
    )


def _population(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "population-risk").get("facts"))
    before, after = mapping(inside.get("before")), mapping(inside.get("after"))
    if not before and not after:
        return None
    words = {
        "mean": "Average chance",
        "max": "Highest chance",
        "sample_unique": "Unique in the sample",
        "population_unique": "Unique in the population",
        "unique_match": "A unique match is right",
    }
    named = [(name, [number(before.get(key)), number(after.get(key))]) for key, name in words.items()]
    homes = [mapping(side.get("households")) for side in (before, after)]
    if any(homes):
        named.append(("Of a household, average", [number(home.get("mean")) for home in homes]))
    people = plural(inside.get("population"), "person", "people")
    return pairs_of_shares(
        "Finding a person of the population",
        named,
        "For who does not know who is in the sample",
        f"Estimated for {people}, for an intruder who does not know who is in the sample.",
    )


def _special_uniques(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "special-uniques").get("facts"))
    sides = [mapping(inside.get(side)) for side in ("before", "after")]
    columns = [mapping(side.get("columns")) for side in sides]
    ranked = sorted(columns[0], key=lambda name: -(number(columns[0][name]) or 0.0))
    named = [(shortened(name, NAME_LENGTH), [number(side.get(name)) for side in columns]) for name in ranked]
    if not any(value for _, pair in named for value in pair):
        return None
    sizes = [numbers(side.get("by_size")) for side in sides]
    said = "; ".join(f"{name} {share(a)} before, {share(b)} after" for name, (a, b) in named)
    return Picture(
        title="Which columns single people out",
        plot=bar_chart(named, BEFORE_AND_AFTER, full=1.0),
        alt=f"Share of the scores of special uniques that comes from sets with a column: {said}.",
        note="The share of all scores of special uniques that comes from sets of columns with this one. "
        "The table counts people by the fewest columns that single them out.",
        legend=BEFORE_AND_AFTER,
        table=Table(
            head=["Fewest columns", "People before", "People after"],
            rows=[
                [count(size + 1), *(count(side[size]) if size < len(side) else count(0) for side in sizes)]
                for size in range(max(map(len, sizes)))
            ],
        ),
    )


def _class_sizes(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "class-sizes").get("facts"))
    bins = mappings(inside.get("bins"))
    if not bins:
        return None
    before, after = (
        shares(rows, sum(value or 0 for value in rows))
        for rows in ([number(entry.get(key)) for entry in bins] for key in ("rows_before", "rows"))
    )
    names = [_between(entry.get("from"), entry.get("to")) for entry in bins]
    smallest, largest = (number(mapping(inside.get("after")).get(key)) for key in ("min", "max"))
    most = max(range(len(bins)), key=lambda i: after[i] or 0.0)
    one, many = PEOPLE if counts_people(facts) else ("row", "rows")
    return Picture(
        title="How many look alike",
        plot=upright_pairs([_between(entry.get("from"), entry.get("to"), brief=True) for entry in bins], before, after),
        alt=f"Share of {many} by the size of their class. After, classes have {count(smallest)} to "
        f"{plural(largest, one, many)}, and most {many} ({share(after[most])}) are in classes of {names[most]}.",
        note=f"The share of {many} that are in a class of so many {many} with the same quasi-identifiers.",
        legend=BEFORE_AND_AFTER,
        table=Table(
            head=[
                "Class size",
                "Classes before",
                "Classes after",
                f"{many.capitalize()} before",
                f"{many.capitalize()} after",
            ],
            rows=[
                [name, *(count(entry.get(key)) for key in ("classes_before", "classes", "rows_before", "rows"))]
                for name, entry in zip(names, bins, strict=True)
            ],
        ),
    )


def _beliefs(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "belief-change").get("facts"))
    before, after = mapping(inside.get("before")), mapping(inside.get("after"))
    words = {
        ("change", "mean"): "Change, on average",
        ("change", "max"): "Change, at most",
        ("largest_belief", "mean"): "Surest guess, on average",
        ("largest_belief", "max"): "Surest guess, at most",
    }
    further = {
        ("change", "median"): "Change, in half the groups at most",
        ("change", "q95"): "Change, in 95% of the groups at most",
        ("distance", "mean"): "Distance to the prior, on average",
        ("distance", "q95"): "Distance, in 95% of the groups at most",
        ("distance", "max"): "Distance, at most",
    }
    found = {
        path: [number(mapping(side.get(path[0])).get(path[1])) for side in (before, after)]
        for path in (*words, *further)
    }
    named = [(words[path], found[path]) for path in words]
    if all(value is None for _, pair in named for value in pair):
        return None
    column = shortened(text(inside.get("column")), NAME_LENGTH)
    return pairs_of_shares(
        f"What {column} gives away" if column else "What terms give away",
        named,
        "Belief of an intruder who looks terms up in the knowledge table",
        "For an intruder who finds a person's group and looks its terms up in the knowledge table.",
        [[name, *map(figure, found[path])] for path, name in further.items()],
    )


def _between(low: object, high: object, *, brief: bool = False) -> str:
    show = _thousands if brief else count
    return show(low) if low == high else f"{show(low)}+" if brief else f"{show(low)} to {show(high)}"


def _thousands(value: object) -> str:
    found = number(value)
    if found is None or found < 1000:
        return count(value)
    return f"{figure(found / 1e6)}M" if found >= 1e6 else f"{figure(found / 1e3)}k"
