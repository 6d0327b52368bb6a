"""What cells are by their shape alone: addresses of people, numbers of persons, codes of diseases and drugs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.data.schema import Role
from sfumato.drafting.words import is_first_name

_ENOUGH = 0.9  # share of the cells that must have a shape
_LOOKED_AT = 2_000  # distinct cells
_FEW = 3  # distinct cells below which a shape says nothing
_NAME = re.compile(r"[^\W\d_]['\u2019\u00b4.\w-]*(?:[ ,]+[^\W\d_]['\u2019\u00b4.\w-]*){0,4}")
_TITLED = re.compile(
    r"(?:dr|prof|mr|mrs|ms|miss|sir|herr|frau|hr|fr|mme|mlle|sr|sra|don|dott|dra|sig|dhr|mevr|med)\.? +"
    r"[^\W\d_].*",
    re.IGNORECASE,
)
_FEWEST_NAMES = 20  # distinct words that begin with a capital and might be names, where none is a known first name


@dataclass(frozen=True)
class Shape:
    """What cells of a shape are, and the role that this speaks for."""

    what: str
    role: Role
    pattern: re.Pattern[str]
    mostly_different: bool = False  # the shape alone is weak: cells must differ as those of people do


def _shape(what: str, role: Role, pattern: str, *, mostly_different: bool = False) -> Shape:
    return Shape(what, role, re.compile(pattern, re.ASCII), mostly_different)


SHAPES = (
    _shape("e-mail addresses", Role.IDENTIFIER, r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    _shape("web addresses", Role.IDENTIFIER, r"(?:https?://|www\.)\S+"),
    _shape("IBANs", Role.IDENTIFIER, r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?"),
    _shape("UUIDs", Role.IDENTIFIER, r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    _shape("network addresses", Role.IDENTIFIER, r"(?:\d{1,3}\.){3}\d{1,3}"),
    _shape("social security numbers", Role.IDENTIFIER, r"\d{3}-\d{2}-\d{4}"),
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
    _shape("ICD-10 codes", Role.SENSITIVE, r"[A-Z]\d[0-9A-B](?:\.?[0-9A-Z]{1,4})?[-+*!]?"),
    _shape("ICD-9 codes", Role.SENSITIVE, r"(?:V\d{2}|E\d{3}|\d{3})\.\d{1,2}|V\d{2}|E\d{3}"),
    _shape("LOINC codes", Role.SENSITIVE, r"\d{3,5}-\d"),
    _shape(
        "postal codes",
        Role.QUASI_IDENTIFIER,
        r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4} ?[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d",
    ),
    _shape("postal codes", Role.QUASI_IDENTIFIER, r"(?:[A-Z]{1,2}-)\d{4,5}|\d{5}-\d{3,4}|\d{4}-\d{3}"),
)


def shape_of(labels: Sequence[str], unique: float, *, numbers: bool = False) -> Shape | None:
    """Return the shape that nearly all cells have; numbers may be those of a person, but are no codes.

    >>> shape_of(["ann@a.org", "bob@b.org", "cy@c.org"], 1.0).what
    'e-mail addresses'
    >>> shape_of(["E11.9", "J45.1", "C34.9"], 0.1).what
    'ICD-10 codes'
    >>> shape_of(["1.5", "2.5", "3.75"], 0.1) is None
    True
    """
    some = labels[:_LOOKED_AT]
    if len(some) < _FEW:
        return None
    for shape in SHAPES:
        if (shape.mostly_different and unique < 0.2) or (numbers and shape.role is not Role.IDENTIFIER):
            continue
        if sum(bool(shape.pattern.fullmatch(label.strip())) for label in some) >= _ENOUGH * len(some):
            return shape
    return None


def looks_like_names(labels: Sequence[str], unique: float) -> bool:
    """Whether words may be names of people: with titles, known first names, or many capitals that hardly recur.

    >>> looks_like_names(["Ann Smith", "Jones, Peter", "Maria Lopez"], 0.1)
    True
    >>> looks_like_names(["low", "high", "medium"], 0.1)
    False
    """
    some = [label.strip() for label in labels[:_LOOKED_AT]]
    if len(some) >= _FEW and sum(bool(_TITLED.fullmatch(label)) for label in some) >= _ENOUGH * len(some):
        return True
    words = [label for label in some if _NAME.fullmatch(label)]
    if not words or len(words) < _ENOUGH * len(some):
        return False
    known = sum(map(is_first_name, words))
    if known >= 3 and known >= 0.3 * len(words):
        return True
    capitals = sum(label[0].isupper() for label in words)
    return len(words) >= _FEWEST_NAMES and unique >= 0.05 and capitals >= _ENOUGH * len(words)
