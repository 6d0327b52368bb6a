from __future__ import annotations

import json
from dataclasses import MISSING, fields

from sfumato.metrics import METRICS
from sfumato.metrics.base import About, Measurement, Metric, amount, ratio


def measurement(**changes):
    facts = {
        "name": "ncp",
        "about": About.LOSS,
        "main": False,
        "title": "Detail <lost>",
        "value": 0.25,
        "before": 0.0,
        "unit": "share",
        "better": "lower",
        "explanation": "A & B.",
        "facts": {"columns": []},
    }
    return Measurement(**facts | changes)


def test_a_measurement_is_plain_data():
    assert json.loads(json.dumps(measurement().as_dict())) == {
        "name": "ncp",
        "about": "loss",
        "main": False,
        "title": "Detail <lost>",
        "value": 0.25,
        "before": 0.0,
        "unit": "share",
        "better": "lower",
        "worst": None,
        "note": "",
        "explanation": "A & B.",
        "empty": "",
        "warning": "",
        "facts": {"columns": []},
    }


def test_a_measurement_shows_its_value_and_the_original_one():
    assert str(measurement()) == "Detail <lost>: 25 % (original: 0 %)"
    assert str(measurement(before=None)) == "Detail <lost>: 25 %"
    assert str(measurement(note="half of all")) == "Detail <lost>: 25 % (original: 0 %); half of all"


def test_a_notebook_gets_escaped_text():
    shown = measurement()._repr_html_()

    assert "Detail &lt;lost&gt;: 25 %" in shown
    assert "A &amp; B." in shown
    assert "lower is better" in shown
    assert "is better" not in measurement(better=None)._repr_html_()


def test_amounts_are_short():
    assert amount(1.0, "rows") == "1 row"
    assert amount(2.0, "rows") == "2 rows"
    assert amount(12345.6) == "12,346"
    assert amount(0.00012345, "nats") == "0.0001234 nats"
    assert amount(12.5, "share") == "1,250 %"


def test_nothing_out_of_nothing_is_nothing():
    assert ratio(0, 0) == 0.0
    assert ratio(3, 4) == 0.75


def test_every_member_keeps_the_contract():
    for name, metric in METRICS.items():
        assert metric.name == name
        needed = {field.name: "x" for field in fields(metric) if field.default is field.default_factory is MISSING}
        assert isinstance(metric(**needed), Metric)
        assert metric(**needed) == metric(**needed)
