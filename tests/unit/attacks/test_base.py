"""What all attacks have in common."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Asked, Attack, Exposure, Finding, as_if_published, expose
from sfumato.data.encoding import encode
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import PolicyError

SCHEMA = Schema(
    {
        "name": ColumnSpec(name="name", role=Role.IDENTIFIER),
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
    }
)


@dataclass(frozen=True, kw_only=True)
class Peeking(Attack):
    """Counts rows."""

    name: ClassVar[str] = "peeking"
    title: ClassVar[str] = "Looking"
    intruder: ClassVar[str] = "Looks."
    threshold: float = 0.25

    @classmethod
    def suited_to(cls, release, asked):
        yield cls(threshold=asked.threshold)

    def on(self, table):
        return Finding(people=table.n_rows, exposed=1, worst=0.5)

    def guess(self, table):
        return None


@pytest.fixture
def original():
    return as_if_published(encode(pa.table({"name": ["Ann", "Bob"], "age": [30, 40]}), SCHEMA))


def test_the_original_is_seen_without_identifiers(original):
    assert list(original.columns) == ["age"]
    assert original.table().column("age").to_pylist() in ([30, 40], ["30", "40"])


def test_an_attack_is_told_before_after_and_beside_a_guess(original):
    alone, both = expose(Peeking(), original), expose(Peeking(), original, original)

    assert (alone.before, alone.control) == (None, None)
    assert both.before == both.after == Finding(people=2, exposed=1, worst=0.5)
    assert json.loads(json.dumps(both.as_dict()))["before"]["exposed"] == 1
    assert json.loads(json.dumps(alone.as_dict()))["before"] is None


def test_it_shows_itself():
    exposure = Exposure(
        attack="x",
        title="A <look>",
        intruder="Looks.",
        threshold=0.5,
        after=Finding(people=2000, exposed=1, worst=0.125),
        control=Finding(people=2000, exposed=0, worst=0.0),
    )

    assert str(exposure).splitlines() == [
        "A <look>",
        "  release   1 of 2,000 exposed, confidence up to 12.5 %",
        "  guessing  0 of 2,000 exposed, confidence up to 0 %",
    ]
    assert "A &lt;look&gt;" in exposure._repr_html_()


@pytest.mark.parametrize("threshold", [1, -0.1, True, "0.5"])
def test_what_is_asked_is_checked(threshold):
    with pytest.raises(PolicyError, match="threshold"):
        Asked(threshold=threshold)


def test_every_member_keeps_the_contract():
    assert all(isinstance(Peeking(), Attack) and member.name == name for name, member in ATTACKS.items())
