"""Laws over all engines: their releases are accepted by the audits of this machine, and come again from a seed."""

from __future__ import annotations

import pytest

import sfumato as sf
from families import FAMILIES, plan_in
from sfumato.engines import ENGINES

every_engine = pytest.mark.parametrize("engine", ENGINES)
every_family = pytest.mark.parametrize("family", FAMILIES)


@every_engine
@every_family
def test_every_release_of_every_engine_is_accepted_here(engine, family, tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, family))
    sf.run(plan, tmp_path / "run", seed=5, engine=engine)

    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))


@every_engine
def test_the_same_seed_gives_the_same_release(engine, tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, "classes"))
    for name in ("one", "two"):
        sf.run(plan, tmp_path / name, seed=5, engine=engine)

    files = {path.name for path in (tmp_path / "one" / "release").iterdir()}
    assert files
    for name in files:
        one, two = ((tmp_path / run / "release" / name).read_bytes() for run in ("one", "two"))
        assert one == two
