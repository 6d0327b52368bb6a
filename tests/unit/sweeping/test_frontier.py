"""Frontier and knee, compared with their definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.metrics import METRICS
from sfumato.sweeping.frontier import frontier, knee, losses_of, strictness

POINTS = st.lists(st.tuples(st.sampled_from([0, 0.25, 0.5, 1]), st.integers(0, 5)), max_size=12)


@given(points=POINTS)
def test_the_frontier_is_what_nobody_beats(points):
    score, loss = [p[0] for p in points], [p[1] for p in points]

    found = frontier(score, loss)

    kept = {points[place] for place in found}
    beaten = {p for p in points if any(q != p and q[0] >= p[0] and q[1] <= p[1] for q in points)}
    assert kept == set(points) - beaten
    assert len(kept) == len(found)
    assert [score[place] for place in found] == sorted(score[place] for place in found)


def test_what_does_not_hold_is_on_no_frontier():
    assert frontier([None, 0.5], [None, 1.0]) == [1]


@given(bend=st.integers(1, 8))
def test_the_knee_is_where_it_was_bent(bend):
    score = [place / 9 for place in range(10)]
    loss = [max(0.0, place - bend) * 10 + place for place in range(10)]

    assert knee(list(range(10)), score, loss) == bend


@pytest.mark.parametrize(
    "loss", [[0, 1, 2, 3], [0, 2, 2.5, 3], [1, 1, 1, 1], [0, 3]], ids=["straight", "bulging", "flat", "two points"]
)
def test_where_nothing_bends_there_is_no_knee(loss):
    n = len(loss)

    assert knee(list(range(n)), [place / (n - 1) for place in range(n)], loss) is None


def cell(k, t, **measured):
    return {
        "values": {"k": k, "t": t},
        "holds": True,
        "verdicts": [{"reached": k, "bound": "at least"}, {"reached": t, "bound": "at most"}],
        "measurements": [
            {"name": name, "value": value, "better": "lower", "about": METRICS[name].about, "main": METRICS[name].main}
            for name, value in measured.items()
        ],
    }


def test_strictness_grows_with_counts_and_falls_with_distances():
    cells = [cell(2, 0.5), cell(4, 0.5), cell(8, 0.1), {"holds": False}]

    assert strictness(cells, [0]) == pytest.approx([0, 0.5, 1, None])
    assert strictness(cells, [1]) == pytest.approx([0, 0, 1, None])
    assert strictness(cells, [0, 1]) == pytest.approx([0, 0.25, 1, None])
    assert not any(math.isnan(value) for value in strictness([cell(2, 0.5)] * 2, [0, 1]))


def names(cells, score=None):
    return [loss["name"] for loss in losses_of(cells, score or [0.0] * len(cells))]


def test_the_first_loss_is_what_the_settings_make_a_difference_to():
    cells = [cell(2, 0.5, ncp=0.1, suppression=0.0, risk=0.5), cell(3, 0.5, ncp=0.1, suppression=0.2, risk=0.3)]

    assert names(cells) == ["suppression"]
    both = [cell(k, t, ncp=k / 10, distortion=k / 10 + t) for k in (2, 3) for t in (0.1, 0.2)]
    assert names(both) == ["distortion", "ncp"]  # t makes no difference to ncp
    assert names([entry for entry in both if entry["values"]["t"] == 0.1])[0] == "ncp"
    assert names([{"values": {"k": 2}, "holds": False}]) == []


def test_a_loss_that_falls_when_strictness_rises_is_no_loss_and_comes_last():
    cells = [cell(k, 0.5, ncp=-k, distortion=k) for k in (2, 3, 4)]
    price, windfall = losses_of(cells, [0.0, 0.5, 1.0])
    assert (price["name"], price["falls"], price["frontier"]) == ("distortion", False, [0, 1, 2])
    assert (windfall["name"], windfall["falls"], windfall["frontier"]) == ("ncp", True, [2])


def test_every_loss_has_its_own_frontier_and_knee():
    cells = [cell(k, 0.5, ncp=ncp, distortion=other) for k, ncp, other in ((2, 1, 1), (3, 1.1, 9), (4, 9, 5))]
    found = {loss["name"]: (loss["frontier"], loss["knee"]) for loss in losses_of(cells, [0.0, 0.5, 1.0])}
    assert found == {"ncp": ([0, 1, 2], 1), "distortion": ([0, 2], None)}
