"""Processes of other commands: started apart from us, told from others that got their number, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any


def start(
    words: Sequence[str], folder: Path, stdout: Path, stderr: Path, environment: Mapping[str, str], told: str
) -> subprocess.Popen[bytes]:
    """Start a command in a group of its own, so that what ends us does not end it; it writes to files, not to us.

    What it is `told` is all that it can read: for secrets, which must not stand in its words or its environment.
    """
    with stdout.open("wb") as out, stderr.open("wb") as err:
        child = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=out, stderr=err, **in_a_group_of_its_own()
        )
    assert child.stdin is not None
    with suppress(OSError), child.stdin:  # who ended already needs to be told nothing
        child.stdin.write(told.encode())
    return child


def in_a_group_of_its_own() -> dict[str, Any]:
    """Return what `Popen` needs to be told so that Ctrl-C at our terminal does not reach a process."""
    if sys.platform == "win32":  # which would take the other word and do nothing
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def born(pid: int) -> str | None:
    """Return when a process started, in whatever way the system says it; None when there is no such process.

    A number is given to another process later, but not with the same start.

    >>> born(os.getpid()) is not None and born(os.getpid()) == born(os.getpid())
    True
    """
    if Path("/proc/self/stat").exists():
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        state, *others = text.rpartition(")")[2].split()
        return None if state in "ZX" else others[18]  # an ended child that nobody asked after is none
    if os.name == "nt":
        return _born_on_windows(pid)
    done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False)
    return done.stdout.decode(errors="replace").strip() or None


def _born_on_windows(pid: int) -> str | None:
    import ctypes

    times = [ctypes.c_ulonglong() for _ in range(4)]
    kernel = ctypes.__dict__["windll"].kernel32  # which only Windows has
    process = kernel.OpenProcess(0x1000, False, pid)  # the right to ask, nothing else
    if not process:
        return None
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(process, ctypes.byref(code))
    known = kernel.GetProcessTimes(process, *map(ctypes.byref, times))
    kernel.CloseHandle(process)
    return str(times[0].value) if known and code.value == 259 else None  # still active


def interrupt(pid: int) -> None:
    """Ask a command of ours to end, as Ctrl-C does."""
    with suppress(OSError):
        if sys.platform == "win32":
            os.kill(pid, signal.CTRL_BREAK_EVENT)
        else:
            os.killpg(pid, signal.SIGINT)


def kill(pid: int) -> None:
    """End a command of ours at once, with all that it started."""
    with suppress(OSError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL)
