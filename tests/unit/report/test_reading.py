"""Facts are read with care."""

from __future__ import annotations

import pytest

from sfumato.metrics import METRICS
from sfumato.report import reading


@pytest.mark.parametrize("odd", [None, "text", 5, [], {}, [None], {"measurements": 3}])
def test_whatever_stands_there_nothing_raises(odd):
    facts = odd if isinstance(odd, dict) else {"measurements": odd}

    assert reading.measurements(facts, "loss") == []
    assert reading.main_measurements(facts) == []
    assert reading.measurement(facts, "ncp") == {}
    assert reading.columns_of(facts, "ncp") == []
    assert reading.text(reading.number(odd)) == ("5.0" if odd == 5 else "")


def test_main_measurements_are_losses_and_then_risks():
    facts = {
        "measurements": [
            {"name": "a", "about": "risk", "main": True},
            {"name": "b", "about": "loss", "main": False},
            {"name": "c", "about": "loss", "main": True},
        ]
    }

    assert [entry["name"] for entry in reading.main_measurements(facts)] == ["c", "a"]


def test_an_earlier_run_is_sorted_as_its_metrics_are_today():
    earlier = {"measurements": [{"name": name, "value": 1.0} for name in METRICS]}
    today = {
        "measurements": [
            {"name": name, "value": 1.0, "about": metric.about.value, "main": metric.main}
            for name, metric in METRICS.items()
        ]
    }

    for about in ("loss", "risk"):
        assert reading.measurements(earlier, about) == reading.measurements(today, about)
