"""Files and folders on disk: written as a whole or not at all.

Work goes on beside its target, in `.out.tmp-1a2b`, and takes the target's name at the end. Whoever works holds the lock
of `.out.lock-1a2b`. The system takes a lock back when its holder ends, however that comes: what a killed process left
is known by a lock that nobody holds, also where other containers or machines work in the same folder.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeAlias

from sfumato.errors import DataError, OutputError


def read_numbered(path: Path, newest: int, refusal: str) -> dict[str, Any]:
    """Return the JSON object in a file that carries the number of its format, from 1 to the newest known here."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.\nCheck its permissions.") from None
    except (ValueError, RecursionError):
        found = None
    number = found.get("format") if isinstance(found, dict) else None
    if type(number) is not int or number < 1:  # true is no number
        raise DataError(f"{path} {refusal}")
    if number > newest:
        raise DataError(
            f"{path.name} has format {number}: a newer version of sfumato wrote {path}.\n"
            f"This version of sfumato reads format {newest}.\nUpdate sfumato."
        )
    return dict(found)


# Folders that files may be opened from.

ROOTS = "SFUMATO_ROOTS"  # the variable of the environment that hands them to a process, as a JSON list
_roots: ContextVar[tuple[Path, ...] | None] = ContextVar("roots", default=None)


@contextmanager
def confined(roots: Sequence[Path]) -> Iterator[None]:
    """Let plans name files in these folders alone, here and in the processes that are started meanwhile."""
    token = _roots.set(tuple(roots))
    try:
        yield
    finally:
        _roots.reset(token)


def confinement() -> dict[str, str]:
    """Return the variable of the environment that confines a process as this one is; nothing if this one is not."""
    roots = _confined_to()
    return {} if roots is None else {ROOTS: json.dumps([str(root) for root in roots])}


def lies_within(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a file, or a folder with all parts of a table in it, lies in one of some folders; links are followed."""
    try:
        parts = [part for part in path.iterdir() if part.suffix.lower() == ".parquet"] if path.is_dir() else []
        return all(any(part.resolve().is_relative_to(root) for root in roots) for part in (path, *parts))
    except (OSError, RuntimeError, ValueError):
        return False


def openable(path: Path, named: str) -> Path:
    """Return a path that a plan names, or raise where files may be opened from other folders only."""
    roots = _confined_to()
    if roots is None or lies_within(path, roots):
        return path
    raise DataError(
        f"{named} names a file outside of the folders that may be opened here.\n"
        "Move the file into the project, or start `sfumato web` with --roots and the folder of the file."
    )


def _confined_to() -> tuple[Path, ...] | None:
    if (roots := _roots.get()) is not None:
        return roots
    handed = os.environ.get(ROOTS)
    return None if handed is None else tuple(Path(root) for root in json.loads(handed))


# What in a folder is not its maker's own, by name; None when the folder is not of this maker at all.
Foreign: TypeAlias = Callable[[Path], Sequence[str] | None]


def nobodys(folder: Path) -> None:
    """Say that a folder is not of the maker, whoever asks: it is never replaced."""


@contextmanager
def atomic_folder(target: Path, overwrite: bool = False, *, foreign: Foreign = nobodys) -> Iterator[Path]:
    """Yield a folder beside the target, for its owner only, that takes the target's name when all went well.

    After an error, or when the user stops the work, nothing of it is left. A folder of the same maker is replaced only
    with `overwrite`, and only if it holds nothing but what its maker wrote; an empty one too. At every moment there is
    the old folder or the new one under the target's name, wherever the system can exchange the two.
    """
    target = _resolved(target)
    _refuse_what_must_stay(target, foreign, overwrite=overwrite)
    with _workplace(target) as temporary:
        temporary.mkdir(mode=0o700)
        refuse_without_rename(temporary, target)
        yield temporary
        _put_in_place(temporary, target, foreign, overwrite=overwrite)


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Yield a hidden path beside something, for a folder of work on it: nothing is left there afterwards."""
    with _workplace(_resolved(target)) as temporary:
        yield temporary


@contextmanager
def atomic_file(target: Path, overwrite: bool = True) -> Iterator[Path]:
    """Yield a path beside the target; the file written there takes the target's name when all went well."""
    target = _resolved(target)
    exists = os.path.exists(target)  # noqa: PTH110 - unlike its sibling, this one does not mind permissions
    if exists and target.is_dir():
        raise OutputError(f"The output file {target} is a folder.\nName a file.")
    if exists and not overwrite:
        raise OutputError(f"The output file {target} exists already.\nChoose another, or allow to overwrite it.")
    with _workplace(target) as temporary:
        temporary.touch(mode=0o600)
        temporary.chmod(target.stat().st_mode & 0o777 if exists else 0o666 & ~_umask())
        yield temporary
        _flush(temporary)
        temporary.replace(target)
        _flush(target.parent)


def refuse_without_rename(folder: Path, target: Path) -> None:
    """Raise where a folder lies in a store that gives nothing another name: nothing could appear there as a whole."""
    before, after = folder / "before", folder / "after"
    before.mkdir()
    try:
        before.rename(after)
    except OSError as error:
        before.rmdir()
        raise OutputError(
            f"{target} was to appear as a whole or not at all, but its file system does not rename folders "
            f"({error.strerror}).\nWrite to another one, and copy the finished run from there."
        ) from None
    after.rmdir()


_DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")  # which Windows takes for devices, whatever follows the point


def stem_of(words: str, otherwise: str) -> str:
    """Return words as the beginning of a file's name that every system takes.

    >>> stem_of("Straße / Ort", "data"), stem_of("?", "data"), stem_of("AUX", "data")
    ('stra-e-ort', 'data', 'aux-data')
    """
    stem = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:40] or otherwise
    return f"{stem}-{otherwise}" if _DEVICES.fullmatch(stem) else stem


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _resolved(target: Path) -> Path:
    """Return the target without links in it, once it is sure that something can be put there."""
    try:
        target = Path(target).expanduser().resolve()
        parent_is_folder = target.parent.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise unwritable(Path(target), error) from None
    if not parent_is_folder:
        raise OutputError(f"{target} cannot be written: there is no folder {target.parent}.\nMake that folder first.")
    if not target.name:
        raise OutputError(f"{target} cannot be written: it is the root of the file system.\nName a folder in it.")
    return target


# Whoever works.


@contextmanager
def _workplace(target: Path) -> Iterator[Path]:
    """Yield a free name beside the target; whatever has this name when work ends is deleted."""
    clear_leftovers(target)
    try:
        lock, path = _claimed(target)
    except OSError as error:
        raise unwritable(target, error) from None
    temporary = _work_of(path)
    try:
        yield temporary
    except OSError as error:
        if _number_of(error) in _ABOUT_WRITING:
            raise unwritable(target, error) from None
        raise
    except OutputError as error:  # nobody asked for the hidden name
        raise OutputError(str(error).replace(str(temporary), str(target))) from None
    finally:
        _remove(temporary)
        lock.close()
        path.unlink(missing_ok=True)


def _claimed(target: Path) -> tuple[IO[bytes], Path]:
    """Return a lock that we hold, and its path."""
    while True:
        path = target.with_name(f".{target.name}.lock-{secrets.token_hex(4)}")
        lock = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "r+b")
        # Somebody who sweeps up may have come between the two: then its name is gone, or soon will be.
        if _lock(lock) is not False and path.exists():
            return lock, path
        lock.close()


def _work_of(lock: Path) -> Path:
    """Return where the holder of a lock works."""
    name, _, token = lock.name.rpartition(".lock-")
    return lock.with_name(f"{name}.tmp-{token}")


def work_on(name: str) -> str | None:
    """Return the target of a hidden name that somebody works at, or left behind when killed; None for other names.

    >>> work_on("private/.run.json.tmp-0123abcd"), work_on("private/.notes")
    ('private/run.json', None)
    """
    found = re.fullmatch(r"(.*/)?\.([^/]+)\.(tmp|lock|old)-[0-9a-f]{8}", name)
    return f"{found[1] or ''}{found[2]}" if found else None


def clear_leftovers(target: Path) -> None:
    """Delete what was left beside the target by who was killed in the middle of work; nothing of who still works."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.lock-*"):
        with suppress(OSError):
            with path.open("r+b") as lock:
                if _lock(lock) is not True:
                    continue
                _put_back(_old_of(_work_of(path)), target)
                _remove(_work_of(path))
            path.unlink(missing_ok=True)


def put_in_place_if(target: Path, is_complete: Callable[[Path], bool], foreign: Foreign) -> bool:
    """Give a folder the target's name that who was killed had completed but for that, and say whether there was one."""
    target = _resolved(target)
    for path in target.parent.glob(f".{glob.escape(target.name)}.lock-*"):
        with suppress(OSError):
            with path.open("r+b") as lock:
                work = _work_of(path)
                if _lock(lock) is not True or not work.is_dir() or not is_complete(work):
                    continue
                _put_in_place(work, target, foreign, overwrite=True)
                _remove(work)
            with suppress(OSError):  # an open file has to stay on Windows, so only now
                path.unlink(missing_ok=True)
            return True
    return False


def _put_back(old: Path, target: Path) -> None:
    """Give an old folder its name again if who wanted to replace it was killed between two steps; else delete it."""
    if old.is_dir():
        if target.exists():
            _remove(old)
        else:
            old.rename(target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _lock(file: IO[bytes]) -> bool | None:
    """Take the lock of an open file and say whether that went well; None where the system knows no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK) else None
    return True


def _flush(path: Path) -> None:
    """Wait until a file, or the list of names of a folder, is on the disk itself: power may go at any time."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there, and names are kept by the system's own journal
    file = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network folders cannot
            raise
    finally:
        os.close(file)


def _flush_all(folder: Path) -> None:
    for inside, _, names in os.walk(folder, topdown=False):
        for name in names:
            _flush(Path(inside) / name)
        _flush(Path(inside))


# Folders that are there already.


def _refuse_what_must_stay(target: Path, foreign: Foreign, *, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise OutputError(f"The output folder {target} is a file.\nName a folder.")
    try:
        found = foreign(target) if any(target.iterdir()) else ()
    except OSError as error:
        raise unwritable(target, error) from None
    if found is None:
        raise OutputError(
            f"The output folder {target} exists already and is no run of sfumato, so it is never overwritten.\n"
            "Choose another folder."
        )
    if found:
        shown = ", ".join(map(repr, found[:5])) + (f" and {len(found) - 5:,} more" if len(found) > 5 else "")
        raise OutputError(
            f"The output folder {target} holds what its run did not write: {shown}. So it is never overwritten.\n"
            "Move these away, or choose another folder."
        )
    if not overwrite:
        raise OutputError(f"The output folder {target} exists already.\nChoose another, or add --overwrite.")


def _put_in_place(temporary: Path, target: Path, foreign: Foreign, *, overwrite: bool) -> None:
    """Give the new folder its name. An old one is deleted last, when the new one is there to stay."""
    _flush_all(temporary)
    _refuse_what_must_stay(target, foreign, overwrite=overwrite)  # things may have changed since we began
    if target.exists() and _exchanged(temporary, target):
        _flush(target.parent)
        return  # the old one has the hidden name now, and goes with it
    if not target.exists():
        temporary.rename(target)
        _flush(target.parent)
        return
    old = _old_of(temporary)
    target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        old.rename(target)
        raise
    _flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _old_of(temporary: Path) -> Path:
    """Return where an old folder waits while a new one takes its name in two steps."""
    return temporary.with_name(temporary.name.replace(".tmp-", ".old-"))


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders swap their names in one step, and say whether the system could."""
    here, swap = -100, 2  # paths are not relative to an open folder; Linux and macOS have the same number for a swap
    try:
        library = ctypes.CDLL(None)
        if hasattr(library, "renameat2"):
            return bool(library.renameat2(here, os.fsencode(one), here, os.fsencode(other), swap) == 0)
        return bool(library.renamex_np(os.fsencode(one), os.fsencode(other), swap) == 0)
    except (AttributeError, OSError, TypeError):  # another system, an old one, or another C library
        return False


def swap_files(new: Path, target: Path) -> None:
    """Let a file take the name of another one, for the same people; the other one, if there is one, takes its name."""
    _flush(new)
    if not target.exists():
        new.replace(target)
    else:
        shutil.copystat(target, new)
        os.utime(new)
        about = target.stat()
        if hasattr(os, "chown"):
            with suppress(PermissionError):  # who is no administrator gives no file away
                os.chown(new, about.st_uid, about.st_gid)
        if not _exchanged(new, target):
            old = new.with_name(f"{new.name}.old")
            shutil.copy2(target, old)
            new.replace(target)
            old.replace(new)
    _flush(target.parent)


_ABOUT_WRITING = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENAMETOOLONG}
)


def _number_of(error: OSError) -> int | None:
    """Return the system's number of an error; pyarrow has it in its words."""
    if error.errno is not None:
        return error.errno
    text = str(error)
    return next((number for number in _ABOUT_WRITING if f"errno {number}]" in text.lower()), None)


def unwritable(target: Path, error: Exception) -> OutputError:
    """Return the error for a place that cannot be written, with the system's reason."""
    number = _number_of(error) if isinstance(error, OSError) else None
    reason = os.strerror(number) if number is not None else "the system refuses it"
    todo = "Free some space" if number in (errno.ENOSPC, errno.EDQUOT) else "Check the path and its permissions"
    return OutputError(f"{target} cannot be written: {reason}.\n{todo}, or choose another place.")
