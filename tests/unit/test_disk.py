"""Files and folders: all or nothing."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato import disk
from sfumato.disk import atomic_file, atomic_folder
from sfumato.errors import OutputError


def foreign(folder):
    inside = [path.name for path in folder.iterdir()]
    return [name for name in inside if name != "release"] if "release" in inside else None


def a_run(folder):
    (folder / "release").mkdir()
    (folder / "release" / "release.json").write_text("{}", encoding="utf-8")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_as_a_whole(tmp_path):
    target = tmp_path / "out"
    with atomic_folder(target) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(".out.tmp-")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700 or os.name != "posix"
        assert not target.exists()
        (folder / "x").write_text("1", encoding="utf-8")
    assert names(tmp_path) == ["out"]
    assert (target / "x").read_text(encoding="utf-8") == "1"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_a_failure(tmp_path, failure):
    def work(output):
        with output(tmp_path / "out") as temporary:
            (temporary / "x" if temporary.is_dir() else temporary).write_text("1", encoding="utf-8")
            raise failure

    for output in (atomic_folder, atomic_file):
        with pytest.raises(failure):
            work(output)
    assert names(tmp_path) == []


def test_an_old_run_stays_until_the_new_one_is_whole(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    a_run(target)
    with pytest.raises(OutputError, match="exists already"), atomic_folder(target):
        pass
    with pytest.raises(ValueError, match="boom"), atomic_folder(target, overwrite=True, foreign=foreign):
        raise ValueError("boom")
    assert names(target) == ["release"]
    with atomic_folder(target, overwrite=True, foreign=foreign) as folder:
        (folder / "new").touch()
        assert names(target) == ["release"]
    assert names(target) == ["new"]
    assert names(tmp_path) == ["out"]


def test_an_empty_folder_can_be_overwritten_and_a_strange_one_never(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    with pytest.raises(OutputError, match="exists already"), atomic_folder(target):
        pass
    with atomic_folder(target, overwrite=True, foreign=foreign) as folder:
        (folder / "thesis.doc").touch()
    for overwrite in (True, False):
        with (
            pytest.raises(OutputError, match="never overwritten"),
            atomic_folder(target, overwrite=overwrite, foreign=foreign),
        ):
            pass
    assert names(target) == ["thesis.doc"]


def test_a_folder_that_appears_meanwhile_is_not_overwritten(tmp_path):
    def work(name):
        with atomic_folder(tmp_path / "out"):
            (tmp_path / "out").mkdir()
            if name:
                (tmp_path / "out" / name).touch()

    with pytest.raises(OutputError, match="exists already"):
        work(None)
    (tmp_path / "out").rmdir()
    with pytest.raises(OutputError, match="never overwritten"):
        work("thesis.doc")
    assert names(tmp_path) == ["out"]


def test_what_a_run_did_not_write_is_named_and_stays(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    a_run(target)
    (target / "thesis.doc").touch()
    with pytest.raises(OutputError, match=r"thesis\.doc"), atomic_folder(target, overwrite=True, foreign=foreign):
        pass
    assert names(target) == ["release", "thesis.doc"]


def test_a_failed_swap_puts_the_old_run_back(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    a_run(target)
    rename = Path.rename

    def failing(self, goal):
        if ".tmp-" in self.name:
            raise OSError(errno.EIO, "broken")
        return rename(self, goal)

    monkeypatch.setattr(disk, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match="Input/output error"), atomic_folder(target, overwrite=True, foreign=foreign):
        pass
    assert names(tmp_path) == ["out"]
    assert names(target) == ["release"]


def killed(folder, *, swap):
    """Replace a run, and die after the first step that changes a name, whichever way names are changed."""
    code = """
import os, pathlib, signal, sys
from sfumato import disk
folder, swap = pathlib.Path(sys.argv[1]), sys.argv[2] == "swap"
rename, exchanged = pathlib.Path.rename, disk._exchanged

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

pathlib.Path.rename = lambda self, to: (rename(self, to), self.name == "before" or die())  # that one tries the store
disk._exchanged = lambda one, other: swap and exchanged(one, other) and die()
with disk.atomic_folder(folder / "out", overwrite=True, foreign=lambda folder: []) as temporary:
    (temporary / "new").touch()
"""
    done = subprocess.run([sys.executable, "-c", code, str(folder), "swap" if swap else "steps"], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names cannot be exchanged in one step here")
def test_names_are_exchanged_in_one_step(tmp_path):
    (tmp_path / "out").mkdir()
    a_run(tmp_path / "out")
    killed(tmp_path, swap=True)
    assert names(tmp_path / "out") == ["new"]  # at no moment was there neither

    with atomic_folder(tmp_path / "out", overwrite=True, foreign=lambda folder: []) as temporary:
        (temporary / "newer").touch()
    assert names(tmp_path) == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="nobody can be killed like this there")
def test_where_names_cannot_be_exchanged_the_next_one_puts_the_old_folder_back(tmp_path):
    (tmp_path / "out").mkdir()
    a_run(tmp_path / "out")
    killed(tmp_path, swap=False)
    assert not (tmp_path / "out").exists()

    with pytest.raises(OutputError, match="exists already"), atomic_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["release"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(OutputError, match="is a file"),
        atomic_folder(tmp_path / "file", overwrite=True, foreign=foreign),
    ):
        pass
    with pytest.raises(OutputError, match="is a folder"), atomic_file(tmp_path):
        pass
    for output in (atomic_folder, atomic_file):
        with pytest.raises(OutputError, match="there is no folder"), output(tmp_path / "no" / "out"):
            pass
        with pytest.raises(OutputError, match="there is no folder"), output(tmp_path / "file" / "out"):
            pass
        with pytest.raises(OutputError, match="name too long"), output(tmp_path / ("x" * 250)):
            pass
    with pytest.raises(OutputError, match="root of the file system"), atomic_folder(Path("/")):
        pass


@pytest.mark.no_root
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    for output in (atomic_folder, atomic_file):
        with pytest.raises(OutputError, match="Permission denied"), output(tmp_path / "out"):
            pass


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("Error writing. Detail: [errno 28] No space left on device"),
    ],
)
def test_a_full_disk_is_said_as_such(tmp_path, error):
    for output in (atomic_folder, atomic_file):
        with pytest.raises(OutputError, match="No space left on device"), output(tmp_path / "out"):
            raise error
    assert names(tmp_path) == []


def test_errors_that_are_not_about_writing_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_folder(tmp_path / "out"):
        raise FileNotFoundError(errno.ENOENT, "other")


def test_a_file_appears_as_a_whole_and_may_be_replaced(tmp_path):
    target = tmp_path / "report.html"
    for text in ("1", "2"):
        with atomic_file(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
        assert target.read_text(encoding="utf-8") == text
    assert names(tmp_path) == ["report.html"]
    with pytest.raises(OutputError, match="exists already"), atomic_file(target, overwrite=False):
        pass
    target.chmod(0o640)
    with atomic_file(target) as temporary:
        temporary.write_text("3", encoding="utf-8")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640 or os.name != "posix"


@pytest.mark.posix
def test_a_link_leads_to_the_folder_itself(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_folder(tmp_path / "link", overwrite=True, foreign=foreign) as folder:
        (folder / "x").touch()
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["x"]


# Who was killed, and who still works.

DIES = """
import os, signal, sys
from pathlib import Path
from sfumato import disk
from sfumato.disk import atomic_file, atomic_folder

with (atomic_folder if sys.argv[1] == "folder" else atomic_file)(Path("out")) as work:
    (work / "x" if work.is_dir() else work).write_text("half")
    if sys.argv[2] == "wait":
        print("ready", flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def worker(folder, kind, then="die", **options):
    return subprocess.Popen([sys.executable, "-c", DIES, kind, then], cwd=folder, **options)


@pytest.mark.skipif(os.name != "posix", reason="kills itself by a signal")
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_a_killed_process_left_is_swept_up(tmp_path, kind):
    assert worker(tmp_path, kind).wait() == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    assert all(name.startswith(".out.") for name in names(tmp_path))
    with atomic_folder(tmp_path / "out") as folder:
        assert len(names(tmp_path)) == 2  # ours
        assert names(folder) == []
    assert names(tmp_path) == ["out"]


@pytest.mark.skipif(os.name != "posix", reason="kills itself by a signal")
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_another_process_works_on_is_left_alone(tmp_path, kind):
    other = worker(tmp_path, kind, "wait", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"ready\n"
    before = names(tmp_path)
    with atomic_folder(tmp_path / "out") as folder:
        assert set(before) < set(names(tmp_path))
        (folder / "x").touch()
    assert names(tmp_path) == [*before, "out"]
    other.communicate()
    with atomic_file(tmp_path / "out2") as file:  # another target: not its mess
        file.write_text("", encoding="utf-8")
    assert names(tmp_path) == [*before, "out", "out2"]


def test_what_only_lacked_its_name_gets_it_also_where_open_files_cannot_be_deleted(tmp_path, monkeypatch):
    """As on Windows: the lock of who was killed is held while its work is put in place."""
    (tmp_path / ".out.lock-0123abcd").touch()
    (tmp_path / ".out.tmp-0123abcd").mkdir()
    a_run(tmp_path / ".out.tmp-0123abcd")
    (tmp_path / ".out.lock-4567cdef").touch()  # of somebody who had not come far
    held, real_lock, real_unlink = [], disk._lock, Path.unlink

    def lock(file):
        held.append(file)
        return real_lock(file)

    def unlink(path, missing_ok=False):
        if any(not file.closed and file.name == str(path) for file in held):
            raise PermissionError(errno.EACCES, "used by another process", str(path))
        real_unlink(path, missing_ok)

    monkeypatch.setattr(disk, "_lock", lock)
    monkeypatch.setattr(Path, "unlink", unlink)

    assert disk.put_in_place_if(tmp_path / "out", lambda folder: (folder / "release").is_dir(), foreign)
    assert names(tmp_path) == [".out.lock-4567cdef", "out"]
    assert not disk.put_in_place_if(tmp_path / "out", lambda folder: True, foreign)


def test_a_lock_that_is_swept_away_at_birth_is_made_again(tmp_path, monkeypatch):
    real, seen = disk._lock, []

    def late(file):
        if not seen:
            (left,) = tmp_path.glob(".out.lock-*")
            left.unlink()  # somebody took it for a dead one before it was locked
        seen.append(real(file))
        return seen[-1]

    monkeypatch.setattr(disk, "_lock", late)
    with atomic_folder(tmp_path / "out") as folder:
        assert len(list(tmp_path.glob(".out.lock-*"))) == 1
        assert folder.exists()
    assert seen == [True, True]
    assert names(tmp_path) == ["out"]


def test_without_locks_work_goes_on_and_nothing_is_swept_up(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "_lock", lambda file: None)
    (tmp_path / ".out.lock-1").touch()
    (tmp_path / ".out.tmp-1").touch()
    with atomic_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == [".out.lock-1", ".out.tmp-1", "out"]


# Power may go at any time.


@pytest.mark.parametrize("old", [False, True])
def test_a_folder_is_on_the_disk_before_it_has_its_name_and_before_the_old_one_goes(tmp_path, monkeypatch, old):
    if old:
        (tmp_path / "out").mkdir()
        a_run(tmp_path / "out")
    happened = []
    flush, rename, remove = disk._flush, Path.rename, shutil.rmtree
    monkeypatch.setattr(disk, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(disk, "_flush", lambda path: (happened.append(("flush", path.name)), flush(path))[1])
    monkeypatch.setattr(Path, "rename", lambda self, to: (happened.append(("rename", to.name)), rename(self, to))[1])
    monkeypatch.setattr(shutil, "rmtree", lambda path, **how: (happened.append(("remove", "")), remove(path, **how))[1])
    with atomic_folder(tmp_path / "out", overwrite=old, foreign=foreign) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "data.csv").write_text("1", encoding="utf-8")
        (folder / "run.json").write_text("{}", encoding="utf-8")
    placed = happened.index(("rename", "out"))
    assert {("flush", "data.csv"), ("flush", "inner"), ("flush", "run.json"), ("flush", folder.name)} <= set(
        happened[:placed]
    )
    assert happened[placed + 1 :] == [("flush", tmp_path.name), *([("remove", "")] if old else [])]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    happened = []
    flush = disk._flush
    monkeypatch.setattr(disk, "_flush", lambda path: (happened.append((path, (tmp_path / "a").exists())), flush(path)))
    with atomic_file(tmp_path / "a") as temporary:
        temporary.write_text("1", encoding="utf-8")
    assert happened == [(temporary, False), (tmp_path, True)]


def test_a_folder_that_cannot_be_flushed_is_fine_and_a_broken_disk_is_not(tmp_path, monkeypatch):
    def fails(number):
        def fsync(file):
            raise OSError(number, os.strerror(number))

        return fsync

    monkeypatch.setattr(os, "fsync", fails(errno.EINVAL))
    with atomic_file(tmp_path / "a") as temporary:
        temporary.write_text("1", encoding="utf-8")
    monkeypatch.setattr(os, "fsync", fails(errno.EIO))
    with pytest.raises(OutputError, match="Input/output error"), atomic_file(tmp_path / "b") as temporary:
        temporary.write_text("1", encoding="utf-8")
    assert names(tmp_path) == ["a"]
