"""What the cells of a column look like, before anybody has said what they are."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.contents import is_json_object
from sfumato.data.dates import day_of
from sfumato.data.kinds import infer_kind, is_integer, value_type
from sfumato.data.names import plain
from sfumato.data.schema import Kind, Role
from sfumato.drafting.shapes import Names, Shape, names_in, shape_of

_SET_SEPARATORS = ("|", ";", ",", " ")
_CODE = re.compile(r"[A-Za-z]{0,4}\d[\w.]*", re.ASCII)
_WORDS_A_MEMBER = 3  # on average; with more, cells are sentences with commas
_ODD_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})", re.ASCII)
_LONG_CODE = re.compile(r"(?=(?:\D*\d){8})(?!(?:.*[A-Za-z]){5})[A-Za-z0-9 ./-]{8,24}", re.ASCII)
_DECIMALS = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_YEAR_AND_MONTH = re.compile(r"(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])", re.ASCII)
_MOST_CELLS = 5_000  # distinct cells looked at closely
_FEWEST_ROWS = 20  # below, numbers in order say little
_SOME_DIGITS, _LONG, _VERY_LONG = 5, 6, 7  # of numbers that are all different, that recur, and that few rows have
_OF_ACCOUNTS = 9  # digits
_FEWEST_CODES = 10  # distinct ones with signs between that number people
_SAME_LENGTH = 0.85  # share of numbers with as many digits: nine in ten of those drawn at random have
_LONGEST_SCALE = 25  # answers, with those that are none
_NINES = re.compile(r"9[6-9]|9{2,3}|99[6-9]|9999", re.ASCII)
_BELOW_ZERO = frozenset({-1, -2, -7, -8, -9, -77, -88, -99, -999})
_NO_ANSWER = frozenset(
    (
        *("unknown", "not known", "missing", "no answer", "not stated", "refused", "don't know"),
        *("unbekannt", "keine angabe", "k. a", "k.a", "weiss nicht"),
        *("inconnu", "inconnue", "non renseigne", "nsp"),
        *("desconocido", "desconocida", "no sabe", "ns/nc", "sin datos"),
        *("sconosciuto", "non noto", "non so"),
        *("onbekend", "weet niet"),
        *("desconhecido", "desconhecida", "nao sabe", "ignorado"),
    )
)


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a column looks like."""

    name: str
    kind: Kind
    rows: int
    labels: Sequence[str] = ()  # its values, without the markers of missing ones
    members: Sequence[str] = ()  # of its sets, each once
    counts: Sequence[int] = ()  # how often each of them occurs
    n_known: int = 0  # how many these are
    largest: float = 0.0  # share of the most frequent value, which may be that of missing ones
    gaps: bool = False  # whether some cells are missing
    separator: str | None = None  # between the members of set cells, where they are text
    odd_dates: bool = False  # dates, but not as ISO writes them
    compact_dates: bool = False  # dates as numbers, 20240531
    durations: bool = False  # numbers of seconds
    free_text: bool = False
    numbered: bool = False  # whole numbers, all different, without large gaps or with many digits
    long_numbers: bool = False  # numbers or codes with more digits than anybody measures or counts
    account_numbers: bool = False  # numbers with so many digits that they are those of accounts, cards or people
    shape: Shape | None = None  # what nearly all cells look like
    names: Names = Names.NO  # whether cells look like names of people
    lost: bool = False  # whether all its cells mean something else in a release: missing, or withheld
    unreadable: str = ""  # the type of cells that are neither text nor numbers nor dates nor lists of these
    odd_codes: tuple[str, ...] = ()  # numbers that look like codes for missing values, such as -9 on a scale of 1 to 5

    @property
    def unique(self) -> float:
        """Distinct values over rows."""
        return self.n_known / max(self.rows, 1)

    @property
    def dated(self) -> bool:
        """Whether its cells are dates, however they are written."""
        return self.kind is Kind.DATE or self.odd_dates or self.compact_dates

    @property
    def n_values(self) -> int:
        """Distinct values, a missing one among them: a box that is ticked or not has two."""
        return self.n_known + self.gaps

    @classmethod
    def of_lists(cls, name: str, rows: int, members: Sequence[str]) -> Look:
        """Return what a column of lists looks like."""
        return cls(name=name, kind=Kind.SET, rows=rows, members=members)


def look_at(
    name: str, codes: NDArray[np.int32], labels: Sequence[str], markers: Sequence[str], found_type: pa.DataType
) -> Look:
    """Return what a column of single cells looks like; `labels` are its distinct cells, missing ones among them."""
    hidden = set(markers)
    counted = np.bincount(codes, minlength=len(labels) + 1)
    known = [(label, int(count)) for label, count in zip(labels, counted[:-1], strict=True) if label not in hidden]
    values = [label for label, _ in known]
    kind = infer_kind(values, value_type(found_type))
    rows = int(codes.size)
    unique = len(known) / max(rows, 1)
    absent = rows - sum(count for _, count in known)
    some = values[:_MOST_CELLS]
    durations = pa.types.is_duration(value_type(found_type))  # which number nobody
    counts = [count for _, count in known]
    separator = set_separator(some) if kind is Kind.CATEGORY and not any(map(is_json_object, some)) else None
    shape = shape_of(values, unique, numbers=kind is Kind.NUMBER) if separator is None else None
    if shape is not None and shape.role is Role.SENSITIVE:  # codes, although a point is in them
        kind = Kind.CATEGORY
    words = kind is Kind.CATEGORY and separator is None
    return Look(
        name=name,
        kind=Kind.SET if separator else kind,
        rows=rows,
        labels=values,
        members=members_of(values, separator) if separator else (),
        counts=counts,
        n_known=len(known),
        largest=max([absent, *counts]) / max(rows, 1),
        gaps=absent > 0,
        separator=separator,
        odd_dates=words and bool(known) and all(_ODD_DATE.fullmatch(label) for label in values),
        compact_dates=kind is Kind.NUMBER and len(known) > 2 and all(map(_is_compact_date, values)),
        durations=durations,
        free_text=words and _is_free_text(some, unique),
        numbered=kind is Kind.NUMBER and not durations and _numbers_rows(*_answers(known)),
        long_numbers=_are_long(*_answers(known[:_MOST_CELLS]), _LONG)
        if kind is Kind.NUMBER and not durations
        else words and _are_long_codes(some),
        account_numbers=kind is Kind.NUMBER and _are_long(*_answers(known[:_MOST_CELLS]), _OF_ACCOUNTS),
        shape=shape,
        names=names_in(values, unique) if words else Names.NO,
        odd_codes=_odd_codes(values, counts) if kind is Kind.NUMBER else _odd_words(values) if words else (),
    )


def set_separator(labels: Sequence[str]) -> str | None:
    """Return what stands between the members of set cells, if cells look like sets: members recur, places do not count.

    >>> set_separator(["fever|cough", "cough", "ache|fever|cough", "ache"])
    '|'
    >>> set_separator(["Smith, Ann", "Smith, Bob", "Jones, Ann", "Jones, Bob"]) is None
    True
    """
    for separator in _SET_SEPARATORS:
        cells = [[part.strip() for part in label.split(separator)] for label in labels]
        joined = [cell for cell in cells if len(cell) > 1]
        if len(joined) < max(2, len(labels) // 5):
            continue
        parts = [part for cell in cells for part in cell]
        if not all(parts) or len(set(parts)) > 0.7 * len(parts):
            continue
        if sum(len(part.split()) for part in parts) > _WORDS_A_MEMBER * len(parts):
            continue
        sizes = {len(cell) for cell in cells}
        if separator == " " and not all(map(_CODE.fullmatch, parts)):
            continue
        if len(sizes) == 1:  # always as many: two halves of one thing, unless members change places
            places = [{cell[place] for cell in cells} for place in range(sizes.pop())]
            if all(map(_DECIMALS.fullmatch, parts)) or not places[0] & places[-1]:
                continue
        if separator == "," and len(sizes) <= 2 and all(map(_DECIMALS.fullmatch, parts)):
            continue  # decimal commas, or thousands
        return separator
    return None


def members_of(labels: Sequence[str], separator: str) -> list[str]:
    """Return the members of set cells, each once."""
    return list(dict.fromkeys(part.strip() for label in labels for part in label.split(separator)))


def _is_compact_date(label: str) -> bool:
    if len(label) != 8 or not label.isdecimal() or label[:2] not in ("18", "19", "20"):
        return False
    return day_of(f"{label[:4]}-{label[4:6]}-{label[6:]}") not in (None, datetime.date.min)


def _is_free_text(labels: Sequence[str], unique: float) -> bool:
    """Whether cells are sentences: many words, hardly any twice."""
    if not labels or unique < 0.3:
        return False
    words = sum(len(label.split()) for label in labels) / len(labels)
    return words >= 5


def _answers(known: Sequence[tuple[str, int]]) -> tuple[list[str], list[int]]:
    """Return numbers and how often each occurs, without those that stand for no answer wherever they are."""
    kept = [(label, count) for label, count in known if not _is_below_zero(label)]
    return [label for label, _ in kept], [count for _, count in kept]


def _numbers_rows(labels: Sequence[str], counts: Sequence[int]) -> bool:
    """Whether whole numbers count the rows through, or are so many and so long that they can only name files.

    >>> _numbers_rows([str(1000 + 37 * row) for row in range(50)], [1] * 50)
    True
    """
    rows = sum(counts)
    if len(labels) < 0.95 * rows or not all(map(_is_whole, labels)):
        return False
    if rows < _FEWEST_ROWS:
        return rows >= 3 and _are_long(labels, counts, _VERY_LONG)
    numbers = sorted(map(_whole, labels))
    step = math.gcd(*(number - numbers[0] for number in numbers))
    if len(labels) >= 0.999 * rows and numbers[-1] - numbers[0] < 2 * rows * step:
        return True
    return _are_long(labels, counts, _SOME_DIGITS)


def _are_long(labels: Sequence[str], counts: Sequence[int], digits: int) -> bool:
    """Whether whole numbers have many digits, nearly all as many, and are not round: those of people or things.

    >>> _are_long(["378585173", "982058353"], [3, 2], 6), _are_long(["325000", "410000"], [3, 2], 6)
    (True, False)
    """
    if not all(map(_is_whole, labels)) or all(map(_YEAR_AND_MONTH.fullmatch, labels)):
        return False
    rows_of: Counter[int] = Counter()
    round_ones = 0
    for label, count in zip(labels, counts, strict=True):
        number = str(_whole(label))
        rows_of[len(number)] += count
        round_ones += number[-1] == "0"
    ((length, rows),) = rows_of.most_common(1) or [(0, 0)]
    return length >= digits and rows >= _SAME_LENGTH * sum(counts) and round_ones < len(labels) / 2


def _are_long_codes(labels: Sequence[str]) -> bool:
    """Whether cells are many digits with signs between, all written in one way, and no ranges or days.

    A few of them are rather places.

    >>> _are_long_codes([f"600 077 6{number}" for number in range(10, 20)]), _are_long_codes(["01001000", "01051011"])
    (True, False)
    """
    codes = [label.strip() for label in labels]
    if len(codes) < _FEWEST_CODES or not all(map(_LONG_CODE.fullmatch, codes)) or all(map(_is_range_or_day, codes)):
        return False
    ways = Counter(re.sub(r"\d", "9", re.sub(r"[A-Za-z]", "A", code)) for code in codes)
    return max(ways.values()) >= _SAME_LENGTH * len(codes)


def _is_range_or_day(code: str) -> bool:
    """Whether digits are a range of numbers or years, or a day.

    >>> _is_range_or_day("2019/2020"), _is_range_or_day("2019/05/31"), _is_range_or_day("300-0878079")
    (True, True, False)
    """
    first, _, last = re.sub(r" ?[-/] ?", "-", code).partition("-")
    if first.isdecimal() and last.isdecimal():
        return int(first) <= int(last) and len(last) - len(first) in (0, 1)
    return _ODD_DATE.match(code) is not None or re.match(r"\d{4}[./-]\d{1,2}[./-]\d{1,2}\b", code) is not None


def _is_whole(label: str) -> bool:
    """Whether a number has no decimals, also where a float spells it.

    >>> _is_whole("1.2345678901e+10"), _is_whole("12.5"), _is_whole("-3")
    (True, False, False)
    """
    return label.isdecimal() or (float(label) >= 0 and float(label).is_integer())


def _whole(label: str) -> int:
    return int(label) if label.isdecimal() else int(Decimal(label))


def _odd_words(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the cells among words that rather stand for no answer: a word for it in seven languages, or -9.

    >>> _odd_words(["m", "w", "Unbekannt", "-9"]), _odd_words(["-9", "-8", "unknown"])
    (('Unbekannt', '-9'), ())
    """
    odd = [label for label in labels if plain(label.strip()).rstrip(".") in _NO_ANSWER or _is_below_zero(label)]
    return tuple(odd) if len(labels) - len(odd) >= 2 else ()


def _is_below_zero(label: str) -> bool:
    return is_integer(label) and int(label) in _BELOW_ZERO


def _odd_codes(labels: Sequence[str], counts: Sequence[int]) -> tuple[str, ...]:
    """Return the numbers that rather stand for no answer: below zero alone, or nines far above.

    On a short scale one cell is enough; among measurements it must be one of the most frequent numbers.

    >>> _odd_codes(["1", "2", "3", "4", "5", "-9", "99"], [1] * 7), _odd_codes(["0", "10", "99", "55", "98"], [1] * 5)
    (('-9', '99'), ())
    >>> _odd_codes([*(f"{50 + kilos / 7:.1f}" for kilos in range(60)), "-9"], [2] * 60 + [9])
    ('-9',)
    """
    numbers = {float(label): (label, count) for label, count in zip(labels, counts, strict=True)}
    scale = [number for number in numbers if number >= 0 and not _is_nines(number)]
    if len(scale) < 2:
        return ()
    often = 1
    if len(labels) > _LONGEST_SCALE or not all(map(is_integer, labels)):
        often = max(3, *(numbers[number][1] for number in scale))
    odd = [number for number in numbers if number in _BELOW_ZERO and min(scale) >= 0]
    odd += [number for number in numbers if _is_nines(number) and number > 3 * max(scale)]
    return tuple(numbers[number][0] for number in sorted(odd) if numbers[number][1] >= often)


def _is_nines(number: float) -> bool:
    return number.is_integer() and _NINES.fullmatch(str(int(number))) is not None
