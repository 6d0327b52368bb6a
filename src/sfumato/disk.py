"""Files and folders on disk: written as a whole or not at all."""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import platform
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, OutputError


def read_numbered(path: Path, newest: int, refusal: str) -> dict[str, Any]:
    """Return the JSON object in a file that carries the number of its format, from 1 to the newest known here."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.\nCheck its permissions.") from None
    except ValueError:
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


def nothing(folder: Path) -> bool:
    """Whether a folder may be replaced: none may."""
    return False


@contextmanager
def atomic_folder(target: Path, overwrite: bool = False, *, is_run: Callable[[Path], bool] = nothing) -> Iterator[Path]:
    """Yield a folder beside the target, for its owner only, that takes the target's name when all went well.

    After an error, or when the user stops the work, nothing of it is left. An existing run is replaced only with
    `overwrite`, and anything else that exists is not touched at all, unless it is an empty folder.
    """
    target = _resolved(target)
    _refuse_what_must_stay(target, is_run, overwrite=overwrite)
    _sweep_up(target)
    temporary = _beside(target, "tmp")
    try:
        temporary.mkdir(mode=0o700)
    except OSError as error:
        raise unwritable(target, error) from None
    try:
        yield temporary
        _put_in_place(temporary, target, is_run, overwrite=overwrite)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and _is_about_writing(error):
            raise unwritable(target, error) from None
        if isinstance(error, OutputError):  # nobody asked for the hidden folder
            raise OutputError(str(error).replace(str(temporary), str(target))) from None
        raise


@contextmanager
def atomic_file(target: Path, overwrite: bool = True) -> Iterator[Path]:
    """Yield a path beside the target; the file written there takes the target's name when all went well."""
    target = _resolved(target)
    exists = os.path.exists(target)  # noqa: PTH110 - unlike its sibling, this one does not mind permissions
    if exists and target.is_dir():
        raise OutputError(f"The output file {target} is a folder.\nName a file.")
    if exists and not overwrite:
        raise OutputError(f"The output file {target} exists already.\nChoose another, or allow to overwrite it.")
    _sweep_up(target)
    temporary = _beside(target, "tmp")
    try:
        temporary.touch(mode=0o600)
        temporary.chmod(target.stat().st_mode & 0o777 if exists else 0o666 & ~_umask())
    except OSError as error:
        raise unwritable(target, error) from None
    try:
        yield temporary
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and _is_about_writing(error):
            raise unwritable(target, error) from None
        raise


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


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{what}-{_HOST}-{os.getpid()}-{secrets.token_hex(4)}")


# Work of other machines may lie in a shared folder: nobody here knows whether it still goes on.
_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def _sweep_up(target: Path) -> None:
    """Delete what processes of this machine left beside the target when they were killed in the middle of work."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.tmp-{_HOST}-*"):
        owner = left.name.rpartition(f".tmp-{_HOST}-")[2].partition("-")[0]
        if owner.isdecimal() and not _runs(int(owner)):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Whether a process of this machine still runs; in doubt it does."""
    if os.name != "posix":
        return True  # asking there would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _refuse_what_must_stay(target: Path, is_run: Callable[[Path], bool], *, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise OutputError(f"The output folder {target} is a file.\nName a folder.")
    try:
        replaceable = is_run(target) or not any(target.iterdir())
    except OSError as error:
        raise unwritable(target, error) from None
    if not replaceable:
        raise OutputError(
            f"The output folder {target} exists already and is no run of sfumato, so it is never overwritten.\n"
            "Choose another folder."
        )
    if not overwrite:
        raise OutputError(f"The output folder {target} exists already.\nChoose another, or add --overwrite.")


def _put_in_place(temporary: Path, target: Path, is_run: Callable[[Path], bool], *, overwrite: bool) -> None:
    """Rename the new folder; an old one makes room first and is deleted last."""
    _refuse_what_must_stay(target, is_run, overwrite=overwrite)  # things may have changed since we began
    if not target.exists():
        temporary.rename(target)
        return
    old = _beside(target, "old")
    target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


_ABOUT_WRITING = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENAMETOOLONG}
)


def _number_of(error: OSError) -> int | None:
    """Return the system's number of an error; pyarrow has it in its words."""
    if error.errno is not None:
        return error.errno
    text = str(error)
    return next((number for number in _ABOUT_WRITING if f"errno {number}]" in text.lower()), None)


def _is_about_writing(error: OSError) -> bool:
    return _number_of(error) in _ABOUT_WRITING


def unwritable(target: Path, error: Exception) -> OutputError:
    """Return the error for a place that cannot be written, with the system's reason."""
    number = _number_of(error) if isinstance(error, OSError) else None
    reason = os.strerror(number) if number is not None else "the system refuses it"
    todo = "Free some space" if number in (errno.ENOSPC, errno.EDQUOT) else "Check the path and its permissions"
    return OutputError(f"{target} cannot be written: {reason}.\n{todo}, or choose another place.")
