"""Where a plan runs."""

from __future__ import annotations

import sfumato as sf
from sfumato.pipeline.elsewhere import engine_of

BARE = {"columns": {"age": {"role": "quasi-identifier"}}, "require": [{"model": "k-anonymity", "k": 2}]}
SPARK = {"name": "spark", "master": "spark://there:7077", "distinct_on_driver": 7}


def test_the_plan_says_where_unless_somebody_asks_for_something_else():
    plan = sf.Plan.from_dict({**BARE, "engine": SPARK})
    assert engine_of(plan, None, master=None, distinct_on_driver=9).cluster.master == "spark://there:7077"
    assert engine_of(plan, None, master=None, distinct_on_driver=9).distinct_here == 9
    assert engine_of(plan, "local", master=None, distinct_on_driver=None).name == "local"
    assert engine_of(sf.Plan.from_dict(BARE), None, master=None, distinct_on_driver=None).name == "local"
