"""How numbers and dates of text files are spelled: found out from the first records, and respelled as we write them.

Numbers leave with a decimal point and without marks between thousands, dates as ISO 8601 has them. A column is
respelled if every cell of it fits, missing ones aside; else it stays as it is.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.dates import day_of
from sfumato.data.files.months import month_of
from sfumato.data.files.source import COMMA, DAY_FIRST, DECIMALS, ISO, MONTH_FIRST, ORDERS, POINT, Found, Source
from sfumato.data.hierarchy import some
from sfumato.data.kinds import MARKERS, MARKERS_AMONG_NUMBERS
from sfumato.errors import DataError

CENTURY = 30  # two digits of a year from here on are of the last century, as spreadsheets have it

_BLANKS = " \xa0\u2009\u202f"
_BETWEEN = {COMMA: f"[.{_BLANKS}'\u2019]", POINT: f"[,{_BLANKS}'\u2019]"}  # thousands
_NUMBER = {
    mark: re.compile(rf"[+-]?(?:[1-9]\d{{0,2}}(?:{between}\d{{3}})+|\d+)(?:{re.escape(mark)}\d+)?", re.ASCII)
    for mark, between in _BETWEEN.items()
}
_MARKS = {COMMA: f"[,.{_BLANKS}'\u2019]", POINT: _BETWEEN[POINT]}  # of what has to be respelled
_SHORTEST_CODE = 4  # letters and digits whose order says that a cell is a code
_ENOUGH = 64  # cells that show whether it is worth looking at all of them
_TIME = (
    r"(?:,?[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d\d)(?P<second>:\d\d(?:\.\d+)?)?"
    r"\s?(?P<half>[AaPp])?(?(half)\.?[Mm]\.?)\s?(?P<zone>Z|UTC|[+-]\d\d(?::?\d\d)?)?)?"
)
_DAY_OR_MONTH = re.compile(
    r"(?P<a>\d{1,2})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)" + _TIME, re.ASCII
)
_YEAR = re.compile(r"(?P<year>\d{4})(?P<mark>[./])(?P<a>\d{1,2})(?P=mark)(?P<b>\d{1,2})" + _TIME, re.ASCII)

_YEARS, _MONTH, _LATER = (
    r"(?P<year>\d{4}|\d\d)",
    r"(?P<month>[A-Za-z\xc0-\xff]{3,10})\.?",
    _TIME.replace("[T ]", "[T :]"),
)
_NAMED = (  # 12-Jan-2020, 3. März 1985, 12JAN2020:10:30:00, 1º de janeiro de 2020; January 12th, 2020
    rf"(?P<day>\d{{1,2}})(?:er|st|nd|rd|th|[\xb0\xba])?(?:[./-] ?| (?:de )?)?{_MONTH}(?:[/-]|,? (?:del? )?)?{_YEARS}",
    rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEARS}",
)
_WITH_NAMES = tuple(re.compile(pattern + _LATER, re.ASCII) for pattern in _NAMED)


def decimal_of(source: Source, columns: Mapping[str, Collection[str]], separator: str) -> Found:
    """Return the mark of decimals in the first cells of the columns, or raise when it cannot be told.

    Between commas `1.234` has three decimals; where something else separates cells, commas may be kept for decimals.
    """
    apart = [name for name, cells in columns.items() if _has_blanks(cells)]
    blanks = f"; blanks between thousands in {some(apart)}" if apart else ""
    if source.decimal is not None:
        return Found("decimal", source.decimal, f"the plan says so{blanks}")
    sure: dict[str, list[str]] = {COMMA: [], POINT: []}
    unsure: dict[str, list[str]] = {COMMA: [], POINT: []}
    for name, cells in columns.items():
        fits = [mark for mark in DECIMALS if all(map(_NUMBER[mark].fullmatch, cells))]
        marks = [mark for mark in DECIMALS if fits and any(mark in cell for cell in cells)]
        if len(fits) == 1 and fits[0] in marks:
            sure[fits[0]].append(name)
        elif fits and marks:
            unsure[marks[-1]].append(name)
    told = bool(sure[COMMA]) != bool(sure[POINT])
    both = [*unsure[COMMA], *(unsure[POINT] if separator != COMMA or sure[POINT] else [])]
    if both and not told:
        mark = "comma" if unsure[COMMA] else "point"
        why = f"a {mark} may be the mark of decimals or of thousands"
        raise _asked(source.path, "numbers", both, why, "decimal", '","')
    mark = COMMA if sure[COMMA] else POINT
    reason = f"numbers are written so in {some(sure[mark])}" if sure[mark] else "as usual"
    return Found("decimal", mark, reason + blanks, told)


def _has_blanks(cells: Collection[str]) -> bool:
    """Whether cells are numbers, some with blanks between thousands."""
    if not any(blank in cell for cell in cells for blank in _BLANKS):
        return False
    return any(all(map(_NUMBER[mark].fullmatch, cells)) for mark in DECIMALS) and not _may_be_codes(cells)


def dates_of(source: Source, columns: Mapping[str, Collection[str]]) -> Found:
    """Return the order of dates in the first cells of the columns, or raise when it cannot be told."""
    short = any(map(_has_short_years, columns.values()))
    years = f"; years of two digits are {1900 + CENTURY} to {1999 + CENTURY}" if short else ""
    if source.dates is not None:
        return Found("dates", source.dates, f"the plan says so{years}")
    sure: dict[str, list[str]] = {DAY_FIRST: [], MONTH_FIRST: []}
    unsure: list[str] = []
    named: list[str] = []
    for name, cells in columns.items():
        if all(_iso(cell, ISO) for cell in cells):
            named += [name] if any(map(_named, cells)) else []
            continue
        fits = [order for order in sure if all(_iso(cell, order) for cell in cells)]
        if len(fits) == 1:
            sure[fits[0]].append(name)
        elif fits:
            unsure.append(name)
    told = bool(sure[DAY_FIRST]) != bool(sure[MONTH_FIRST])
    if unsure and not told:
        why = (
            f"day and month may stand in either order ({_styles([cell for name in unsure for cell in columns[name]])})"
        )
        raise _asked(source.path, "dates", unsure, why, "dates", f'"{DAY_FIRST}"')
    order = next((order for order, names in sure.items() if names), ISO)
    reason = f"days beyond 12, or points between, in {some(sure[order])}" if order != ISO else "no others were found"
    names = f"; months have names in {some(named)}" if named else ""
    return Found("dates", order, reason + names + years, told)


def _styles(cells: Collection[str]) -> str:
    """Return how many dates are written in each way, and how many of them have two meanings.

    >>> _styles(["1.1.1990", "1990-01-31", "31/01/1990", "01/02/1990", "02/02/1990"])
    'different cells: 3 as xx/xx/yyyy, 1 as dd.mm.yyyy, 1 as yyyy-mm-dd; 1 with two meanings'
    """
    found = Counter(map(_style, cells))
    counted = ", ".join(
        f"{count:,} {style}" for style, count in sorted(found.items(), key=lambda each: (-each[1], each))
    )
    return f"different cells: {counted}; {sum(len(_meanings(cell)) > 1 for cell in cells):,} with two meanings"


def _style(cell: str) -> str:
    found = _YEAR.fullmatch(cell) or _DAY_OR_MONTH.fullmatch(cell)
    if found is None:
        return "as yyyy-mm-dd" if day_of(cell) else "with the name of the month"
    mark, first = found["mark"], cell.startswith(found["year"]) and len(found["year"]) == 4
    return f"as yyyy{mark}mm{mark}dd" if first else "as dd.mm.yyyy" if mark == "." else f"as xx{mark}xx{mark}yyyy"


def _meanings(cell: str) -> set[str]:
    """Return the dates that a cell may mean.

    >>> sorted(_meanings("01/02/1990")), _meanings("02/02/1990"), _meanings("31/02/1990")
    (['1990-01-02', '1990-02-01'], {'1990-02-02'}, set())
    """
    return {date for order in (DAY_FIRST, MONTH_FIRST) if (date := _iso(cell, order))}


def _has_short_years(cells: Collection[str]) -> bool:
    """Whether cells are dates with the year behind, some of two digits."""
    short = False
    for cell in cells:
        found = _DAY_OR_MONTH.fullmatch(cell) or _named(cell)
        if found is None:
            return False
        short = short or len(found["year"]) == 2
    return short


def _asked(path: Path, what: str, names: Sequence[str], why: str, key: str, example: str) -> DataError:
    return DataError(
        f"{path} has {what} of which the spelling cannot be told, in {some(names)}: {why}.\n"
        f"Say which it is: [source] {key} = {example}, or another (for `sfumato init`: --{key}); or give the column "
        'kind = "category", and it stays as it is.'
    )


def first_cells(names: Sequence[str], records: Sequence[Sequence[str]], source: Source) -> dict[str, set[str]]:
    """Return the distinct cells of each column in some records, without those that are missing or that stay text."""
    nothing = _nothing(source)
    found = {
        name: {record[position] for record in records if len(record) > position} - nothing
        for position, name in enumerate(names)
        if not source.keeps(name)
    }
    return {name: cells for name, cells in found.items() if cells}


def _nothing(source: Source) -> set[str]:
    """Return cells that say nothing about how the others of their column are spelled."""
    return {*MARKERS, *MARKERS_AMONG_NUMBERS, *source.missing}


def looks_like_a_record(first: Sequence[str], records: Sequence[Sequence[str]]) -> int:
    """Return how many cells of the first line are like those below: numbers, dates, codes, values; 0 for a header.

    >>> looks_like_a_record(["age", "city"], [["34", "Rome"]]), looks_like_a_record(["34", "Rome"], [["35", "Oslo"]])
    (0, 1)
    >>> looks_like_a_record(["Ann", "m", "E11.9"], [["Bob", "f", "I10.0"], ["Eve", "m", "J45.1"]])
    2
    """
    told = again = 0
    for position, cell in enumerate(first):
        below = [record[position] for record in records if len(record) > position and record[position]]
        if cell and cell in below:
            again += 1
            told += len(set(below)) > 1  # else it may be a box, which is ticked with its own name
        else:
            told += bool(below) and _is_alike(cell, below)
    return told or (again if len(first) > 1 and 2 * again >= len(first) else 0)


def _is_alike(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is a number, a date or a code as most of those below it are."""
    if is_value(cell):
        return 2 * sum(map(is_value, below)) > len(below)
    form = _form(cell)
    return len(form) >= _SHORTEST_CODE and 2 * sum(_form(each) == form for each in below) > len(below)


def _form(cell: str) -> str:
    """Return how a code is built; of an address only that it is one, of words nothing.

    >>> _form("E11.9"), _form("ann@a.org"), _form("Rome")
    ('A99.9', '@@@@', '')
    """
    if "@" in cell:
        return "@" * _SHORTEST_CODE
    if not any(map(str.isdecimal, cell)):
        return ""
    return "".join("9" if each.isdecimal() else "A" if each.isalpha() else each for each in cell)


def is_value(cell: str) -> bool:
    """Whether a cell is a number or a date."""
    numbers = (_NUMBER[mark].fullmatch(cell) for mark in DECIMALS)
    return any(numbers) or any(_iso(cell, order) for order in ORDERS)


@dataclass(frozen=True)
class Spelling:
    """How numbers and dates of a file are written, by its first records."""

    source: Source
    separator: str  # between cells; nothing in a sheet
    decimal: Found
    dates: Found

    @classmethod
    def of(cls, source: Source, cells: Mapping[str, Collection[str]], separator: str) -> Spelling:
        """Return what the first cells of the columns tell, or raise when it cannot be told."""
        return cls(source, separator, decimal_of(source, cells, separator), dates_of(source, cells))

    def respelled(self, name: str, column: pa.Array) -> pa.Array:
        """Return a column of text with its numbers or dates as we write them, if it is one of numbers or dates."""
        nothing = _nothing(self.source)
        texts = column.dictionary
        some_cells = [cell for cell in texts[:_ENOUGH].to_pylist() if cell not in nothing]
        marks = (str(self.decimal.value),) if self.decimal.told else DECIMALS
        if any(all(map(_NUMBER[mark].fullmatch, some_cells)) for mark in marks):
            # Most numbers are written as we write them, and there may be millions: Arrow looks faster.
            if not pc.any(pc.match_substring_regex(texts, _MARKS[marks[-1]])).as_py():
                return column
        elif not all(any(_iso(cell, order) for order in ORDERS) for cell in some_cells):
            return column
        labels = texts.to_pylist()
        known = [label for label in labels if label not in nothing]
        spelled = _spelled(known, *self._of_column(name, known)) if known else None
        if spelled is None and known and all(map(_meanings, known)):
            spelled = self._one_by_one(name, known)
        if spelled is None or spelled == known:
            return column
        new = dict(zip(known, spelled, strict=True))
        merged = pa.array([new.get(label, label) for label in labels], pa.string()).dictionary_encode()  # 1.000 is 1000
        new_code = merged.indices.cast(column.indices.type)
        return pa.DictionaryArray.from_arrays(new_code.take(column.indices), merged.dictionary)

    def _one_by_one(self, name: str, dates: Sequence[str]) -> list[str]:
        """Return dates that have no order in common, each by its one meaning; the plan may decide between two."""
        order, spelled = self.source.dates, []
        for date in dates:
            found = _meanings(date)
            spelled.append(found.pop() if len(found) == 1 else order and _iso(date, order))
        if not all(spelled):
            why = f"they are written in several ways ({_styles(dates)})"
            raise _asked(self.source.path, "dates", [name], why, "dates", f'"{DAY_FIRST}"')
        return [date for date in spelled if date]

    def _of_column(self, name: str, cells: Sequence[str]) -> tuple[str, str]:
        """Return the decimal mark and the order of dates of a column, or raise where only later records show them."""
        decimal, dates = self.decimal, self.dates
        if not decimal.told:
            decimal = decimal_of(self.source, {name: cells}, self.separator)
        if not dates.told:
            dates = dates_of(self.source, {name: cells})
        for first, found, usual in ((self.decimal, decimal, POINT), (self.dates, dates, ISO)):
            if first.value == usual != found.value:
                what, why = "numbers" if found is decimal else "dates", "the first records show none of this kind"
                raise _asked(self.source.path, what, [name], why, found.key, f'"{found.value}"')
        return str(decimal.value), str(dates.value)


def _spelled(known: Sequence[str], decimal: str, order: str) -> Sequence[str] | None:
    """Return how all these cells are respelled, if they are numbers, or dates in one order."""
    if all(map(_NUMBER[decimal].fullmatch, known)):
        if _may_be_codes(known):
            return None
        return [re.sub(_BETWEEN[decimal], "", cell).replace(COMMA, POINT) for cell in known]
    for each in (order, DAY_FIRST, MONTH_FIRST)[: 1 if order == ISO else 3]:
        dates = [_iso(cell, each) for cell in known]
        if all(dates):
            return [date for date in dates if date]
    return None


def _may_be_codes(numbers: Collection[str]) -> bool:
    """Whether digits, plain blanks aside, are of places or phones for all we know: as many in each, or a zero ahead.

    >>> _may_be_codes(["1 234", "987"]), _may_be_codes(["110 001", "560 034"]), _may_be_codes(["1 234", "0987"])
    (False, True, True)
    """
    digits = [cell.replace(" ", "") for cell in numbers]
    coded = len(set(map(len, digits))) == 1 or any(each[0] == "0" != each for each in digits)
    return coded and all(map(str.isdecimal, digits))


def _named(cell: str) -> re.Match[str] | None:
    """Return the parts of a date whose month has a name, or None for what is none."""
    found = next((found for pattern in _WITH_NAMES if (found := pattern.fullmatch(cell))), None)
    return found if found is not None and month_of(found["month"]) else None


def _iso(cell: str, order: str) -> str | None:
    """Return a date as ISO 8601 has it, or None for what is no date in this order.

    >>> _iso("31.12.80 4:05 pm", DAY_FIRST), _iso("12/31/29", MONTH_FIRST), _iso("31/12/80", MONTH_FIRST)
    ('1980-12-31 16:05', '2029-12-31', None)
    """
    if (found := _YEAR.fullmatch(cell)) is not None:
        day, month = found["b"], found["a"]
    elif (found := _named(cell)) is not None:
        day, month = found["day"], str(month_of(found["month"]))
    else:
        found = _DAY_OR_MONTH.fullmatch(cell) if order != ISO else None
        if found is None:
            return cell if day_of(cell) else None
        if order == MONTH_FIRST and found["mark"] == ".":  # nobody writes months before points
            return None
        day, month = (found["a"], found["b"]) if order == DAY_FIRST else (found["b"], found["a"])
    year = int(found["year"])
    if len(found["year"]) == 2:
        year += 1900 if year >= CENTURY else 2000
    try:
        date = datetime.date(year, int(month), int(day)).isoformat()
        if found["hour"] is None:
            return date
        hour = int(found["hour"])
        if found["half"]:
            hour = hour % 12 + (12 if found["half"] in "Pp" else 0) if 1 <= hour <= 12 else 24
        time = datetime.time(hour, int(found["minute"])).isoformat("minutes")
    except ValueError:
        return None
    zone = "Z" if found["zone"] == "UTC" else found["zone"] or ""
    return f"{date} {time}{found['second'] or ''}{zone}"
