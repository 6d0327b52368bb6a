import pytest

from sfumato.report.text import summary


def test_verdicts_come_with_required_and_reached(facts):
    lines = summary(facts).splitlines()

    assert lines[0] == "Every one of 3 requirements holds: 392 rows may leave the house."
    assert "holds  k-anonymity (k=5)" in lines
    assert "required at least 5" in summary(facts)
    assert "holds  t-closeness of disease (t=0.5, distance=equal)" in lines


def test_losses_are_there(facts):
    shown = summary(facts)

    assert all(title in shown for title in ("Detail lost", "Rows dropped", "Error of counts", "Risk of being found"))


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_it_fits_the_terminal_and_nothing_is_cut_off(facts, width):
    facts["verdicts"] *= 8
    facts["verdicts"][3] = facts["verdicts"][3] | {"sensitive": "a column with a very long name " * 4}
    facts["measurements"][0]["facts"]["columns"][0]["name"] = "x" * 300

    shown = summary(facts, width)

    assert max(map(len, shown.splitlines())) <= width
    assert sum(line.startswith("holds  ") for line in shown.splitlines()) == 24  # every requirement
    together = "".join(shown.split())
    assert "acolumnwithaverylongname" * 4 in together
    assert "x" * 300 in together


def test_a_wide_terminal_is_used(facts):
    facts["verdicts"][0]["measure"] = "a measure with rather many words in its name " * 2

    assert len(summary(facts, 140).splitlines()) < len(summary(facts, 80).splitlines())


def test_a_broken_requirement_is_never_left_out(facts):
    facts["verdicts"] = facts["verdicts"] * 8
    facts["verdicts"][-1] = facts["verdicts"][-1] | {"satisfied": False, "reached": 0.7}

    lines = summary(facts).splitlines()

    assert lines[0].startswith("1 of 24 requirements does not hold")
    assert any(line.startswith("FAILS  t-closeness") for line in lines)


def test_plain_characters_only(facts):
    facts["measurements"][0]["before"] = None

    assert summary(facts).isascii()


def test_a_name_cannot_steer_the_terminal(facts):
    facts["verdicts"][1]["sensitive"] = "job\x1b[2J\r\n"

    assert all(line.isprintable() for line in summary(facts).split("\n"))


@pytest.mark.parametrize("facts", [{}, {"verdicts": None, "measurements": [{}], "timings": [{}]}])
def test_missing_facts_are_no_error(facts):
    assert "nothing is promised" in summary(facts)
