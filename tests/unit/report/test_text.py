import pytest

from sfumato.report.text import summary


def test_verdicts_come_with_required_and_reached(facts):
    lines = summary(facts).splitlines()

    assert lines[0] == "Every one of 3 requirements holds: 392 rows may leave the"
    assert "holds  k-anonymity (k=5)" in lines
    assert "required at least 5" in summary(facts)
    assert "holds  t-closeness of disease (t=0.5, distance=equal)" in lines


def test_losses_are_there(facts):
    shown = summary(facts)

    assert all(title in shown for title in ("Detail lost", "Rows dropped", "Error of counts", "Risk of being found"))


def test_it_fits_a_small_terminal(facts):
    facts["verdicts"] *= 8
    facts["verdicts"][3] = facts["verdicts"][3] | {"sensitive": "a column with a very long name " * 4}
    facts["columns"][0]["name"] = "x" * 300

    lines = summary(facts).splitlines()

    assert len(lines) <= 25
    assert max(map(len, lines)) <= 60
    assert "and 19 more requirements, which hold" in lines


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
