"""Keys of the plan as data: whoever adds one says in words what it is."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from sfumato.anonymizers import ANONYMIZERS
from sfumato.data.knowledge_reading import KnowledgeSource
from sfumato.data.schema import ColumnSpec, Kind, Role
from sfumato.errors import PolicyError
from sfumato.models import PRIVACY_MODELS
from sfumato.parameters import Takes, parameters_of
from sfumato.plan.keys import COLUMN, KNOWLEDGE, TABLES
from sfumato.plan.notes import Notes

MEMBERS = {**PRIVACY_MODELS, **ANONYMIZERS}
KEYS = [
    *((name, key) for name, table in {**TABLES, "columns": COLUMN}.items() for key in table.keys),
    *((name, key) for name, member in MEMBERS.items() for key in parameters_of(member)),
]


@pytest.mark.parametrize(("where", "key"), KEYS, ids=[f"{where}.{key.name}" for where, key in KEYS])
def test_a_key_says_what_it_is(where, key):
    assert key.title[0].isupper()
    assert key.help.endswith(".")
    assert key.written
    assert bool(key.choices) == (key.takes is Takes.CHOICE)
    assert bool(key.shape) == (key.takes is Takes.OTHER)


@pytest.mark.parametrize("member", MEMBERS.values(), ids=list(MEMBERS))
def test_every_field_of_a_member_is_a_parameter_that_describes_itself(member):
    assert [item.name for item in fields(member)] == [parameter.name for parameter in parameters_of(member)]


@pytest.mark.parametrize("member", ANONYMIZERS.values(), ids=list(ANONYMIZERS))
def test_options_out_of_range_are_refused(member):
    for option in parameters_of(member):
        assert not option.required
        with pytest.raises(PolicyError, match=rf"^{option.name} of {member.name} "):
            member(**{option.name: "such a thing"})


@pytest.mark.parametrize(
    ("keys", "made", "unsaid"),
    [(KNOWLEDGE.keys, KnowledgeSource, ("publish_prior",)), (COLUMN.keys, ColumnSpec, ("domain", "base_rates"))],
    ids=["knowledge", "column"],
)
def test_defaults_are_those_of_the_values(keys, made, unsaid):
    defaults = {item.name: item.default for item in fields(made)}
    for key in keys:
        if key.name not in unsaid:
            assert key.default == (None if defaults[key.name] is MISSING else defaults[key.name]), key.name
            assert key.required == (defaults[key.name] is MISSING), key.name


def test_a_table_gives_every_key_a_value():
    notes = Notes()
    values = notes.values({"path": "k.csv", "label": "illness", "terms": ["a", "b"]}, KNOWLEDGE, "knowledge")

    assert not notes.problems
    assert values == {
        "path": "k.csv",
        "label": "illness",
        "terms": ("a", "b"),
        "separator": None,
        "prior": "data",
        "weights": None,
        "hierarchy": None,
        "misses": 0,
        "unlinked": "ask",
        "publish_prior": False,
    }


@pytest.mark.parametrize("word", [*Role, *Kind])
def test_roles_and_kinds_say_what_they_mean(word):
    assert word.means.endswith(".")
    assert type(word)(word.value) is word
