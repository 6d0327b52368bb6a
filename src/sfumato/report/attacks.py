"""What an intruder gets: every attack on the original, on the release, and beside a guess."""

from __future__ import annotations

from typing import Any

from sfumato.report.exposed import largest_gain
from sfumato.report.plots import AFTER, BEFORE, Number, Picture, Table, bar_chart
from sfumato.report.reading import Facts, mapping, mappings, number, text
from sfumato.report.wording import count, figure, plural, share

TITLE = "What an intruder gets"
SIDES = (("before", BEFORE, "original"), ("after", AFTER, "release"), ("control", "is-guess", "a guess"))


def content(facts: Facts) -> dict[str, Any] | None:
    """Return the attacks as two pictures (people, confidence) and a card each."""
    found = mappings(facts.get("attacks"))
    if not found:
        return None
    return {
        "sentence": "What somebody gets who attacks the table, had it been published as it was, and as it is now. "
        "The third bar is the control: what a guess from public base rates gets without any table.",
        "pictures": [
            _picture(
                found, "People exposed", _exposed, "The share of people of whom an intruder is surer than stated."
            ),
            _picture(found, "Highest confidence", _worst, "How sure the intruder is of the person they are surest of."),
        ],
        "cards": [_card(entry) for entry in found],
    }


def _exposed(finding: Facts) -> Number:
    exposed, people = number(finding.get("exposed")), number(finding.get("people"))
    return exposed / people if exposed is not None and people else None


def _worst(finding: Facts) -> Number:
    return number(finding.get("worst"))


def _picture(found: list[Facts], title: str, value: Any, note: str) -> Picture:
    sides = [side for side in SIDES if any(mapping(entry.get(side[0])) for entry in found)]
    rows = [(text(entry.get("title")), [value(mapping(entry.get(key))) for key, _, _ in sides]) for entry in found]
    said = "; ".join(
        f"{name}: " + ", ".join(f"{share(shown)} {word}" for shown, (_, _, word) in zip(values, sides, strict=True))
        for name, values in rows
    )
    series = [(css, word) for _, css, word in sides]
    return Picture(
        title=title,
        plot=bar_chart(rows, series, full=1.0, between=" · "),
        alt=f"{title}. {said}.",
        note=note,
        legend=series,
        wide=True,
        table=Table(
            head=["Attack", *(word.capitalize() for _, _, word in sides)],
            rows=[[name, *(share(shown) for shown in values)] for name, values in rows],
        ),
    )


def _card(entry: Facts) -> dict[str, Any]:
    return {
        "title": text(entry.get("title")),
        "intruder": text(entry.get("intruder")),
        "threshold": share(entry.get("threshold")),
        "sampled": _sampled(mapping(entry.get("after"))),
        "gain": _gain(mapping(entry.get("after"))),
        "joined": _joined(mapping(entry.get("after"))),
        "lines": [
            {
                "side": word.capitalize(),
                "exposed": f"{count(finding.get('exposed'))} of {count(finding.get('people'))}",
                "worst": share(finding.get("worst")),
                "mean": share(finding.get("mean")),
            }
            for key, _, word in SIDES
            if (finding := mapping(entry.get(key)))
        ],
    }


def _gain(finding: Facts) -> str:
    """Return whom a rare value exposes, and the largest gain of one with its name, which only this page shows."""
    factor = number(mapping(finding.get("facts")).get("factor"))
    if factor is None:
        return ""
    rule = (
        f"A value below 5% of the table that is over {figure(factor)} times as likely in a class exposes people, too."
    )
    gain = largest_gain(finding, text(mapping(finding.get("private")).get("value")))
    return f"{rule} Largest gain: {gain}." if gain else rule


def _joined(finding: Facts) -> str:
    """Return how many groups of equal people have no class of their own although they are large enough."""
    facts = mapping(finding.get("facts"))
    joined, people, seen = (number(facts.get(key)) for key in ("joined", "joined_people", "joined_looked_at"))
    if joined is None:
        return ""
    groups = f"{count(joined)} of {plural(facts.get('groups'), 'group')} of equal people"
    part = f" The attack looked at {count(seen)} of them and counts for all." if seen is not None else ""
    return f"{groups} could form a class and have none: {plural(people, 'person', 'people')}.{part}"


def _sampled(finding: Facts) -> str:
    """Return for how many people it was worked out, where that is not all of them."""
    looked_at, people = number(mapping(finding.get("facts")).get("looked_at")), number(finding.get("people"))
    if looked_at is None or people is None or looked_at >= people:
        return ""
    return f"Worked out for {count(looked_at)} of {plural(people, 'person', 'people')}; all would take too long."
