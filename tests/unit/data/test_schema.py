"""What a plan says of columns."""

from sfumato.data.schema import ColumnSpec, Role, Schema

AGE = ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER)
ILL = ColumnSpec(name="ill", role=Role.SENSITIVE)


def test_columns_are_found_by_role_and_name():
    schema = Schema(columns={"age": AGE, "ill": ILL}, rest=Role.OTHER)
    assert schema.named(Role.SENSITIVE) == ("ill",)
    assert schema.named(Role.SENSITIVE, Role.QUASI_IDENTIFIER) == ("age", "ill")
    assert schema.spec("age") is AGE
    assert schema.spec("new") == ColumnSpec(name="new", role=Role.OTHER)
    assert Schema().spec("new") is None
    assert list(schema) == [AGE, ILL]


def test_only_roles_that_say_nothing_private_are_shown_to_who_asks(monkeypatch):
    assert all(ColumnSpec(name="x", role=role).secret for role in Role)
    monkeypatch.setenv("SFUMATO_SHOW_VALUES", "1")
    open_roles = {role for role in Role if not ColumnSpec(name="x", role=role).secret}
    assert open_roles == {Role.QUASI_IDENTIFIER, Role.OTHER}
