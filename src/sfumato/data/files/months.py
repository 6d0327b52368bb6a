"""Names of months in English, German, French, Spanish, Italian, Dutch and Portuguese, in full and cut short."""

from __future__ import annotations

import unicodedata

_NAMES = (
    "january jan januar janner jaenner janvier janv enero ene gennaio gen januari janeiro",
    "february feb februar fevrier fevr fev febrero febbraio februari fevereiro",
    "march mar marz maerz mrz mars marzo maart maa mrt marco",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag mei maio",
    "june jun juni juin junio giugno giu junho",
    "july jul juli juillet juil julio luglio lug julho",
    "august aug aout aou agosto ago augustus",
    "september sep sept septembre septiembre setiembre settembre set setembro",
    "october oct oktober okt octobre octubre ottobre ott outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez decembre diciembre dic dicembre dezembro",
)
_NUMBER = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}


def month_of(word: str) -> int | None:
    """Return the number of a month by its name, whatever its capitals and accents; None for other words.

    >>> month_of("MÄRZ"), month_of("août"), month_of("sept"), month_of("moon")
    (3, 8, 9, None)
    """
    letters = unicodedata.normalize("NFKD", word.casefold())
    return _NUMBER.get("".join(letter for letter in letters if not unicodedata.combining(letter)))
