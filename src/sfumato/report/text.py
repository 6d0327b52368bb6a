"""The facts of a run as plain text, for a terminal: what holds, who can still be learned about, what was lost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.report import exposed
from sfumato.report.promises import bound, holds, is_unjudged, parameters
from sfumato.report.reading import Facts, main_measurements, mapping, mappings, number, text
from sfumato.report.verdict import one_sentence, warnings
from sfumato.report.wording import UNKNOWN, amount, apart, seconds, share, spelled

WIDTH = 80  # where nobody says how wide the terminal is
NARROWEST, WIDEST = 40, 140  # lines that nobody can read, and lines that nobody wants to
MOST_COLUMNS = 3


def summary(facts: Mapping[str, Any], width: int = WIDTH) -> str:
    """Return what holds, who can still be learned about and the main losses, in lines of at most this width.

    >>> print(summary({
    ...     "release": {"rows": 30162},
    ...     "verdicts": [{"model": "k-anonymity", "k": 5, "satisfied": True, "reached": 6, "required": 5}],
    ...     "measurements": [{"name": "ncp", "title": "Detail lost", "value": 0.0305, "unit": "share"}],
    ... }))
    The requirement holds: 30,162 rows may leave the house.
    <BLANKLINE>
    holds  k-anonymity (k=5)
           reached 6, required at least 5
    <BLANKLINE>
    Detail lost  3.05%
    """
    lines = _Lines(min(max(width, NARROWEST), WIDEST))
    found = mappings(facts.get("timings"))
    spent = [("Time", seconds(sum(number(step.get("seconds")) or 0.0 for step in found)))] if found else []
    parts = [
        [line for sentence in (one_sentence(facts)[1], exposed.headline(facts)) for line in lines.wrapped(sentence)],
        list(_requirements(facts, lines)),
        list(_exposures(facts, lines)),
        list(lines.rows([*_measures(facts), *spent])),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part).replace(UNKNOWN, "-")


def warned(facts: Mapping[str, Any], width: int = WIDTH) -> str:
    """Return the warnings of a run as a paragraph each, in lines of at most this width.

    >>> print(warned({"warnings": ["Rows keep their order."]}))
    Warning: Rows keep their order.
    """
    lines = _Lines(min(max(width, NARROWEST), WIDEST))
    return "\n\n".join("\n".join(lines.wrapped(f"Warning: {warning}")) for warning in warnings(facts))


class _Lines:
    """Lines of a terminal: what is too long goes on below, nothing is cut off."""

    def __init__(self, width: int) -> None:
        self.width = width

    def wrapped(self, words: str, first: str = "", later: str | None = None) -> list[str]:
        """Return text in lines; what no terminal should be sent, such as an escape in a column's name, shows as ?."""
        shown = "".join(character if character.isprintable() else "?" for character in words)
        later = " " * len(first) if later is None else later
        return textwrap.wrap(
            shown, self.width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False, tabsize=1
        )

    def rows(self, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Yield names with their values beside them, all in line."""
        room = min(max((len(name) for name, _ in pairs), default=0), self.width // 2)
        for name, value in pairs:
            indent = " " * (len(name) - len(name.lstrip()))
            *above, last = self.wrapped(name.strip(), indent) or [""]
            if len(last) > room:  # a long name has its value below it
                above, last = [*above, last], ""
            yield from above
            yield from self.wrapped(value, f"{last:<{room}}  ", " " * (room + 2))


def _requirements(facts: Facts, lines: _Lines) -> Iterator[str]:
    found = mappings(facts.get("verdicts"))
    found.sort(key=holds)  # what does not hold comes first
    for entry in found:
        word = "holds" if holds(entry) else "NOTHING TO JUDGE" if is_unjudged(entry) else "FAILS"
        yield from lines.wrapped(_title(entry), f"{word}  ")
        reached, required = apart(entry.get("reached"), entry.get("required"))
        if number(entry.get("reached")) is not None:
            measure = text(entry.get("measure")) or "reached"
            yield from lines.wrapped(f"{measure} {reached}, required {bound(entry)} {required}", " " * 7)


def _title(entry: Facts) -> str:
    """Return the model, the columns it is about, and its other parameters."""
    given = parameters(entry)
    about = [value for name, value in given if name in ("sensitive", "column")]
    others = [f"{name}={value}" for name, value in given if name not in ("sensitive", "column")]
    title = text(entry.get("model")) or "a requirement"
    return title + "".join(f" of {value}" for value in about) + (f" ({', '.join(others)})" if others else "")


def _exposures(facts: Facts, lines: _Lines) -> Iterator[str]:
    found = list(exposed.lines(facts))
    if found:
        yield "Who can still be learned about"
    room = max((len(people) for people, _, _ in found), default=0)
    for people, how, why in found:
        yield from lines.wrapped(how, f"{people:>{room}}  ")
        yield from lines.wrapped(why, " " * (room + 2))


def _measures(facts: Facts) -> Iterator[tuple[str, str]]:
    parts_shown = False
    for entry in main_measurements(facts):
        unit = text(entry.get("unit"))
        if number(entry.get("value")) is None or mapping(entry.get("facts")).get("after", True) is None:
            continue
        before = number(entry.get("before"))
        change = f"{amount(before, unit)} -> " if before else ""
        note = spelled(entry.get("note"))
        shown = change + amount(entry.get("value"), unit) + (f" ({note})" if note else "")
        yield text(entry.get("title")) or text(entry.get("name")), shown
        if not parts_shown:
            parts = list(_most_lost(mappings(mapping(entry.get("facts")).get("columns"))))
            parts_shown = bool(parts)
            yield from parts


def _most_lost(columns: Sequence[Facts]) -> Iterator[tuple[str, str]]:
    losses = [(number(column.get("loss")) or 0.0, text(column.get("name"))) for column in columns]
    for loss, name in sorted(losses, key=lambda pair: -pair[0])[:MOST_COLUMNS]:
        if loss > 0:
            yield f"  {name}", share(loss)
