"""A decision is plain data: it can go to a file, to another process, to a worker, and still says the same."""

from __future__ import annotations

import pickle

import pytest

from anonymizing import JOBS, Job


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=str)
def test_what_is_published_of_a_decision_is_the_same_after_a_journey(job: Job):
    decisions = job.decisions()

    assert len(decisions) == len(job.steps)
    for decided in decisions:
        arrived = pickle.loads(pickle.dumps(decided))
        assert job.release(arrived).table().equals(job.release(decided).table())


@pytest.mark.slow
@pytest.mark.parametrize("job", [job for job in JOBS if len(job.models) > 1], ids=str)
def test_steps_go_on_from_a_decision_that_came_from_elsewhere(job: Job):
    at_home, abroad = job.decisions(), job.decisions(carry=lambda decided: pickle.loads(pickle.dumps(decided)))

    assert job.release(abroad[-1]).table().equals(job.release(at_home[-1]).table())
