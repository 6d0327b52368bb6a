"""What a sweep found, as plain data."""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.sweeping.facts import table_of


def test_an_unknown_loss_is_refused_with_what_is_measured(people, plan):
    with pytest.raises(PolicyError, match=r"Measured: (.*)ncp"):
        sf.sweep(plan, {"k": "2,3"}, frame=people, loss="nothing")
    assert sf.sweep(plan, {"k": "2,3"}, frame=people, loss="query-error").facts["loss"]["name"] == "query-error"


@pytest.fixture
def found(people, plan):
    return sf.sweep(plan, {"k": "2,6,61"}, frame=people, seed=1).facts


def test_facts_are_plain_data_that_says_what_was_varied(found):
    assert json.loads(json.dumps(found)) == found
    assert found["settings"] == [{"name": "k", "values": [2, 6, 61], "plan": 2}]
    assert [entry["varied"] for entry in found["requirements"]] == [True, False]
    assert found["loss"]["about"] == "loss"
    assert "value" not in found["loss"]


def test_the_frontier_is_marked_in_the_rows(found):
    assert [cell["frontier"] for cell in found["cells"]] == [place in found["frontier"] for place in range(3)]
    assert found["cells"][2]["loss"] is None
    assert found["holding"] == 2


def test_every_row_of_the_table_has_a_cell_for_every_column(found):
    head, *rows = table_of(found)

    assert len(set(head)) == len(head)
    assert [len(row) for row in rows] == [len(head)] * 3
    assert rows[2][head.index("ncp")] is None
    assert rows[0][head.index("holds")] == "true"
    assert rows[2][head.index("reason")]


def test_losses_stand_side_by_side_and_the_first_is_the_one_taken(found):
    losses = {loss["name"]: loss for loss in found["losses"]}
    assert len(losses) > 3
    assert found["loss"] == found["losses"][0]
    assert not found["loss"]["falls"]
    assert found["frontier"] == found["loss"]["frontier"]
    swept = sf.Sweep(found)
    assert swept.frontier_of(found["loss"]["name"]) == swept.frontier
    with pytest.raises(PolicyError, match="Choose one of"):
        swept.frontier_of("nothing")


def test_nothing_is_taken_for_a_loss_where_all_of_them_fall(people, plan, monkeypatch):
    from sfumato.sweeping import frontier

    monkeypatch.setattr(frontier, "falls", lambda *_: True)
    facts = sf.sweep(plan, {"k": "2,6"}, frame=people, seed=1)
    assert facts.facts["loss"] is None
    assert facts.frontier == ()
    assert "nothing that was measured gets worse" in str(facts).replace("\n", " ")
    assert sf.sweep(plan, {"k": "2,6"}, frame=people, seed=1, loss="ncp").facts["loss"]["falls"]


def test_who_can_still_be_learned_about_stands_beside_each_combination(found):
    held = found["cells"][0]
    attacks = {entry["title"]: entry for entry in held["attacks"]}
    assert len(attacks) == len(held["attacks"])  # one attack on several columns is told apart
    learned = attacks["Learning 'disease' from a person's class"]
    assert learned["promised"]  # l-diversity is required of it
    assert learned["people"] == 60
    assert 0 < learned["guess"]["worst"] < learned["worst"] <= 1
    head, *rows = table_of(found)
    assert (
        dict(zip(head, rows[0], strict=True))["exposed: Learning 'disease' from a person's class"] == learned["exposed"]
    )
