"""Frontier and knee, compared with their definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.metrics import METRICS
from sfumato.sweeping.frontier import frontier, knee, loss_of, strictness

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


def test_the_loss_is_what_the_settings_make_a_difference_to():
    cells = [cell(2, 0.5, ncp=0.1, suppression=0.0, risk=0.5), cell(3, 0.5, ncp=0.1, suppression=0.2, risk=0.3)]

    assert loss_of(cells)["name"] == "suppression"
    both = [cell(k, t, ncp=k / 10, distortion=k / 10 + t) for k in (2, 3) for t in (0.1, 0.2)]
    assert loss_of(both)["name"] == "distortion"  # t makes no difference to ncp
    assert loss_of([entry for entry in both if entry["values"]["t"] == 0.1])["name"] == "ncp"
    assert loss_of(cells, "ncp")["name"] == "ncp"
    assert loss_of(cells, "nothing") is None
    assert loss_of([{"values": {"k": 2}, "holds": False}]) is None
