"""Months by their names, as calendars of seven languages have them."""

import pytest

from sfumato.data.files.months import month_of

CALENDARS = {
    "English": "January February March April May June July August September October November December",
    "German": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "French": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "Spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "Italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "Dutch": "januari februari maart april mei juni juli augustus september oktober november december",
    "Portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
}


@pytest.mark.parametrize("language", CALENDARS)
def test_names_are_known_in_full_and_by_three_letters_that_no_other_month_has(language):
    names = CALENDARS[language].split()
    assert [month_of(name) for name in names] == list(range(1, 13))
    assert [month_of(name.upper()) for name in names] == list(range(1, 13))
    short = [name[:3] for name in names]
    told = [number if short.count(name) == 1 else None for number, name in enumerate(short, start=1)]
    assert [month_of(name) for name in short] == told


def test_other_words_are_no_months():
    assert [month_of(word) for word in ("", "moon", "day", "sun", "x")] == [None] * 5
