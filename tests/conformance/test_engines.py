"""Laws over all engines: their releases are accepted by the audits of this machine, and come again from a seed."""

from __future__ import annotations

import pytest

import sfumato as sf
from families import FAMILIES, plan_in
from in_parts import in_parts
from sfumato.engines import ENGINES
from sfumato.engines.base import Engine
from sfumato.engines.local import LocalEngine

MAKERS = {"local": LocalEngine, "local in 7 parts": lambda: in_parts(150)}  # Spark: tests/system/test_spark_cluster.py
every_engine = pytest.mark.parametrize("engine", MAKERS)
every_family = pytest.mark.parametrize("family", FAMILIES)


def made_by(engine: str) -> Engine:
    return MAKERS[engine]()


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_engine_is_listed():
    assert {"local", "spark"} == set(ENGINES)


@every_engine
@every_family
def test_every_release_of_every_engine_is_accepted_here(engine, family, tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, family))
    sf.run(plan, tmp_path / "run", seed=5, engine=made_by(engine), measure=False, attack=False)

    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))


@every_engine
def test_the_same_seed_gives_the_same_release(engine, tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, "hospital"))
    for name in ("one", "two"):
        sf.run(plan, tmp_path / name, seed=5, engine=made_by(engine), measure=False, attack=False)

    one, two = (contents(tmp_path / run / "release") for run in ("one", "two"))
    assert one
    assert one == two
