"""From the name of a connection to an address: never in a plan, a run, a release, a log or on a command line.

| looked for in | |
| --- | --- |
| the environment | `SFUMATO_DATABASE_CLINIC` |
| `connections.toml` in the user's folder of settings | refused where others may read it |
| `pg_service.conf` | a service of that name; libpq finds the password in `.pgpass` |
| the keyring, where the library of that name is installed | service `sfumato` |
| whoever sits at the terminal | asked without echo, kept until the process ends |
"""

from __future__ import annotations

import configparser
import importlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import tomlkit

from sfumato.data.files.source import DATABASE
from sfumato.disk import atomic_file, confinement
from sfumato.errors import DataError, did_you_mean

Engine: TypeAlias = Literal["postgresql", "sqlite", "duckdb", "odbc"]
Ask: TypeAlias = Callable[[str], str]  # from a name to an address, typed by somebody; "" for none

DUCKDB = (".duckdb", ".ddb")  # endings of files that are a database of their own
FILES = (".sqlite", ".sqlite3", ".db", *DUCKDB)
SHAPES = (  # of addresses
    "postgresql://user:password@host/database, sqlite:///path, duckdb:///path, or odbc:Driver={...};Server=...;"
)
_ENGINES: Mapping[str, Engine] = {  # by what an address begins with
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
KEYRING = "sfumato"  # the service that addresses are kept under
_VARIABLE = "SFUMATO_DATABASE_"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_ADDRESS = re.compile(r"://|[@;=]|\b(password|passwd|pwd)\b", re.IGNORECASE)
_SECRET = re.compile(r"[a-z0-9+.-]://[^\s/@]*:[^\s/@]*@|\b(password|passwd|pwd)\s*=", re.IGNORECASE)

_asking: ContextVar[Ask | None] = ContextVar("asking", default=None)
_told: dict[str, str] = {}  # addresses that somebody typed, until the process ends
_HANDED = "SFUMATO_ADDRESSES"  # says that whoever started this process hands addresses over: a line of its input
_handed: dict[str, str] = {}  # those addresses, by the variable that they stood in


@dataclass(frozen=True)
class Address:
    """How to reach a database, and where that is known from. Shows itself without the address."""

    text: str = field(repr=False)
    origin: str

    @property
    def engine(self) -> Engine | None:
        """Which kind of database it is; None for an address that nobody knows."""
        by_scheme = _ENGINES.get(self.text.split(":", 1)[0].lower())
        is_odbc = re.match(r"\s*(odbc:|driver\s*=|dsn\s*=)", self.text, re.IGNORECASE)
        return by_scheme or ("odbc" if is_odbc else None)


def is_file(database: str) -> bool:
    """Whether a database is a file rather than a connection."""
    return Path(database).suffix.lower() in FILES


def holds_a_secret(text: str) -> bool:
    """Whether a text has a password in it, as addresses have."""
    return bool(_SECRET.search(text))


def checked_name(database: str) -> str:
    """Return the name of a connection, or raise without repeating what may be an address with a password."""
    if _NAME.fullmatch(database):
        return database
    if _ADDRESS.search(database):
        raise DataError(
            "A database was given as an address, or with a password, which is never written down here.\n"
            "Give it a name with `sfumato connections add NAME`, and write the name."
        )
    raise DataError(
        f"The database {database!r} is neither the name of a connection (letters, digits, - and _) nor a file that "
        f"ends in {', '.join(FILES)}.\nCorrect it; `sfumato connections list` shows the names."
    )


@contextmanager
def asking(ask: Ask) -> Iterator[None]:
    """Let somebody be asked for addresses that are found nowhere."""
    token = _asking.set(ask)
    try:
        yield
    finally:
        _asking.reset(token)


def address_of(name: str) -> Address:
    """Return the address of a connection, or raise with where it was looked for."""
    found = known_address(name)
    ask = _asking.get()
    if found is None and ask is not None and (typed := ask(name).strip()):
        _told[name] = typed
        found = Address(typed, "typed in")
    if found is None:
        near = did_you_mean(name, names) if (names := [name for name, _ in known_addresses()]) else ""
        raise DataError(
            f"The database {name!r} was asked for, but no connection of that name is known: not as {variable_of(name)} "
            f"in the environment, nor in {connections_file()}, pg_service.conf or a keyring.{near}\n"
            f"`sfumato connections add {name}` keeps one."
        )
    return found


def known_address(name: str) -> Address | None:
    """Return the address of a connection where it is known without asking anybody."""
    hear()
    if text := os.environ.get(variable_of(name)) or _handed.get(variable_of(name)):
        return Address(text, f"the environment, as {variable_of(name)}")
    if (kept := _kept().get(name)) is not None:
        return Address(kept, "connections.toml")
    if name in _services():
        return Address(f"postgresql://?service={name}", "pg_service.conf")
    if text := _in_keyring(name):
        return Address(text, "the keyring")
    return Address(_told[name], "typed in") if name in _told else None


def known_addresses() -> list[tuple[str, Address]]:
    """Return all connections that are known by name, in order; keyrings do not tell what they hold."""
    hear()
    upper = {key.removeprefix(_VARIABLE) for key in (*os.environ, *_handed) if key.startswith(_VARIABLE)}
    names = {name.lower() for name in upper} - {name.lower() for name in _kept()} | set(_kept()) | set(_services())
    found = ((name, known_address(name)) for name in sorted(names))
    return [(name, address) for name, address in found if address is not None]


def variable_of(name: str) -> str:
    """Return the variable of the environment for a connection.

    >>> variable_of("clinic-2")
    'SFUMATO_DATABASE_CLINIC_2'
    """
    return _VARIABLE + name.upper().replace("-", "_")


# From a process to those that it starts.


def apart() -> tuple[dict[str, str], str]:
    """Return the environment of a process to be started, without addresses, and these as the first line of its input.

    An environment is seen by more eyes than a pipe, and is handed on. It says which folders may be opened.
    """
    kept = without_addresses()
    hear()
    addresses = {**_handed, **{key: value for key, value in os.environ.items() if key not in kept}}
    return {**kept, **confinement(), _HANDED: "stdin"}, json.dumps(addresses) + "\n"


def without_addresses() -> dict[str, str]:
    """Return the environment for a process that has to reach no database."""
    return {key: value for key, value in os.environ.items() if not key.startswith(_VARIABLE)}


def hear() -> None:
    """Take over the addresses that whoever started this process has handed over, if it has."""
    if os.environ.pop(_HANDED, None) == "stdin":
        _handed.update(json.loads(sys.stdin.readline() or "{}"))


# Where they are kept.


def connections_file() -> Path:
    """Return where connections are kept: in the user's folder of settings."""
    if given := os.environ.get("XDG_CONFIG_HOME"):
        folder = Path(given)
    elif sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA", Path.home()))
    else:
        folder = Path.home() / (".config" if sys.platform != "darwin" else "Library/Application Support")
    return folder / "sfumato" / "connections.toml"


def keep(name: str, address: str, *, keyring: bool = False) -> str:
    """Keep the address of a connection for its owner alone, and return where."""
    checked_name(name)
    if keyring:
        ring = _keyring()
        if ring is None:
            raise DataError(
                "The address was to be kept in a keyring, but the library keyring is not installed.\n"
                "Install it: pip install keyring. Or leave --keyring out."
            )
        ring.set_password(KEYRING, name, address)
        return "the keyring"
    path = connections_file()
    found = {**_kept(), name: address}
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_file(path) as temporary:
        temporary.chmod(0o600)
        text = tomlkit.dumps({each: {"address": found[each]} for each in sorted(found)})
        temporary.write_text(text, encoding="utf-8")
    return str(path)


def _kept() -> Mapping[str, str]:
    path = connections_file()
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise DataError(f"{path} cannot be read.\nCheck its permissions, or delete it.") from None
    if os.name == "posix" and mode & 0o077:
        raise DataError(
            f"{path} may be read by others, but it holds passwords, so it is not used.\n"
            f"Let only yourself read it: chmod 600 {path}. Then change the passwords if others could log in here."
        )
    try:
        return {name: str(about["address"]) for name, about in tomllib.loads(text).items()}
    except (ValueError, KeyError, TypeError):  # what is wrong with it may stand beside a password
        raise DataError(
            f'{path} is not such as `sfumato connections add` writes it: [name], then address = "...".\n'
            "Correct it, or delete it and add the connections again."
        ) from None


def _services() -> set[str]:
    """Return the names of libpq's services on this machine."""
    given = os.environ.get("PGSERVICEFILE")
    paths = [Path(given) if given else Path.home() / ".pg_service.conf"]
    if folder := os.environ.get("PGSYSCONFDIR"):
        paths.append(Path(folder) / "pg_service.conf")
    found: set[str] = set()
    for path in paths:
        read = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
        try:
            read.read_string(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, configparser.Error):
            continue
        found |= set(read.sections())
    return found


def _keyring() -> Any:
    try:
        return importlib.import_module("keyring")
    except ImportError:
        return None


def _in_keyring(name: str) -> str | None:
    ring = _keyring()
    if ring is None:
        return None
    try:
        found = ring.get_password(KEYRING, name)
    except Exception:  # no keyring is open here: each kind says it by an error of its own
        return None
    return str(found) if found else None


def place_of(database: str, base: Path) -> Path:
    """Return where a database is: its file, relative to a folder, or its name as it is shown."""
    if is_file(database) and not _ADDRESS.search(database):
        return base / database
    return Path(DATABASE + checked_name(database))
