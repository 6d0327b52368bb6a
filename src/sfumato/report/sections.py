"""The parts of the page: each takes the facts of a run and returns what its template shows, or nothing."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sfumato.report.plots import (
    AFTER,
    BEFORE_AND_AFTER,
    FILLED_AND_OUTLINED,
    Number,
    Picture,
    Table,
    bar_chart,
    steps,
    steps_of_values,
    upright_pairs,
)
from sfumato.report.reading import Facts, mapping, mappings, measurement, measurements, number, numbers, sequence, text
from sfumato.report.wording import (
    UNKNOWN,
    amount,
    apart,
    count,
    figure,
    listed,
    plain,
    plural,
    seconds,
    share,
    shortened,
)

MOST_BARS = 12  # values of one column that get a bar of their own; more say less
NAME_LENGTH = 60  # characters of a column's name inside a sentence

# What a verdict holds besides the parameters of its model.
_NO_PARAMETERS = frozenset(
    (
        *("model", "satisfied", "reached", "required", "groups", "failing", "failing_rows", "facts"),
        *("text", "promise", "limit", "measure", "bound", "group"),
    )
)
_AT_MOST = frozenset(("t-closeness", "qs-closeness", "sensitive-qid-closeness", "rho-uncertainty"))


def verdict(facts: Facts) -> dict[str, Any]:
    """Return the answer in one sentence, where it comes from, and the key figures."""
    satisfied, sentence = one_sentence(facts)
    source, plan = mapping(facts.get("source")), mapping(facts.get("plan"))
    origin = [f"plan {plan['path']}" if plan.get("path") else "a plan made in Python"]
    origin.append(f"data {source['path']}" if source.get("path") else "data from memory")
    made = _moment(facts.get("made"))
    return {
        "satisfied": satisfied,
        "stamp": "Safe by the plan" if satisfied else "Not to be published",
        "sentence": sentence,
        "origin": f"{', '.join(origin)[0].upper()}{', '.join(origin)[1:]}{f'; {made}' if made else ''}.",
        "figures": _keys(facts),
    }


def one_sentence(facts: Facts) -> tuple[bool, str]:
    """Return whether everything holds, and the verdict as a sentence."""
    found = mappings(facts.get("verdicts"))
    broken = [entry for entry in found if entry.get("satisfied") is not True]
    rows = number(mapping(facts.get("release")).get("rows"))
    leave = f"{plural(rows, 'row')} may" if rows is not None else "the release may"
    stay = f"the {plural(rows, 'row')} must" if rows is not None else "the release must"
    if not found:
        return False, f"Nothing was required, so nothing is promised: {stay} stay in the house."
    if broken:
        do = "does" if len(broken) == 1 else "do"
        which = "The requirement" if len(found) == 1 else f"{len(broken)} of {len(found)} requirements"
        return False, f"{which} {do} not hold: {stay} stay in the house."
    every = "The requirement holds" if len(found) == 1 else f"Every one of {len(found)} requirements holds"
    return True, f"{every}: {leave} leave the house."


def warnings(facts: Facts) -> list[str]:
    """Return the warnings as found."""
    return [text(warning) for warning in sequence(facts.get("warnings")) if warning]


def promises(facts: Facts) -> list[dict[str, Any]]:
    """Return one card for each requirement."""
    return [_card(entry) for entry in mappings(facts.get("verdicts"))]


def columns(facts: Facts) -> dict[str, Any] | None:
    """Return what is known of each column and what happened to it."""
    found = mappings(facts.get("columns"))
    if not found:
        return None
    kept = {text(entry.get("name")): entry for entry in _columns_of(facts, "suppression")}
    rows = number(mapping(facts.get("release")).get("rows"))
    dropped = sum(entry.get("dropped") is True for entry in found)
    gone = f"; {'it is' if dropped == 1 else 'they are'} not in the release" if dropped else ""
    identifiers = f", {plural(dropped, 'of them an identifier', 'of them identifiers')}{gone}" if dropped else ""
    return {
        "sentence": f"The table has {plural(len(found), 'column')}{identifiers}.",
        "unknown": UNKNOWN,
        "inferred": any(entry.get("kind_inferred") is True for entry in found),
        "rows": [
            {
                "name": text(entry.get("name")),
                "role": text(entry.get("role")) or UNKNOWN,
                "kind": (text(entry.get("kind")) or UNKNOWN) + (" (inferred)" if entry.get("kind_inferred") else ""),
                "distinct": count(entry.get("values")),
                "missing": count(entry.get("missing")),
                "levels": count(entry.get("levels")),
                "fate": _fate(entry, kept.get(text(entry.get("name"))), rows),
            }
            for entry in found
        ],
    }


def pictures(facts: Facts) -> dict[str, Any] | None:
    """Return every column before and after."""
    rows = (number(mapping(facts.get(side)).get("rows")) for side in ("source", "release"))
    rows_before, rows_after = rows
    found = [_distribution(entry, rows_before, rows_after) for entry in _columns_of(facts, "column-distributions")]
    shown = [picture for picture in found if picture is not None]
    if not shown:
        return None
    return {
        "sentence": "The share of rows with each value. A generalized label counts for all values it stands for, in "
        "equal parts, which is how a reader of the release would take it.",
        "pictures": shown,
    }


def losses(facts: Facts) -> dict[str, Any] | None:
    """Return what was lost: all measures as a table, and pictures of those that have parts."""
    made = measurements(facts, "loss")
    shown = [picture for picture in (_loss_by_column(facts), _queries(facts), _predictions(facts)) if picture]
    if not made and not shown:
        return None
    return {"measures": [_measure(entry) for entry in made], "pictures": shown}


def risks(facts: Facts) -> dict[str, Any] | None:
    """Return how likely people are to be found again."""
    shown = [picture for picture in (_risk(facts), _class_sizes(facts), _beliefs(facts)) if picture]
    main_first = sorted(measurements(facts, "risk"), key=lambda entry: entry.get("main") is not True)
    said = [sentence for sentence in map(_said, main_first) if sentence]
    return {"sentences": said, "pictures": shown} if shown or said else None


def making(facts: Facts) -> dict[str, Any] | None:
    """Return the steps of the work and where the time went."""
    done = [_step(entry, i) for i, entry in enumerate(mappings(facts.get("steps")), start=1)]
    time = _time(facts)
    return {"steps": done, "time": time} if done or time else None


def again(facts: Facts) -> dict[str, Any] | None:
    """Return how to repeat the run."""
    plan, source = mapping(facts.get("plan")), mapping(facts.get("source"))
    versions = mapping(facts.get("versions"))
    pairs = [
        ("Plan", plan.get("path"), False),
        ("Plan, SHA-256", plan.get("sha256"), True),
        ("Data", source.get("path"), False),
        ("Data, SHA-256", source.get("sha256"), True),
        ("Versions", listed([f"{name} {version}" for name, version in versions.items()]), False),
        ("Made", _moment(facts.get("made")), False),
        ("Format of run.json", facts.get("format"), False),
    ]
    known = [(name, text(value), exact) for name, value, exact in pairs if value]
    if not known:
        return None
    command = f"sfumato anonymize {shlex.quote(text(plan['path']))} --out DIR" if plan.get("path") else ""
    return {
        "sentence": "The same plan, data and versions meet the same requirements again. No seed is kept, as whoever "
        "had it could replay the random choices; so rows come in another order, and ties may fall differently.",
        "command": command,
        "pairs": known,
    }


# The verdict and its key figures


def _keys(facts: Facts) -> list[dict[str, str]]:
    source, release = mapping(facts.get("source")), mapping(facts.get("release"))
    keys = []

    def add(name: str, value: object, shown: str, note: str = "") -> None:
        if number(value) is not None:
            keys.append({"name": name, "value": shown, "note": note})

    rows_in, rows_out = number(source.get("rows")), number(release.get("rows"))
    dropped = rows_in - rows_out if rows_in is not None and rows_out is not None else 0
    add("rows in", rows_in, count(rows_in))
    add("rows out", rows_out, count(rows_out), f"{count(dropped)} dropped" if dropped > 0 else "")

    sizes = mapping(measurement(facts, "class-sizes").get("facts"))
    before, after = mapping(sizes.get("before")), mapping(sizes.get("after"))
    judged: Facts = next((entry for entry in mappings(facts.get("verdicts")) if mapping(entry.get("facts"))), {})
    classes = after.get("classes", judged.get("groups"))
    smallest = after.get("min", mapping(judged.get("facts")).get("smallest_class"))
    add("classes that look alike", classes, count(classes), _were(before.get("classes"), count))
    add("rows in the smallest class", smallest, count(smallest), _were(before.get("min"), count))

    lost = measurement(facts, "ncp")
    add("of the detail lost", lost.get("value"), share(lost.get("value")))
    risk = measurement(facts, "risk")
    add("highest risk to be found", risk.get("value"), share(risk.get("value")), _were(risk.get("before"), share))
    return keys


def _were(value: object, show: Any) -> str:
    return f"{show(value)} before" if number(value) is not None else ""


def _moment(value: object) -> str:
    """Return a time stamp as people write it, or as found when it is none."""
    try:
        moment = datetime.datetime.fromisoformat(text(value))
        return f"{moment.day} {moment:%B %Y, %H:%M %Z}".strip()
    except ValueError:
        return text(value)


# Requirements


def parameters(entry: Facts) -> list[tuple[str, str]]:
    """Return the parameters of a verdict's model."""
    return [(name, plain(value)) for name, value in entry.items() if name not in _NO_PARAMETERS and value is not None]


def _card(entry: Facts) -> dict[str, Any]:
    return {
        "title": text(entry.get("model")) or "a requirement",
        "satisfied": entry.get("satisfied") is True,
        "parameters": parameters(entry),
        "gauge": _gauge(entry),
        "judged": _judged(entry),
        "promise": text(entry.get("promise")),
        "limit": text(entry.get("limit")),
    }


def bound(entry: Facts) -> str:
    """Return how what was reached must stand to what is required: in words of the verdict, else as its numbers say."""
    if entry.get("bound"):
        return text(entry["bound"])
    reached, required = number(entry.get("reached")), number(entry.get("required"))
    if reached is None or required is None or reached == required:
        return "at most" if entry.get("model") in _AT_MOST else "at least"
    return "at least" if (reached > required) == (entry.get("satisfied") is True) else "at most"


def _gauge(entry: Facts) -> dict[str, Any] | None:
    reached, required = number(entry.get("reached")), number(entry.get("required"))
    if required is None:
        return None
    shown = apart(reached, required)
    full = 1.3 * max(abs(reached or 0.0), abs(required)) or 1.0
    return {
        "measure": text(entry.get("measure")) or "reached",
        "reached": shown[0],
        "required": shown[1],
        "bound": bound(entry),
        "reached_at": round(100 * max(reached or 0.0, 0.0) / full, 2),
        "required_at": round(100 * max(required, 0.0) / full, 2),
    }


def _judged(entry: Facts) -> str:
    group = text(entry.get("group")) or "group"
    groups = plural(entry.get("groups"), group, group + ("es" if group.endswith("s") else "s"))
    if number(entry.get("groups")) == 0:
        return "There was nothing to judge."
    if entry.get("satisfied") is True:
        return f"{groups} judged, all of them pass."
    rows = number(entry.get("failing_rows"))
    inside = f" with {plural(rows, 'row')}" if rows else ""
    return f"{groups} judged, {count(entry.get('failing'))} fail{inside}."


# Columns


def _columns_of(facts: Facts, name: str) -> list[Facts]:
    return mappings(mapping(measurement(facts, name).get("facts")).get("columns"))


def _fate(entry: Facts, kept: Facts | None, rows: Number) -> str:
    if entry.get("dropped") is True:
        return "dropped"
    if entry.get("role") == "other":
        return "carried along as it is"
    if kept is None:
        return UNKNOWN
    if number(kept.get("items_before")) is not None:
        before, after = number(kept.get("items_before")) or 0, number(kept.get("items")) or 0
        return "kept" if after >= before else f"{count(before - after)} of {plural(before, 'item')} withheld"
    generalized, replaced = number(kept.get("generalized")) or 0, number(kept.get("replaced")) or 0
    words = []
    if generalized:
        words.append(f"generalized in {share(generalized / rows)} of rows" if rows else "generalized")
    if replaced:
        words.append(f"at least {plural(replaced, 'cell')} replaced")
    return listed(words) or "kept"


def _distribution(entry: Facts, rows_before: Number, rows_after: Number) -> Picture | None:
    """Return a column before and after."""
    labels = [text(label) for label in sequence(entry.get("bins"))]
    counts = [numbers(entry.get(side)) for side in ("before", "after")]
    size = min(len(labels), *map(len, counts))
    if not size:
        return None
    of_sets = entry.get("kind") == "set"
    totals = (rows_before, rows_after) if of_sets else [sum(value or 0 for value in side) for side in counts]
    before, after = (_shares(side[:size], total) for side, total in zip(counts, totals, strict=True))
    labels = labels[:size]
    name = text(entry.get("name"))
    moved = number(entry.get("moved"))
    note = _note(entry, moved)
    table = Table(
        head=["Value", "Rows before", "Rows after", "Share before", "Share after"],
        rows=[
            [labels[i], count(counts[0][i]), count(round(counts[1][i] or 0, 1)), share(before[i]), share(after[i])]
            for i in range(size)
        ],
    )
    edges = [edge for edge in numbers(entry.get("edges")) if edge is not None]
    ordered = entry.get("kind") in ("number", "ordered", "date")
    if len(edges) > 1 and len(edges) - 1 <= size and all(a < b for a, b in pairwise(edges)):
        cut = len(edges) - 1
        note += "".join(
            f" {labels[i].strip('()').capitalize()}: {share(before[i])} before, {share(after[i])} after."
            for i in range(cut, size)
        )
        plot, legend = steps(edges, before[:cut], after[:cut]), FILLED_AND_OUTLINED
    elif ordered and size > MOST_BARS:
        plot, legend = steps_of_values(labels, before, after), FILLED_AND_OUTLINED
    else:
        bars, rest = _most_frequent(labels, before, after, number(entry.get("others")) or 0, keep_order=ordered)
        chart = bar_chart(bars, BEFORE_AND_AFTER, rest=rest)
        return Picture(
            title=name,
            plot=chart,
            alt=_alt(name, labels, before, after),
            table=table,
            note=note,
            legend=BEFORE_AND_AFTER,
        )
    return Picture(title=name, plot=plot, alt=_alt(name, labels, before, after), table=table, note=note, legend=legend)


def _note(entry: Facts, moved: Number) -> str:
    role = text(entry.get("role"))
    parts = [role[:1].upper() + role[1:]] if role else []
    if moved is not None:
        parts.append("the distribution is unchanged" if moved < 5e-7 else f"{share(moved)} of the rows moved")
    if entry.get("kind") == "set":
        parts.append("shares of rows that contain the item")
    elif entry.get("published_as_sets") is True:
        parts.append("published as sets")
    return "; ".join(parts) + "." if parts else ""


def _alt(name: str, labels: Sequence[str], before: Sequence[Number], after: Sequence[Number]) -> str:
    """Return the largest values in words."""
    largest = sorted(range(len(labels)), key=lambda i: -(before[i] or 0.0))[:3]
    words = "; ".join(f"{shortened(labels[i], 40)} {share(before[i])} before, {share(after[i])} after" for i in largest)
    return f"Distribution of {shortened(name, NAME_LENGTH)} before and after. Most frequent: {words}."


def _shares(counts: Sequence[Number], total: Number) -> list[Number]:
    return [value / total if value is not None and total else None for value in counts]


def _most_frequent(
    labels: Sequence[str], before: Sequence[Number], after: Sequence[Number], others: float, *, keep_order: bool
) -> tuple[list[tuple[str, Sequence[Number]]], tuple[str, Sequence[Number]] | None]:
    """Return the most frequent values with their shares, and all others together."""
    own = list(range(len(labels) - (others > 0)))  # a last bin of the other values stays last
    if not keep_order:
        own.sort(key=lambda i: (-(before[i] or 0.0), -(after[i] or 0.0)))
    shown = own if len(own) <= MOST_BARS else own[: MOST_BARS - 1]
    rows: list[tuple[str, Sequence[Number]]] = [(labels[i], (before[i], after[i])) for i in shown]
    rest = [i for i in range(len(labels)) if i not in set(shown)]
    further = len(rest) + max(int(others) - 1, 0)
    sums = tuple(sum(side[i] or 0.0 for i in rest) for side in (before, after))
    return rows, ((f"({plural(further, 'further value')})", sums) if rest else None)


# Losses


def _measure(entry: Facts) -> dict[str, str]:
    unit = text(entry.get("unit"))
    inside = mapping(entry.get("facts"))
    measured = not ("after" in inside and inside["after"] is None)  # there was nothing to measure
    return {
        "title": text(entry.get("title")) or text(entry.get("name")),
        "before": amount(entry.get("before"), unit),
        "value": amount(entry.get("value"), unit) if measured else UNKNOWN,
        "explanation": _said(entry),
    }


def _said(entry: Facts) -> str:
    """Return what a measurement says of itself, with percentages as everywhere on the page."""
    return re.sub(r"(?<=\d) %", "%", text(entry.get("explanation")))


def _loss_by_column(facts: Facts) -> Picture | None:
    found = _columns_of(facts, "ncp")
    if not found:
        return None
    divergence = {text(entry.get("name")): entry.get("divergence") for entry in _columns_of(facts, "kl-divergence")}
    ordered = sorted(found, key=lambda entry: -(number(entry.get("loss")) or 0.0))
    named = [(text(entry.get("name")), [number(entry.get("loss"))]) for entry in ordered]
    most = "; ".join(f"{shortened(name, 40)} {share(loss)}" for name, (loss,) in named[:4])
    return Picture(
        title="Detail lost, by column",
        plot=bar_chart(named, [(AFTER, "lost")]),
        alt=f"Detail lost by column, most first: {most}.",
        note="How much of its range a published value leaves open, on average.",
        table=Table(
            head=["Column", "Detail lost", "of rows kept", "Divergence (nats)"],
            rows=[
                [
                    text(entry.get("name")),
                    share(entry.get("loss")),
                    share(entry.get("loss_of_kept")),
                    figure(divergence.get(text(entry.get("name")))),
                ]
                for entry in ordered
            ],
        ),
    )


def _queries(facts: Facts) -> Picture | None:
    made = measurement(facts, "query-error")
    inside = mapping(made.get("facts"))
    found = mappings(inside.get("dimensions"))
    if not found:
        return None
    terms = " and terms" if inside.get("terms") else ""
    named = [
        (
            f"{plural(entry.get('columns'), 'column')}{terms}",
            [number(entry.get("median")), number(entry.get("worst_tenth"))],
        )
        for entry in found
    ]
    series = [(AFTER, "half of the counts"), ("is-after-soft", "nine in ten")]
    words = "; ".join(f"{name} {share(half)} and {share(most)}" for name, (half, most) in named)
    return Picture(
        title="Error of random counts",
        plot=bar_chart(named, series, between=" · "),
        alt=f"Relative error that half of random counts, and nine in ten, stay within: {words}.",
        note="How far a count over some columns is off, relative to the true count, at most.",
        legend=series,
        table=Table(
            head=["Counts over", "Mean", "Median", "Nine in ten", "Queries"],
            rows=[
                [
                    f"{plural(entry.get('columns'), 'column')}{terms}",
                    *(share(entry.get(key)) for key in ("mean", "median", "worst_tenth")),
                    count(entry.get("queries")),
                ]
                for entry in found
            ],
        ),
    )


def _predictions(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "classification").get("facts"))
    before, after = mapping(inside.get("before")), mapping(inside.get("after"))
    if not before and not after:
        return None
    target = shortened(text(inside.get("target")), NAME_LENGTH)
    classes = plural(len(sequence(inside.get("classes"))), "class", "classes")
    words = {
        "accuracy": "Right answers",
        "balanced_accuracy": "Mean over classes",
        "baseline": "Most frequent class",
    }
    named = [(name, [number(before.get(key)), number(after.get(key))]) for key, name in words.items()]
    said = "; ".join(f"{name} {share(a)} before, {share(b)} after" for name, (a, b) in named)
    return Picture(
        title=f"Predicting {target}",
        plot=bar_chart(named, BEFORE_AND_AFTER, full=1.0),
        alt=f"Predicting {target} from the quasi-identifiers: {said}.",
        note=f"A logistic regression tested on rows it has not seen; {classes}. The last pair is what guessing gets.",
        legend=BEFORE_AND_AFTER,
        table=Table(
            head=["Measure", "Before", "After"],
            rows=[
                *([name, share(a), share(b)] for name, (a, b) in named),
                ["Log loss", figure(before.get("log_loss")), figure(after.get("log_loss"))],
                ["Rows used", count(before.get("rows")), count(after.get("rows"))],
            ],
        ),
    )


# Risks


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
    said = "; ".join(f"{name.lower()} {share(a)} before, {share(b)} after" for name, (a, b) in named)
    return Picture(
        title="Finding a person again",
        plot=bar_chart(named, BEFORE_AND_AFTER, full=1.0),
        alt=f"Chance of finding a person by the quasi-identifiers: {said}.",
        note="For an intruder who knows all quasi-identifiers of a person and that the person is in the table.",
        legend=BEFORE_AND_AFTER,
        table=Table(head=["", "Before", "After"], rows=[[name, share(a), share(b)] for name, (a, b) in named]),
    )


def _class_sizes(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "class-sizes").get("facts"))
    bins = mappings(inside.get("bins"))
    if not bins:
        return None
    before, after = (
        _shares(rows, sum(value or 0 for value in rows))
        for rows in ([number(entry.get(key)) for entry in bins] for key in ("rows_before", "rows"))
    )
    names = [_between(entry.get("from"), entry.get("to")) for entry in bins]
    smallest, largest = (number(mapping(inside.get("after")).get(key)) for key in ("min", "max"))
    most = max(range(len(bins)), key=lambda i: after[i] or 0.0)
    return Picture(
        title="How many look alike",
        plot=upright_pairs([_between(entry.get("from"), entry.get("to"), brief=True) for entry in bins], before, after),
        alt=f"Share of rows by the size of their class. After, classes have {count(smallest)} to "
        f"{plural(largest, 'row')}, and most rows ({share(after[most])}) are in classes of {names[most]}.",
        note="The share of rows that are in a class of so many rows with the same quasi-identifiers.",
        legend=BEFORE_AND_AFTER,
        table=Table(
            head=["Class size", "Classes before", "Classes after", "Rows before", "Rows after"],
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
    said = "; ".join(f"{name.lower()} {share(a)} before, {share(b)} after" for name, (a, b) in named)
    return Picture(
        title=f"What {column} gives away" if column else "What terms give away",
        plot=bar_chart(named, BEFORE_AND_AFTER, full=1.0),
        alt=f"Belief of an intruder who looks terms up in the knowledge table: {said}.",
        note="For an intruder who finds a person's group and looks its terms up in the knowledge table.",
        legend=BEFORE_AND_AFTER,
        table=Table(
            head=["", "Before", "After"],
            rows=[
                *([name, share(a), share(b)] for name, (a, b) in named),
                *([name, *(figure(value) for value in found[path])] for path, name in further.items()),
            ],
        ),
    )


def _between(low: object, high: object, *, brief: bool = False) -> str:
    show = _thousands if brief else count
    return show(low) if low == high else f"{show(low)}+" if brief else f"{show(low)} to {show(high)}"


def _thousands(value: object) -> str:
    found = number(value)
    if found is None or found < 1000:
        return count(value)
    return f"{figure(found / 1e6)}M" if found >= 1e6 else f"{figure(found / 1e3)}k"


# The work


def _step(entry: Facts, position: int) -> dict[str, Any]:
    options, said = mapping(entry.get("options")), mapping(entry.get("facts"))
    models = [text(model.get("model")) for model in mappings(entry.get("requirements"))]
    why = text(entry.get("why")).strip()
    pairs = [("Aims at", listed(models))] if models else []
    if options:
        pairs.append(("Options", plain(options, 20)))
    pairs += [(_spaced(name), plain(value, 20)) for name, value in said.items()]
    return {
        "title": f"Step {position}: {text(entry.get('anonymizer'))}",
        "why": f"{why[0].upper()}{why[1:].rstrip('.')}." if why else "",
        "pairs": pairs,
    }


def _spaced(name: str) -> str:
    words = text(name).replace("_", " ")
    return words[:1].upper() + words[1:]


def _time(facts: Facts) -> Picture | None:
    found = mappings(facts.get("timings"))
    if not found:
        return None
    named = [(text(entry.get("step")), [number(entry.get("seconds"))]) for entry in found]
    total = sum(spent or 0.0 for _, (spent,) in named)
    longest = max(named, key=lambda pair: pair[1][0] or 0.0)
    return Picture(
        title="Where the time went",
        plot=bar_chart(named, [(AFTER, "")], seconds),
        alt=f"Time by step, {seconds(total)} in all; most of it, {seconds(longest[1][0])}, for {longest[0]}.",
        note=f"{seconds(total)} in all, by the clock on the wall.",
        wide=True,
        table=Table(
            head=["Step", "Time", "Processor time"],
            rows=[
                [text(entry.get("step")), seconds(entry.get("seconds")), seconds(entry.get("cpu_seconds"))]
                for entry in found
            ],
        ),
    )
