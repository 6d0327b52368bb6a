"""The facts of a run as a few lines of plain text, for a terminal of 60 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.report.promises import bound, parameters
from sfumato.report.reading import Facts, main_measurements, mapping, mappings, number, text
from sfumato.report.verdict import one_sentence
from sfumato.report.wording import UNKNOWN, amount, apart, plural, seconds, share

WIDTH = 60
MOST_REQUIREMENTS = 5
MOST_COLUMNS = 3


def summary(facts: Mapping[str, Any]) -> str:
    """Return the verdicts and the main losses, at most 25 lines.

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
    Detail lost                    3.05%
    """
    parts = [_wrapped(one_sentence(facts)[1])]
    parts += [lines for lines in (list(_requirements(facts)), list(_measures(facts))) if lines]
    found = mappings(facts.get("timings"))
    if found:
        parts[-1].append(_row("Time", seconds(sum(number(step.get("seconds")) or 0.0 for step in found))))
    return _plain("\n\n".join("\n".join(lines) for lines in parts))


def _requirements(facts: Facts) -> Iterator[str]:
    found = mappings(facts.get("verdicts"))
    # What does not hold comes first, so that it is never among those left out.
    found.sort(key=lambda entry: entry.get("satisfied") is True)
    for entry in found[:MOST_REQUIREMENTS]:
        word = "holds" if entry.get("satisfied") is True else "FAILS"
        yield _cut(f"{word}  {_title(entry)}")
        reached, required = apart(entry.get("reached"), entry.get("required"))
        if number(entry.get("reached")) is not None:
            measure = text(entry.get("measure")) or "reached"
            yield _cut(f"       {measure} {reached}, required {bound(entry)} {required}")
    if len(found) > MOST_REQUIREMENTS:
        hidden = found[MOST_REQUIREMENTS:]
        all_hold = all(entry.get("satisfied") is True for entry in hidden)
        yield f"and {plural(len(hidden), 'more requirement')}{', which hold' if all_hold else ''}"


def _title(entry: Facts) -> str:
    """Return the model, the columns it is about, and its other parameters."""
    given = parameters(entry)
    about = [value for name, value in given if name in ("sensitive", "column")]
    others = [f"{name}={value}" for name, value in given if name not in ("sensitive", "column")]
    title = text(entry.get("model")) or "a requirement"
    return title + "".join(f" of {value}" for value in about) + (f" ({', '.join(others)})" if others else "")


def _measures(facts: Facts) -> Iterator[str]:
    parts_shown = False
    for entry in main_measurements(facts):
        unit = text(entry.get("unit"))
        if number(entry.get("value")) is None or mapping(entry.get("facts")).get("after", True) is None:
            continue
        before = number(entry.get("before"))
        change = f"{amount(before, unit)} -> " if before else ""
        yield _row(text(entry.get("title")) or text(entry.get("name")), change + amount(entry.get("value"), unit))
        if not parts_shown:
            parts = list(_most_lost(mappings(mapping(entry.get("facts")).get("columns"))))
            parts_shown = bool(parts)
            yield from parts


def _most_lost(columns: Sequence[Facts]) -> Iterator[str]:
    losses = [(number(column.get("loss")) or 0.0, text(column.get("name"))) for column in columns]
    for loss, name in sorted(losses, key=lambda pair: -pair[0])[:MOST_COLUMNS]:
        if loss > 0:
            yield _row(f"  {name}", share(loss))


def _row(name: str, value: str) -> str:
    return _cut(f"{_cut(name, 29):<29}  {value}")


def _cut(line: str, width: int = WIDTH) -> str:
    """Return a line that fits; what no terminal should be sent, such as an escape in a column's name, shows as ?."""
    shown = "".join(character if character.isprintable() else "?" for character in line)
    return shown if len(shown) <= width else f"{shown[: width - 2]}.."


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH)


def _plain(words: str) -> str:
    """Return text with the page's dash as a plain one."""
    return words.replace(UNKNOWN, "-")
