"""Dates: read from ISO text, put in the order of time, gathered into months, quarters, years."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from sfumato.data.hierarchy import ROOT, Hierarchy, some
from sfumato.data.labels import range_ends
from sfumato.errors import HierarchyError, PolicyError, did_you_mean

_DATE = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d(?:\.\d+)?))?"
    r"\s?(?P<zone>Z|(?P<ahead>[+-]\d\d)(?::?(?P<minutes>\d\d))?)?)?",
    re.ASCII,
)
DATE_LEVELS = ("day", "week", "month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Dates:
    """Moments in days, weeks, months, quarters, years or decades.

    They show as `2024-05-03`, `2024-W05`, `2024-05`, `2024-Q2`, `2024`, `2020s`.

    Dates and times are read as ISO 8601; the time of the day and the zone play no part. A week may lie in two months
    and even in two years, so it does not go together with month or quarter, and years above weeks are those of the ISO
    week calendar, which show as `2024-W**` and `202*-W**`.

    >>> days = ["2024-05-03", "2024-05-04", "2024-07-01", "2025-07-01"]
    >>> Dates(["month", "year"]).build(days, "The hierarchy").ancestors("2024-05-03")
    ('2024-05-03', '2024-05', '2024', '*')
    """

    levels: Sequence[str]

    def __post_init__(self) -> None:
        levels = (self.levels,) if isinstance(self.levels, str) else self.levels
        known = f"Choose from {', '.join(DATE_LEVELS)}, in this order."
        if not isinstance(levels, Sequence) or not levels:
            raise PolicyError(f"dates was given as {self.levels!r}.\n{known}")
        for level in levels:
            if level not in DATE_LEVELS:
                raise PolicyError(f"dates knows no level {level!r}.{did_you_mean(str(level), DATE_LEVELS)}\n{known}")
        places = [DATE_LEVELS.index(level) for level in levels]
        if any(low >= high for low, high in pairwise(places)):
            raise PolicyError(f"dates was given as {list(levels)!r}, which does not rise.\n{known}")
        if "week" in levels and ("month" in levels or "quarter" in levels):
            raise PolicyError(
                f"dates was given as {list(levels)!r}, but a week may lie in two months.\n"
                "Take weeks with years, or months with quarters and years."
            )
        object.__setattr__(self, "levels", tuple(levels))

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy over these dates, in rising order."""
        days = [(day, label) for label in labels if (day := day_of(label)) is not None]
        if len(days) < len(labels):
            odd = [label for label in labels if day_of(label) is None]
            raise HierarchyError(
                f"{name} is one of dates, but {len(odd):,} of the {len(labels):,} values in the data are no ISO "
                f"dates such as 2024-05-31{'' if secret else f': {some(odd)}'}.\n"
                "List their spelling under missing = [...] if they stand for missing values, or give another hierarchy."
            )
        weekly = "week" in self.levels
        paths = (
            (label, *(period(day, level, weekly=weekly) for level in self.levels), ROOT) for day, label in sorted(days)
        )
        return Hierarchy.from_paths(paths, name, secret=secret) if labels else Hierarchy.bare()


def day_of(label: str) -> datetime.date | None:
    """Return the day that a text means, or None when it is no ISO 8601 date, with or without a time.

    >>> day_of("2024-05-31"), day_of("2024-05-31 23:59:00Z"), day_of("31.5.2024"), day_of("2024-02-30")
    (datetime.date(2024, 5, 31), datetime.date(2024, 5, 31), None, None)
    """
    match = _DATE.fullmatch(label)
    try:
        return datetime.date(int(match["year"]), int(match["month"]), int(match["day"])) if match is not None else None
    except ValueError:
        return None


def moment_of(label: str) -> tuple[Decimal, bool]:
    """Return when an ISO 8601 date begins, in seconds, and whether it tells its zone; if so, in those of Greenwich.

    >>> moment_of("2024-05-31T23:30:00-01:00") == moment_of("2024-06-01 00:30Z") > moment_of("2024-06-01 02:00+0230")
    True
    """
    match, day = _DATE.fullmatch(label), day_of(label)
    assert match is not None
    assert day is not None
    minutes = (day.toordinal() * 24 + int(match["hour"] or 0)) * 60 + int(match["minute"] or 0)
    if match["ahead"]:
        minutes -= int(match["ahead"]) * 60 + int(f"{match['ahead'][0]}{match['minutes'] or 0}")
    return minutes * 60 + Decimal(match["second"] or 0), match["zone"] is not None


def period(day: datetime.date, level: str, *, weekly: bool = False) -> str:
    """Return the label of the period that a day lies in; years of weeks are not those of months.

    >>> period(datetime.date(2024, 12, 30), "quarter"), period(datetime.date(2024, 12, 30), "week")
    ('2024-Q4', '2025-W01')
    """
    iso_year, iso_week, _ = day.isocalendar()
    match level:
        case "day":
            return day.isoformat()
        case "week":
            return f"{iso_year:04}-W{iso_week:02}"
        case "month":
            return f"{day.year:04}-{day.month:02}"
        case "quarter":
            return f"{day.year:04}-Q{(day.month + 2) // 3}"
        case "year":
            return f"{iso_year:04}-W**" if weekly else f"{day.year:04}"
        case _:
            return f"{iso_year // 10:03}*-W**" if weekly else f"{day.year // 10:03}0s"


_PERIOD = re.compile(
    r"(?P<decade>\d{3})0s|(?P<year>\d{4})(?:-(?:(?P<month>\d\d)|Q(?P<quarter>[1-4])|W(?P<week>\d\d|\*\*)))?"
    r"|(?P<weeks>\d{3})\*-W\*\*",
    re.ASCII,
)


def days_of(label: str) -> tuple[datetime.date, datetime.date] | None:
    """Return the first and the last day of a published period or range of days, or None when it is none.

    >>> [day.isoformat() for day in days_of("2024-Q2")], [day.isoformat() for day in days_of("2025-W01")]
    (['2024-04-01', '2024-06-30'], ['2024-12-30', '2025-01-05'])
    >>> days_of("2024-05-03") == days_of("[2024-05-03, 2024-05-03]"), days_of("*")
    (True, None)
    """
    if (ends := range_ends(label)) is not None:
        first, last = day_of(ends[0]), day_of(ends[1])
        return (first, last if ends[2] else last - datetime.timedelta(days=1)) if first and last else None
    if (day := day_of(label)) is not None:
        return day, day
    match = _PERIOD.fullmatch(label)
    try:
        return _period_days(match) if match is not None else None
    except ValueError:  # a month 13, or beyond the calendar
        return None


def _period_days(match: re.Match[str]) -> tuple[datetime.date, datetime.date]:
    if match["weeks"] or match["week"]:
        year = int(f"{match['weeks']}0") if match["weeks"] else int(match["year"])
        if match["week"] and match["week"] != "**":
            first = datetime.date.fromisocalendar(year, int(match["week"]), 1)
            return first, first + datetime.timedelta(days=6)
        after = datetime.date.fromisocalendar(year + (10 if match["weeks"] else 1), 1, 1)
        return datetime.date.fromisocalendar(year, 1, 1), after - datetime.timedelta(days=1)
    if match["decade"]:
        first, months = datetime.date(int(f"{match['decade']}0"), 1, 1), 120
    elif match["month"]:
        first, months = datetime.date(int(match["year"]), int(match["month"]), 1), 1
    elif match["quarter"]:
        first, months = datetime.date(int(match["year"]), 3 * int(match["quarter"]) - 2, 1), 3
    else:
        first, months = datetime.date(int(match["year"]), 1, 1), 12
    years, month = divmod(first.month - 1 + months, 12)
    return first, datetime.date(first.year + years, month + 1, 1) - datetime.timedelta(days=1)
