"""A store that gives nothing another name, as some that hold objects: its calls fail in every process of a command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from families import plan_in

COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(sys.platform != "linux", reason="calls of the system are replaced as on Linux"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler to make such a store with"),
]
# Below the folder that STORE names, renaming is a function that is not implemented.
CALLS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int refused(const char *path) {
    const char *store = getenv("STORE");
    if (store == NULL || strncmp(path, store, strlen(store)) != 0) return 0;
    errno = ENOSYS;
    return 1;
}
int rename(const char *from, const char *to) {
    if (refused(to)) return -1;
    return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    if (refused(to)) return -1;
    return ((int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat"))(a, from, b, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned int flags) {
    if (refused(to)) return -1;
    return ((int (*)(int, const char *, int, const char *, unsigned int))dlsym(RTLD_NEXT, "renameat2"))(
        a, from, b, to, flags);
}
"""


@pytest.fixture
def store(tmp_path):
    """A folder without renaming, and the environment in which it is one."""
    (tmp_path / "calls.c").write_text(CALLS, encoding="utf-8")
    library = tmp_path / "calls.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, tmp_path / "calls.c", "-ldl"], check=True)
    (tmp_path / "store").mkdir()
    return tmp_path / "store", os.environ | {"LD_PRELOAD": str(library), "STORE": str(tmp_path / "store")}


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_store_without_rename_is_refused_before_work_and_nothing_is_left(engine, store, tmp_path):
    folder, environment = store
    words = ["anonymize", plan_in(tmp_path, "classes"), "--out", folder / "run", "--engine", engine]
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", *words], env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 2, done.stderr
    assert "does not rename folders" in done.stderr
    assert "copy the finished run" in done.stderr
    assert list(folder.iterdir()) == []


def test_the_same_store_with_its_calls_takes_a_run(store, tmp_path):
    folder, _ = store
    words = ["anonymize", plan_in(tmp_path, "classes"), "--out", folder / "run", "--no-measure", "--no-attack"]
    done = subprocess.run([sys.executable, "-m", "sfumato", *words], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["run"]
