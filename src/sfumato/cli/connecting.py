"""Commands about databases: connections by name. Addresses are typed without echo or piped in, never arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.app import Json, app
from sfumato.cli.terminal import ask_for, reply, wrote

connections = typer.Typer(
    name="connections",
    help="Names for databases, so that no plan holds an address or a password.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(connections)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name that plans use.", show_default=False)]


@connections.command()
def add(
    name: Name,
    keyring: Annotated[bool, typer.Option("--keyring", help="Keep it in the keyring of the system.")] = False,
    as_json: Json = False,
) -> None:
    """Keep the address of a database under a name: typed without echo, or read from standard input."""
    from sfumato.data.files.databases.connections import SHAPES, Address, checked_name, keep
    from sfumato.errors import DataError

    checked_name(name)
    address = (ask_for(name) if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if Address(address, "").engine is None:
        raise DataError(f"An address for {name!r} was asked for, but what came is none.\nWrite {SHAPES}")
    place = keep(name, address, keyring=keyring)
    if not keyring:
        wrote(Path(place))
    words = f"{name} is kept in {place}. Try it: sfumato connections test {name}"
    reply(as_json, {"name": name, "kept": place}, words)


@connections.command(name="test")
def try_out(name: Name, as_json: Json = False) -> None:
    """Connect, and say with which kind of database, and its tables; within 10 seconds."""
    from sfumato.data.files import Source
    from sfumato.data.files.databases.connections import address_of, place_of
    from sfumato.data.files.databases.reading import tried

    engine, tables = tried(Source(place_of(name, Path()), database=name))
    origin = address_of(name).origin
    listed = f"Its tables: {', '.join(tables)}" if tables else "It tells of no table."
    words = f"{name} answers: {engine}; its address is known from {origin}\n{listed}"
    reply(as_json, {"name": name, "engine": engine, "from": origin, "tables": tables}, words)


@connections.command(name="list")
def names(as_json: Json = False) -> None:
    """List the names that are known, and where from; never an address."""
    from sfumato.data.files.databases.connections import known_addresses

    found = [{"name": name, "engine": address.engine, "from": address.origin} for name, address in known_addresses()]
    words = "\n".join(
        f"{each['name']}: {each['engine'] or 'an address that is not understood'}, from {each['from']}"
        for each in found
    )
    reply(as_json, {"connections": found}, words or "No connection is known. `sfumato connections add NAME` keeps one.")
