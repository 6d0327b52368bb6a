"""What cells are by their shape alone: addresses of people, numbers of persons, codes of diseases and drugs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sfumato.data.files.months import month_of
from sfumato.data.schema import Role
from sfumato.drafting.words import is_everyday, is_first_name

_ENOUGH = 0.9  # share of the cells that must have a shape
_OF_MONTHS = 0.75  # share of the cells that are names of months, where the others say that there was none
_LOOKED_AT = 2_000  # distinct cells
_FEW = 3  # distinct cells below which a shape says nothing
_DOTTED = 0.3  # share of the codes of diseases that go into detail behind a point
_CHAPTERS = 5  # different letters that codes of diseases begin with, where none has a point
_WORD = r"[^\W\d_](?:['\u2019\u00b4.-]|[^\W\d_])*"
_PARTICLES = re.compile(  # small words that surnames begin with
    r"^(?:(?:van|von|vom|zu|zum|zur|de|da|di|do|dos|das|du|del|della|dalla|der|den|ter|ten|te|af|av|bin|ibn|al|el|la|le|in"
    r") |(?:d|l|'t|'s)['\u2019 ])+(?=[^\W\d_a-z])"
)
_NAME = re.compile(rf"{_WORD}(?:[ ,]+{_WORD}){{0,4}}")
_TITLED = re.compile(
    r"(?:dr|prof|mr|mrs|ms|miss|sir|herr|frau|hr|fr|mme|mlle|sr|sra|don|dott|dra|sig|dhr|mevr|med)\.? +"
    r"[^\W\d_].*",
    re.IGNORECASE,
)
_INITIALS = re.compile(r"[A-Z]\.?|(?:[A-Z]\. ?){2,4}|(?:[A-Z] ){1,3}[A-Z]")
_FEWEST_INITIALS = 10  # distinct ones: fewer letters may be groups or marks
_FEWEST_NAMES = 20  # distinct words that begin with a capital and might be names, where none is a known first name


@dataclass(frozen=True)
class Shape:
    """What cells of a shape are, and the role that this speaks for."""

    what: str
    role: Role
    pattern: re.Pattern[str]
    mostly_different: bool = False  # the shape alone is weak: cells must differ as those of people do
    besides: Callable[[Sequence[str]], bool] | None = None  # what else must hold of cells of this shape
    numbers: bool = False  # whether cells that are all numbers may have it


def _shape(what: str, role: Role, pattern: str, **more: Any) -> Shape:
    return Shape(what, role, re.compile(pattern, re.ASCII), **{"numbers": role is Role.IDENTIFIER, **more})


def _are_diseases(labels: Sequence[str]) -> bool:
    """Whether codes are of ICD-10 rather than rooms, or numbers of people behind one letter.

    >>> _are_diseases(["P0012", "P0013", "P0771"]), _are_diseases(["C34.1", "C50.9"])
    (False, True)
    """
    return _are_detailed(labels) or len({label[0] for label in labels}) >= _CHAPTERS


def _are_not_measured(labels: Sequence[str]) -> bool:
    """Whether codes of ICD-9 are no measurements: some have letters, or zeros where numbers have none.

    >>> _are_not_measured(["250.00", "401.9", "486"]), _are_not_measured(["120.5", "133.0", "118.5"])
    (True, False)
    """
    decimals = {len(label.partition(".")[2]) for label in labels}
    lettered = any(label[0].isalpha() for label in labels)
    padded = len(decimals) > 1 and any(label[0] == "0" or ("." in label and label[-1] == "0") for label in labels)
    return _are_detailed(labels) and (lettered or padded)


def _are_detailed(labels: Sequence[str]) -> bool:
    return sum("." in label for label in labels) >= _DOTTED * len(labels)


def _are_of_both_parents(labels: Sequence[str]) -> bool:
    """Whether pairs of letters are what both parents gave: the same, of some people, and of others not.

    >>> _are_of_both_parents(["AA", "AG", "GG"]), _are_of_both_parents(["CA", "GA", "CT"])
    (True, False)
    """
    return {label[0] == label[-1] for label in labels} == {True, False}


def _have_check_digits(labels: Sequence[str]) -> bool:
    """Whether the last digits of codes are those that LOINC puts behind them to notice slips.

    >>> _have_check_digits(["718-7", "2345-7", "4548-4"]), _have_check_digits(["718-3", "2345-1", "4548-9"])
    (True, False)
    """
    right = 0
    for label in labels:
        digits = [int(digit) for digit in label if digit.isdecimal()]
        doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
        right += (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
    return right >= _ENOUGH * len(labels)


SHAPES = (
    _shape("e-mail addresses", Role.IDENTIFIER, r"[^@\s]+@[^@\s]+\.[A-Z]{2,}"),
    _shape("web addresses", Role.IDENTIFIER, r"(?:HTTPS?://|WWW\.)\S+"),
    _shape("IBANs", Role.IDENTIFIER, r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?"),
    _shape("UUIDs", Role.IDENTIFIER, r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}"),
    _shape("network addresses", Role.IDENTIFIER, r"(?:\d{1,3}\.){3}\d{1,3}"),
    _shape(
        "social security numbers",
        Role.IDENTIFIER,
        r"\d{3}-\d{2}-\d{4}|756\.\d{4}\.\d{4}\.\d{2}|\d{6}[-+A]\d{3}[0-9A-Y]",
    ),
    _shape(
        "social security numbers", Role.IDENTIFIER, r"\d{2} ?\d{6} ?[A-Z] ?\d{3}|[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]"
    ),
    _shape("social security numbers", Role.IDENTIFIER, r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}|\d{2}[/ -]\d{8}[/ -]\d{2}"),
    _shape("social security numbers", Role.IDENTIFIER, r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3}(?: ?\d{2})?"),
    _shape("tax numbers", Role.IDENTIFIER, r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"),
    _shape("tax numbers", Role.IDENTIFIER, r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
    _shape("identity card numbers", Role.IDENTIFIER, r"[XYZ]?\d{7,8}-?[A-Z]", mostly_different=True),
    _shape(
        "insurance numbers", Role.IDENTIFIER, r"(?:\d{2} ?\d{6} ?)?[A-Z] ?\d{3} ?\d{3} ?\d{3}", mostly_different=True
    ),
    _shape("phone numbers", Role.IDENTIFIER, r"(?=(?:\D*\d){7})(?:\+|00?|\()[\d ()/.-]{6,20}", mostly_different=True),
    _shape("phone numbers", Role.IDENTIFIER, r"\d{3}[-. ]\d{3}[-. ]\d{4}"),
    _shape("ATC codes of drugs", Role.SENSITIVE, r"[A-DGHJL-NPRSV]\d{2}(?:[A-Z]{2}\d{2}|[A-Z]{1,2})"),
    _shape(
        "ICD-10 codes",
        Role.SENSITIVE,
        r"[A-Z]\d[0-9A-B](?:\.?[0-9A-Z]{1,4})?[-+*!]?(?: [AGVZ])?",
        besides=_are_diseases,
    ),
    _shape(
        "ICD-9 codes", Role.SENSITIVE, r"(?:V\d{2}|E\d{3}|\d{3})(?:\.\d{1,2})?", besides=_are_not_measured, numbers=True
    ),
    _shape("codes of tumours", Role.SENSITIVE, r"[89]\d{3}/[0-369]"),
    _shape("codes of procedures", Role.SENSITIVE, r"[1-9]-\d{2}[0-9A-Z](?:\.[0-9A-Z]{1,2})?", besides=_are_detailed),
    _shape("genotypes", Role.SENSITIVE, r"[ACGT][/|]?[ACGT]", besides=_are_of_both_parents),
    _shape("LOINC codes", Role.SENSITIVE, r"\d{3,5}-\d", besides=_have_check_digits),
    _shape(
        "postal codes",
        Role.QUASI_IDENTIFIER,
        r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4} ?[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d",
    ),
    _shape("postal codes", Role.QUASI_IDENTIFIER, r"(?:[A-Z]{1,2}-)\d{4,5}|\d{5}-\d{3,4}|\d{4}-\d{3}"),
)


def shape_of(labels: Sequence[str], unique: float, *, numbers: bool = False) -> Shape | None:
    """Return the shape that nearly all cells have; numbers may be those of a person, but are hardly ever codes.

    >>> shape_of(["ann@a.org", "bob@b.org", "cy@c.org"], 1.0).what
    'e-mail addresses'
    >>> shape_of(["E11.9", "J45.1", "C34.9"], 0.1).what
    'ICD-10 codes'
    >>> shape_of(["1.5", "2.5", "3.75"], 0.1) is None
    True
    """
    some = [label.strip().upper() for label in labels[:_LOOKED_AT]]
    if not some:
        return None
    for shape in SHAPES:
        if (shape.mostly_different and unique < 0.2) or (numbers and not shape.numbers):
            continue
        if len(some) < _FEW and shape.role is not Role.IDENTIFIER:  # a code or two may be anything, an address is one
            continue
        fitting = [label for label in some if shape.pattern.fullmatch(label)]
        if len(fitting) >= _ENOUGH * len(some) and (shape.besides is None or shape.besides(fitting)):
            return shape
    return None


class Names(IntEnum):
    """Whether words are names of people, the surest last."""

    NO = 0
    PERHAPS = 1  # each begins with a capital and is no everyday word: who knows six surnames from six wards?
    LIKELY = 2  # many of these, which hardly recur, or of initials
    SURELY = 3  # with titles, or known first names


def names_in(labels: Sequence[str], unique: float) -> Names:
    """Return whether words are names of people.

    >>> names_in(["Ann Smith", "Jones, Peter", "Maria Lopez"], 0.1).name
    'SURELY'
    >>> names_in(["Yilmaz", "von Stetten"], 0.01).name, names_in(["Often", "Rarely", "Once"], 0.01).name
    ('PERHAPS', 'NO')
    """
    some = [_PARTICLES.sub("", label.strip()) for label in labels[:_LOOKED_AT]]
    if sum(month_of(label) is not None for label in some) >= _OF_MONTHS * len(some):
        return Names.NO
    if some and sum(bool(_TITLED.fullmatch(label)) for label in some) >= _ENOUGH * len(some):
        return Names.SURELY
    if len(some) >= _FEWEST_INITIALS and all(map(_INITIALS.fullmatch, some)):
        return Names.LIKELY
    words = [label for label in some if _NAME.fullmatch(label)]
    if not words or len(words) < _ENOUGH * len(some):
        return Names.NO
    known = sum(map(is_first_name, words))
    if known >= _FEW and known >= 0.3 * len(words):
        return Names.SURELY
    capitals = sum(label[0].isupper() for label in words)
    if len(words) >= _FEWEST_NAMES and unique >= 0.05 and capitals >= _ENOUGH * len(words):
        return Names.LIKELY
    named = sum(_is_capitalized(label) for label in words)
    return Names.PERHAPS if named >= _ENOUGH * len(some) and not any(map(is_everyday, some)) else Names.NO


def _is_capitalized(label: str) -> bool:
    """Whether a word begins with a capital and is no abbreviation.

    >>> _is_capitalized("Meyer"), _is_capitalized("MEYER"), _is_capitalized("AOK"), _is_capitalized("meyer")
    (True, True, False, False)
    """
    letters = [character for character in label if character.isalpha()]
    return label[0].isupper() and len(letters) > 1 and (len(letters) > 3 or any(map(str.islower, letters)))
