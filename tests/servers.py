"""A PostgreSQL server for tests: started by them, in a folder of its own, on a free port, by a user who is not root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "hunter2-is-secret"


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    port: int

    def address(self, user: str = "postgres", password: str = PASSWORD, database: str = "postgres") -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def does(self, *statements: str) -> list[tuple]:
        """Carry out statements one by one, and return the rows of the last one."""
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.address(), autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []


def programs() -> Path | None:
    """Where the programs of the server are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@contextmanager
def postgresql() -> Iterator[Server]:
    """Start a server and end it; skip with a reason where that cannot be done."""
    pytest.importorskip("adbc_driver_postgresql", reason="the extra `databases` is not installed")
    where = programs()
    if where is None:
        pytest.skip("no PostgreSQL server is installed")
    folder = Path(tempfile.mkdtemp(prefix="sfumato-server-"))
    user = {}
    if os.name == "posix" and os.geteuid() == 0:  # which initdb refuses
        user = {"user": "postgres"}
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secret = folder / "password"
    secret.write_text(PASSWORD, encoding="utf-8")
    if user:
        shutil.chown(secret, "postgres")

    def ran(program: str, *words: str) -> None:
        done = subprocess.run(
            [where / program, *words], cwd=folder, capture_output=True, encoding="utf-8", check=False, **user
        )
        if done.returncode:
            pytest.skip(f"{program} does not work here: {done.stderr.strip()[-200:]}")

    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    try:
        ran(
            "initdb",
            "-D",
            "data",
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            "--pwfile",
            "password",
            "-N",
            "-E",
            "UTF8",
            "--locale=C",
        )
        # Where pg_ctl keeps the output of the server, nobody waits for it to end.
        ran("pg_ctl", "-D", "data", "-o", options, "-l", "log", "-w", "start")
        try:
            yield Server(port)
        finally:
            ran("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
