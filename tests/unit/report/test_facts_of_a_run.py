"""The page against facts as models and metrics really state them: whoever renames a fact learns it here."""

from sfumato.report import pictures, promises, verdict
from sfumato.report.page import PARTS, render
from sfumato.report.text import summary


def test_every_part_is_there(real):
    page = render(real)

    for name in PARTS:
        assert (f'<section id="{name}"' in page) == (name not in ("randomized", "masks"))
    assert "could not be shown" not in page


def test_every_column_has_a_picture(real):
    titles = [picture.title for picture in pictures.content(real)["pictures"]]

    assert titles == ["age", "zip", "stage", "job", "symptoms", "disease"]


def test_every_measurement_with_parts_has_a_picture(real):
    titles = [picture.title for part in ("risks", "losses") for picture in PARTS[part].content(real)["pictures"]]

    assert titles == [
        "Finding a person again",
        "Which columns single people out",
        "How many look alike",
        "Detail lost, by column",
        "What an analyst would compute",
        "Error of random counts",
        "Predicting job",
    ]


def test_no_figure_of_a_picture_is_unknown(real):
    pictures = [
        picture for part in ("risks", "losses", "pictures") for picture in PARTS[part].content(real)["pictures"]
    ]
    unknown = {
        (picture.title, row[0]) for picture in pictures for row in picture.table.rows if "\N{EN DASH}" in row[1:]
    }

    assert unknown == set()


def test_key_figures_come_from_the_measurements(real):
    names = [key["name"] for key in verdict.content(real)["figures"]]

    assert names == [
        "rows in",
        "rows out",
        "classes that look alike",
        "rows in the smallest class",
        "of the detail of quasi-identifiers lost",
        "highest risk to be found",
    ]


def test_cards_show_parameters_and_nothing_else_as_such(real):
    cards = promises.content(real)

    assert [card["parameters"] for card in cards] == [
        [("k", "5")],
        [("sensitive", "job"), ("l", "2"), ("kind", "distinct")],
        [("sensitive", "disease"), ("t", "0.5"), ("distance", "equal")],
    ]
    assert all(card["gauge"] and card["promise"] and card["limit"] for card in cards)


def test_the_terminal_gets_the_same_verdict(real):
    assert verdict.one_sentence(real)[1].split()[0] in summary(real)
