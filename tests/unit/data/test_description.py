"""A description of another shape than a release has is refused, whoever asks, and never breaks who reads it."""

from __future__ import annotations

import copy
import json
import random
import shutil

import pytest

import sfumato as sf
from families import ALONE, KEPT
from sfumato.data.description import is_description
from sfumato.errors import SfumatoError

ABSURD = (None, "x", [], {}, -1, 1.5, True, [None], {"a": None})
TRIED = 25  # of each family


def described(family):
    return json.loads((KEPT / family / "run/release/release.json").read_text(encoding="utf-8"))


def places(told, place=()):
    """Yield where something stands in plain data."""
    yield place
    if isinstance(told, dict):
        for key in told:
            yield from places(told[key], (*place, key))
    elif isinstance(told, list) and told:
        yield from places(told[0], (*place, 0))


def with_put(told, place, value):
    changed = inner = copy.deepcopy(told)
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


@pytest.mark.parametrize("family", ALONE)
def test_what_was_written_has_the_shape(family):
    assert is_description(described(family))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("role", []),
        ("kind", {}),
        ("separator", ""),
        ("domain", []),
        ("domain", "abc"),
        ("eta", True),
        ("eta", 3),  # more than there are values
        ("p", None),
        ("p", 1.5),
        ("shares", [1]),  # fewer than there are values
        ("groups", [1]),
        ("legend", {"a": {"members": ["b", "a"]}}),  # a label that stands for itself
        ("spans", {"3": ["[1, 5]"]}),
        ("base_rates", 3),
        ("base_rates", {}),
        ("base_rates", {"values": {"x": 1}}),
        ("base_rates", {"values": {"x": "1"}, "missing": 0}),
        ("base_rates", {"values": {"x": -1}, "missing": 0}),
        ("base_rates", {"values": {"x": 10**30}, "missing": 0}),  # of which no loop could form products
    ],
)
def test_a_column_of_another_shape_is_refused(key, value):
    column = {"role": "sensitive-quasi-identifier", "kind": "set", "domain": ["x", "y"], "eta": 1, "p": 0.5}
    column |= {"base_rates": {"values": {"x": 3, "y": 0}, "missing": 1, "counted": True}}
    assert is_description({"columns": {"job": column}})

    assert not is_description({"columns": {"job": column | {key: value}}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("rows", None), ("rows", -1), ("files", []), ("table", 1), ("models", None), ("models", [1]), ("weight", 2)),
        *(("prior", 3), ("prior", {"flu": None}), ("prior", {"flu": 1.5})),
    ],
)
def test_a_whole_of_another_shape_is_refused(key, value):
    assert is_description({"columns": {}, "models": [{"model": "k-anonymity", "k": 2}]})

    assert not is_description({"columns": {}, key: value})
    assert not is_description({key: value})
    assert not is_description({"columns": {}, "models": [{"model": "k-anonymity", "k": "2"}]})


@pytest.mark.slow
@pytest.mark.parametrize("family", ALONE)
def test_absurd_descriptions_are_read_or_refused_in_words(family, tmp_path):
    shutil.copytree(KEPT / family, tmp_path / family)
    folder, told, plan = tmp_path / family / "run/release", described(family), tmp_path / family / "plan.toml"
    shutil.rmtree(tmp_path / family / "run/private")
    plan, chance = sf.Plan.load(plan), random.Random(3)
    tried = [(place, value) for place in places(told) if place for value in ABSURD]
    verbs = (lambda path: sf.audit(path, plan), lambda path: sf.measure(path, plan), lambda path: sf.attack(path, plan))
    codes = set()

    for place, value in chance.sample(tried, TRIED):
        (folder / "release.json").write_text(json.dumps(with_put(told, place, value)), encoding="utf-8")
        for ask in (*verbs, sf.load, lambda path: str(sf.describe(path))):
            try:
                ask(folder)
            except SfumatoError as error:
                codes.add(error.exit_code)

    assert codes == {2}
