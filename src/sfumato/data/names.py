"""What the names of columns say: words in them, whatever the case, the accents and the way words are joined."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence


def plain(text: str) -> str:
    """Return a text in small letters without accents.

    >>> plain("Größe"), plain("Prénom"), plain("Nationalität")
    ('groesse', 'prenom', 'nationalitaet')
    """
    for letter, spelled in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("ø", "o"), ("æ", "ae")):
        text = text.replace(letter, spelled).replace(letter.upper(), spelled)
    return "".join(part for part in unicodedata.normalize("NFKD", text) if not unicodedata.combining(part)).lower()


def listed(names: Sequence[str]) -> list[str]:
    """Return names as a list; a text is one name, although it is a sequence of letters.

    >>> listed(("age", "sex")), listed("age")
    (['age', 'sex'], ['age'])
    """
    return [names] if isinstance(names, str) else list(names)


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once.

    >>> repeated(["age", "sex", "age"])
    ['age']
    """
    return [name for name, count in Counter(names).items() if count > 1]


def words_of(name: str) -> list[str]:
    """Return the words of a column's name in their order, in small letters without accents.

    >>> words_of("probation_officer"), words_of("Médico de base"), words_of("patientId2")
    (['probation', 'officer'], ['medico', 'de', 'base'], ['patient', 'id', '2'])
    """
    whole = unicodedata.normalize("NFKC", name)
    return [plain(part) for part in re.findall(r"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+|\d+", whole)]


def mentions(name: str, words: str) -> bool:
    """Whether one of the words is in a column's name, as a part of it or, if it is long, of a longer word.

    >>> mentions("patientId", "id"), mentions("language", "age"), mentions("Hauptdiagnose", "diagnose")
    (True, False, True)
    """
    whole = unicodedata.normalize("NFKC", name)
    found = {*words_of(name), re.sub(r"[^a-z0-9]", "", plain(whole))}
    return any(
        word in found
        or (len(word) >= 5 and any(part.startswith(word) for part in found))
        or (len(word) >= 6 and any(word in part for part in found))
        for word in words.split()
    )
