"""Exact figures in print: people's own bounds expose them; round ones, shared ones and public labels do not."""

import pyarrow as pa
import pytest

from sfumato.attacks import Asked, PrintedFigures
from sfumato.data.builders import Widths
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema

PAY = ["18213", "19877", "24000", "31344", "31344", "9007199254740993"]


def table(values, hierarchy=None):
    spec = ColumnSpec(name="pay", role=Role.QUASI_IDENTIFIER, hierarchy=hierarchy)
    return Release.from_table(pa.table({"pay": values}), Schema({"pay": spec}, missing=("",)))


@pytest.mark.parametrize(
    ("labels", "in_print", "exposed"),
    [
        (["[18213, 24000]", "[31344, 9007199254740993]"], 5, 3),
        (["[18000, 24999]", "[25000, 9007199254740992]", "*"], 0, 0),  # a neighbour of a huge number is another number
        (["[18213.0, 20000)", "{19877|1}", "31344"], 4, 2),
        (["[1, 2]", ""], 0, 0),
    ],
)
def test_people_count_whose_own_figure_is_a_bound_or_stands_alone(labels, in_print, exposed):
    people = table(PAY)
    (attack,) = PrintedFigures.suited_to(table(labels), Asked(original=people))

    found = attack.on(table(labels))

    assert (found.facts["in_print"], found.exposed, found.people) == ({"pay": in_print}, exposed, 6)
    assert (attack.on(people).exposed, attack.about) == (4, ("pay",))
    assert attack.guess(people).worst == 1 / 6


def test_labels_of_the_hierarchy_were_known_before():
    people = table(PAY[:3], Widths([6000]))
    (attack,) = PrintedFigures.suited_to(people, Asked(original=people))

    assert attack.on(table(["[18000, 23999]", "[24000, 29999]"])).exposed == 0
    assert attack.on(table(["[18000, 23999]", "[24000, 29998]"])).exposed == 1


def test_days_are_figures_and_without_the_original_there_is_nothing_to_find():
    days = ["2024-05-03", "2024-05-09", "2024-06-30"]
    shown = table(["[2024-05-01, 2024-05-09]", "2024-06-30"])
    (attack,) = PrintedFigures.suited_to(shown, Asked(original=table(days)))

    assert attack.on(shown).exposed == 2
    assert list(PrintedFigures.suited_to(shown, Asked())) == []
