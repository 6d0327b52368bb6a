"""What was lost."""

from __future__ import annotations

from sfumato.report import losses
from sfumato.report.wording import UNKNOWN


def test_every_measurement_is_listed_or_drawn(real):
    listed = {row["title"] for row in losses.content(real)["measures"]}
    drawn = {"Risk of being found again", "Smallest class", "Singled out by few columns"}

    assert {entry["title"] for entry in real["measurements"]} == listed | drawn


def test_what_is_about_losses_is_listed_in_its_order():
    def measured(name, **facts):
        return {"name": name, "title": name, "value": 0.5, "unit": "share", "about": "loss"} | facts

    shown = losses.content({"measurements": [measured("b"), measured("r", about="risk"), measured("a")]})

    assert [(row["title"], row["before"], row["value"]) for row in shown["measures"]] == [
        ("b", UNKNOWN, "50%"),
        ("a", UNKNOWN, "50%"),
    ]


def test_what_could_not_be_measured_is_a_dash():
    entry = {"name": "classification", "about": "loss", "value": 0.0, "unit": "share", "facts": {"after": None}}

    assert losses.content({"measurements": [entry]})["measures"][0]["value"] == UNKNOWN


def test_a_run_of_an_earlier_version_has_its_metrics_speak_for_it():
    earlier = [{"name": name, "title": name, "value": 0.5} for name in ("ncp", "risk", "unheard-of")]

    assert [row["title"] for row in losses.content({"measurements": earlier})["measures"]] == ["ncp", "unheard-of"]
