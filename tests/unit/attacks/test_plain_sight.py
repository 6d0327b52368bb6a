"""Identifiers in a table expose everybody in it; without them there is nothing to attack."""

import pyarrow as pa

from sfumato.attacks import Asked, PlainSight
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema

SCHEMA = Schema(
    {
        "name": ColumnSpec(name="name", role=Role.IDENTIFIER),
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
    }
)


def test_it_is_suited_to_tables_with_identifiers_only():
    named = Release.from_table(pa.table({"name": ["a", "b"], "age": [1, 1]}), SCHEMA)
    nameless = Release.from_table(pa.table({"age": [1, 1]}), SCHEMA)

    (attack,) = PlainSight.suited_to(named, Asked(threshold=0.25))

    assert list(PlainSight.suited_to(nameless, Asked())) == []
    assert (attack.columns, attack.threshold, attack.guess(named)) == (("name",), 0.25, None)
    assert (attack.on(named).exposed, attack.on(named).worst) == (2, 1.0)
    assert (attack.on(nameless).exposed, attack.on(nameless).worst) == (0, 0.0)
