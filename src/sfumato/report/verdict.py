"""The answer: what holds, who can still be learned about, its key figures, and what the holder should know first."""

from __future__ import annotations

from typing import Any

from sfumato.report import exposed
from sfumato.report.promises import holds
from sfumato.report.reading import Facts, counted, counts_people, mapping, mappings, measurement, number, sequence, text
from sfumato.report.wording import PEOPLE, count, listed, moment, plural, share, spelled


def content(facts: Facts) -> dict[str, Any]:
    """Return what holds, who can still be learned about, where it comes from, and the key figures."""
    satisfied, sentence = one_sentence(facts)
    source, plan = mapping(facts.get("source")), mapping(facts.get("plan"))
    origin = [f"plan {plan['path']}" if plan.get("path") else "a plan made in Python"]
    origin.append(f"data {source['path']}" if source.get("path") else "data from memory")
    made = moment(facts.get("made"))
    return {
        "satisfied": satisfied and not _few_people(facts),
        "stamp": ("Rows counted, not people" if _few_people(facts) else "As the plan asks")
        if satisfied
        else "Not to be published",
        "sentence": sentence,
        "exposed": exposed.headline(facts),
        "exposures": list(exposed.lines(facts)),
        "origin": f"{', '.join(origin)[0].upper()}{', '.join(origin)[1:]}{f'; {made}' if made else ''}.",
        "figures": _keys(facts),
    }


def one_sentence(facts: Facts) -> tuple[bool, str]:
    """Return whether everything holds, and the verdict as a sentence."""
    found = mappings(facts.get("verdicts"))
    broken = [entry for entry in found if not holds(entry)]
    rows = number(mapping(facts.get("release")).get("rows"))
    shown = plural(rows, "row") if not counts_people(facts) else f"the rows of {plural(_people(facts), *PEOPLE)}"
    leave = f"{shown} may" if rows is not None else "the release may"
    stay = f"the {shown.removeprefix('the ')} must" if rows is not None else "the release must"
    if not found:
        return False, f"Nothing was required, so nothing is promised: {stay} stay in the house."
    if broken:
        do = "does" if len(broken) == 1 else "do"
        which = "The requirement" if len(found) == 1 else f"{len(broken)} of {len(found)} requirements"
        return False, f"{which} {do} not hold: {stay} stay in the house."
    every = "The requirement holds" if len(found) == 1 else f"Every one of {len(found)} requirements holds"
    empty = listed([what for entry in mappings(facts.get("measurements")) if (what := text(entry.get("empty")))])
    but = f", but nothing is left of {empty}" if empty else ""
    if few := _few_people(facts):
        return True, f"{every}{but}, but for rows, not for people: {few}. Think twice before they leave the house."
    return True, f"{every}{but}: {leave} leave the house."


def _few_people(facts: Facts) -> str:
    """Return how many classes hold too few people, where there are several rows a person and nobody said so."""
    persons = mapping(facts.get("persons"))
    below, classes = number(persons.get("below")), number(persons.get("classes"))
    if not below or classes is None:
        return ""
    return f"{count(below)} of {plural(classes, 'class', 'classes')} hold fewer than {count(persons.get('k'))} people"


def warnings(facts: Facts) -> list[str]:
    """Return the warnings as found, after what is still to be done."""
    found = [spelled(warning) for warning in sequence(facts.get("warnings")) if warning]
    return [open_yet, *found] if (open_yet := left_open(facts)) else found


def left_open(facts: Facts) -> str:
    """Return a sentence about what was left for later, if anything was."""
    words = {"measure": "what was lost was not measured", "attack": "what an intruder gets was not worked out"}
    said = [words[text(part)] for part in sequence(facts.get("pending")) if text(part) in words]
    return f"The release was audited, but {' and '.join(said)} yet: sfumato report does it." if said else ""


def _keys(facts: Facts) -> list[dict[str, str]]:
    source, release = mapping(facts.get("source")), mapping(facts.get("release"))
    keys = []

    def add(name: str, value: object, shown: str, note: str = "") -> None:
        if number(value) is not None:
            keys.append({"name": name, "value": shown, "note": note})

    rows_in, rows_out = number(source.get("rows")), number(release.get("rows"))
    dropped = rows_in - rows_out if rows_in is not None and rows_out is not None else 0
    if counts_people(facts):
        add("people in", rows_in, count(rows_in), f"of {plural(source.get('gathered'), 'row')}")
        people = _people(facts)
        gone = (rows_in or 0) - (people or 0)
        in_rows = f"in {plural(rows_out, 'row')}" if rows_out != people else ""
        add("people out", people, count(people), f"{count(gone)} dropped" if gone > 0 else in_rows)
    else:
        add("rows in", rows_in, count(rows_in))
        add("rows out", rows_out, count(rows_out), f"{count(dropped)} dropped" if dropped > 0 else "")

    sizes = mapping(measurement(facts, "class-sizes").get("facts"))
    before, after = mapping(sizes.get("before")), mapping(sizes.get("after"))
    for name, key in (("classes that look alike", "classes"), (f"{counted(facts)} in the smallest class", "min")):
        add(name, after.get(key), count(after.get(key)), _were(before.get(key), count))

    for name, whose in (("ncp", "quasi-identifiers"), ("masked-detail", "masked columns")):
        lost = measurement(facts, name).get("value")
        add(f"of the detail of {whose} lost", lost, share(lost))
    risk = measurement(facts, "risk")
    add("highest risk to be found", risk.get("value"), share(risk.get("value")), _were(risk.get("before"), share))
    return keys


def _people(facts: Facts) -> float | None:
    """Return of how many people rows are published: each row of one, or all rows that they have."""
    source, release = mapping(facts.get("source")), mapping(facts.get("release"))
    people, rows = number(source.get("rows")), number(release.get("rows"))
    return min(people, rows) if people is not None and rows is not None else rows


def _were(value: object, show: Any) -> str:
    return f"{show(value)} before" if number(value) is not None else ""
