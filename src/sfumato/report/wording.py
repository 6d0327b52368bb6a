"""Numbers as people read them. What is not known is a dash."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from sfumato.report.reading import Facts, number, text

UNKNOWN = "\N{EN DASH}"
NAME_LENGTH = 60  # characters of a column's name inside a sentence

PEOPLE = ("person", "people")  # one, several


def count(value: object) -> str:
    """Return a whole number with separators.

    >>> count(30162), count(None), count(2.5)
    ('30,162', '–', '2.5')
    """
    found = number(value)
    if found is None:
        return UNKNOWN
    return f"{found:,.0f}" if found == round(found) else figure(found)


def figure(value: object) -> str:
    """Return a number with about four significant digits, whole ones as they are.

    >>> figure(0.0304567), figure(1234567.8), figure(5.0), figure(2.0000001e-9), figure(float("inf"))
    ('0.03046', '1,234,568', '5', '2e-09', '–')
    """
    found = number(value)
    if found is None:
        return UNKNOWN
    if found == round(found) and abs(found) < 1e15:
        return f"{found:,.0f}"
    if abs(found) >= 1e15 or abs(found) < 1e-4:
        return f"{found:.3g}"
    if abs(found) >= 1000:
        return f"{found:,.0f}"
    return f"{found:.4g}"


def share(value: object) -> str:
    """Return a share as a percentage with about three digits; what is nearly nothing or nearly all is not rounded away.

    >>> share(0.0305), share(1), share(0), share(0.19), share(0.456), share(0.00004), share(0.99997)
    ('3.05%', '100%', '0%', '19%', '45.6%', '<0.01%', '>99.9%')
    """
    found = number(value)
    percent = number(100 * found) if found is not None else None
    if percent is None:
        return UNKNOWN
    if abs(percent - round(percent)) < 1e-9:
        return f"{percent:,.0f}%"
    if 0 < percent < 0.01:
        return "<0.01%"
    if 99.9 < percent < 100:
        return ">99.9%"
    return f"{percent:,.2f}%" if abs(percent) < 10 else f"{percent:,.1f}%"


def seconds(value: object) -> str:
    """Return a duration.

    >>> seconds(0.0123), seconds(2.345), seconds(75), seconds(7380)
    ('12 ms', '2.3 s', '1 min 15 s', '2 h 3 min')
    """
    found = number(value)
    if found is None:
        return UNKNOWN
    if found < 0.9995:
        return f"{1000 * found:.0f} ms"
    if found < 59.95:
        return f"{found:.1f} s"
    whole = round(found)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def plural(value: object, one: str, many: str | None = None) -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(1200, "row"), plural(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{count(value)} {one if number(value) == 1 else many or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def shortened(label: str, length: int) -> str:
    """Return a label of at most this many characters; the middle goes first, as both ends tell values apart.

    >>> shortened("Married-civ-spouse", 11), shortened("short", 11)
    ('Marri…pouse', 'short')
    """
    if len(label) <= length:
        return label
    tail = (length - 1) // 2
    return label[: length - 1 - tail] + "…" + label[len(label) - tail :]


def apart_labels(labels: Sequence[str], length: int) -> dict[str, str]:
    """Return labels, shortened to so many characters unless two different ones would then look alike.

    >>> list(apart_labels(["learned with one value", "learned from two values", "learned with two value"], 12).values())
    ['learned with one value', 'learne…alues', 'learned with two value']
    """
    short = {label: shortened(label, length) for label in labels}
    often = Counter(short.values())
    return {
        label: cut
        if often[cut] == 1 or cut == label
        else apart_labels([other for other in short if short[other] == cut], 2 * length)[label]
        for label, cut in short.items()
    }


def apart(one: object, other: object) -> tuple[str, str]:
    """Return two numbers as short text, with as many digits as it takes to tell them apart.

    >>> apart(0.19999, 0.2), apart(5, 5), apart(None, 0.5)
    (('0.19999', '0.2'), ('5', '5'), ('–', '0.5'))
    """
    first, second = number(one), number(other)
    if first is None or second is None or first == second:
        return figure(first), figure(second)
    shown = (figure(first), figure(second))
    for digits in (5, 7, 10, 17):
        if shown[0] != shown[1]:
            break
        shown = (f"{first:,.{digits}g}", f"{second:,.{digits}g}")
    return shown


def amount(value: object, unit: str) -> str:
    """Return a number in its unit; "share" stands for 0..1.

    >>> amount(0.125, "share"), amount(1757368, "rows"), amount(1, "rows"), amount(0.5, ""), amount(None, "rows")
    ('12.5%', '1,757,368 rows', '1 row', '0.5', '–')
    """
    if unit == "share":
        return share(value)
    if unit in ("rows", "people"):
        one = "row" if unit == "rows" else "person"
        return plural(value, one, unit) if number(value) is not None else UNKNOWN
    return f"{figure(value)} {unit}" if unit and number(value) is not None else figure(value)


def plain(value: object, most: int = 8) -> str:
    """Return any plain data as short text.

    >>> plain(True), plain([1, 2.5]), plain({"a": None, "b": "x"}), plain(list(range(20)), 3)
    ('yes', '1, 2.5', 'a: none, b: x', '0, 1, 2 and 17 more')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return figure(value)
    if isinstance(value, Mapping):
        parts = [f"{name}: {plain(item, most)}" for name, item in value.items()]
    elif isinstance(value, list | tuple):
        parts = [plain(item, most) for item in value]
    else:
        return str(value)
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


def moment(value: object) -> str:
    """Return a time stamp as people write it, or as found when it is none.

    >>> moment("2025-11-16T08:05:00+00:00"), moment("yesterday")
    ('16 November 2025, 08:05 UTC', 'yesterday')
    """
    try:
        found = datetime.datetime.fromisoformat(text(value))
        return f"{found.day} {found:%B %Y, %H:%M %Z}".strip()
    except ValueError:
        return text(value)


def spelled(words: object) -> str:
    """Return what a metric says in words, with percentages as everywhere on the page.

    >>> spelled("12.5 % of 3 rows")
    '12.5% of 3 rows'
    """
    return re.sub(r"(?<=\d) %", "%", text(words))


def said(measurement: Facts) -> str:
    """Return what a measurement says of itself."""
    return spelled(measurement.get("explanation"))
