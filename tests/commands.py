"""The command line in tests: inside the process of the tests, or in one of its own that need not import anything."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from sfumato.cli import app

# An interpreter with all that commands import. For each line that it reads it divides in two: one half becomes the
# command, the other answers with its exit code. So a command has a process, a folder, signals, an environment and an
# exit code of its own, without a second of importing. It has imported no reader of other kinds of files.
READY = """
import io, json, os, signal, sys
import sfumato.api, sfumato.cli, sfumato.drafting, sfumato.generators, sfumato.plan.preview, sfumato.report
import sfumato.sweeping

def become(asked):
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for number, path in enumerate((os.devnull, asked["out"], asked["err"])):
        opened = os.open(path, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(open(number, mode, closefd=False), encoding=encoding, errors=errors, line_buffering=True)
        for number, mode, errors in ((0, "rb", "strict"), (1, "wb", "strict"), (2, "wb", "backslashreplace"))
    )
    sys.argv = ["sfumato", *asked["words"]]
    sfumato.cli.main()

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 0
        try:
            become(json.loads(line))
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _ready() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", READY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    atexit.register(process.kill)
    return process


def sfumato(*words: Any, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return what became of a command in a process of its own: exit code, standard output and error."""
    settings = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"} | environment
    command = [str(word) for word in words]
    if os.name != "posix":
        started = [sys.executable, "-m", "sfumato", *command]
        return subprocess.run(started, capture_output=True, encoding="utf-8", cwd=cwd, env=settings, check=False)
    process = _ready()
    assert process.stdin is not None
    assert process.stdout is not None
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        asked = {"words": command, "folder": str(cwd or Path.cwd()), "environment": settings}
        process.stdin.write(json.dumps(asked | {"out": out.name, "err": err.name}) + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        return subprocess.CompletedProcess(command, code, out.read().decode(), err.read().decode())


def told(*words: Any) -> dict[str, Any]:
    """Return the JSON object that a command prints, inside this process; raise what `main` would turn into words."""
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    found = json.loads(done.stdout)
    assert done.exit_code == int(not found.get("satisfied", True))
    return dict(found)
