"""Where compiled loops are kept, and that they work where nothing can be kept."""

from __future__ import annotations

import gc
import linecache
import os
import pickle
import subprocess
import sys
from importlib import import_module, invalidate_caches
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import sfumato
from sfumato import compiling
from sfumato.cli import terminal
from sfumato.compiling import loops

pytestmark = pytest.mark.slow  # each starts an interpreter of its own

LOOP = """
import sys
from sfumato.compiling import kernel

@kernel
def add_up(numbers):
    total = 0
    for number in numbers:
        total += number
    return total

"""
PROCESS = """
import numpy as np
if "--full" in sys.argv:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no byte can be written, as on a full disk
print(add_up(np.arange(5)), sum(add_up.stats.cache_hits.values()))
"""


@pytest.fixture
def place(tmp_path):
    """A folder with a loop in it, where numba finds no folder to keep compiled code in."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "loop.py").write_text(LOOP + PROCESS, encoding="utf-8")
    (code / "__pycache__").write_text("a file, so nothing can be put into it", encoding="utf-8")
    return tmp_path


def run(place, *arguments, **environment):
    nowhere = str(place / "code" / "loop.py" / "nowhere")
    settings = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "NUMBA_CACHE_DIR": nowhere, **environment}
    python_path = str(Path(sfumato.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(place / "code" / "loop.py"), *arguments],
        env=os.environ | settings | {"PYTHONPATH": python_path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    found, hits = done.stdout.split()
    assert found == "10"
    return int(hits)


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_where_nothing_can_be_written_loops_work_all_the_same(place):
    before = files(place)

    assert run(place) == 0
    assert run(place) == 0
    assert files(place) == before


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_they_are_kept_where_the_user_can_write(place, variable):
    store = place / "store"

    assert run(place, **{variable: str(store)}) == 0
    assert files(store)
    assert run(place, **{variable: str(store)}) == 1


def test_they_are_kept_beside_the_source_where_that_can_be_written(place):
    (place / "code" / "__pycache__").unlink()
    nothing = {"NUMBA_CACHE_DIR": ""}

    assert run(place, **nothing) == 0
    assert run(place, **nothing) == 1
    assert list((place / "code" / "__pycache__").glob("*.nbc"))


@pytest.mark.posix
def test_a_full_disk_costs_nothing_but_time(place):
    store = place / "store"

    assert run(place, "--full", NUMBA_CACHE_DIR=str(store)) == 0
    assert files(store) == []


def cut_short(content):
    return content[: len(content) // 2]


def one_bit_off(content):
    return content[:-200] + bytes([content[-200] ^ 1]) + content[-199:]


def of_another_kind(content):
    return pickle.dumps(numba.__version__) + pickle.dumps(["not", "an", "index"])


def of_another_version(content):
    return content.replace(numba.__version__.encode(), b"9" * len(numba.__version__))


def nothing(content):
    return b""


def garbage(content):
    return b"damaged"


DAMAGES = [nothing, garbage, cut_short, one_bit_off, of_another_kind]


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that loads the loop as a process would that starts now; says how often the store was of use."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(source=LOOP, **others):
        for name, content in {"a_loop": source, **others}.items():
            (tmp_path / f"{name}.py").write_text(content, encoding="utf-8")
            monkeypatch.delitem(sys.modules, name, raising=False)
        for known in (compiling._source_of, compiling._imported_by, compiling._stamp_of):
            known.cache_clear()
        invalidate_caches()
        linecache.clearcache()
        module = import_module("a_loop")
        return int(module.add_up(np.arange(5))), sum(module.add_up.stats.cache_hits.values())

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return load


@pytest.mark.parametrize(("ending", "damage"), [*product(["*.nbi", "*.nbc"], DAMAGES), ("*.nbi", of_another_version)])
def test_damaged_and_foreign_files_cost_nothing_but_time(load, tmp_path, ending, damage):
    assert load() == (10, 0)
    assert load() == (10, 1)
    for path in (tmp_path / "store").rglob(ending):
        path.write_bytes(damage(path.read_bytes()))

    assert load() == (10, 0)
    assert load() == (10, 1)  # they were replaced


def kept(folder, ending, name):
    (found,) = folder.rglob(f"*.{name}-*{ending}")
    return found


@pytest.mark.parametrize("endings", [[".nbc"], [".nbi"], [".nbi", ".nbc"]], ids=" and ".join)
def test_what_was_kept_of_another_loop_is_not_run_for_it(load, tmp_path, endings):
    both = LOOP + LOOP.replace("add_up", "count_up").replace("total += number", "total += 1")
    load(both)
    assert sys.modules["a_loop"].count_up(np.arange(5)) == 5
    for ending in endings:
        kept(tmp_path, ending, "add_up").write_bytes(kept(tmp_path, ending, "count_up").read_bytes())

    assert load(both) == (10, 0)
    assert load(both) == (10, 1)


def test_what_was_kept_for_other_types_is_not_run(load, tmp_path):
    """As two processes leave it that compile one loop for different types at the same time."""
    load()
    assert sys.modules["a_loop"].add_up(np.arange(5.0)) == 10.0
    one, other = sorted(tmp_path.rglob("*.nbc"))
    one.write_bytes(other.read_bytes())

    assert load() == (10, 0)
    assert load() == (10, 1)


def test_old_code_beside_a_new_index_is_not_run(load, tmp_path):
    """As somebody leaves it who is killed, or has no room left, between the two."""
    loop = f"from sfumato_constants import START\n{LOOP.replace('total = 0', 'total = START')}"
    load(loop, sfumato_constants="START = 0\n")
    old = kept(tmp_path, ".nbc", "add_up").read_bytes()
    load(loop, sfumato_constants="START = 7\n")
    kept(tmp_path, ".nbc", "add_up").write_bytes(old)

    assert load(loop, sfumato_constants="START = 7\n") == (17, 0)
    assert load(loop, sfumato_constants="START = 7\n") == (17, 1)


def test_a_folder_in_place_of_a_file_costs_nothing_but_time(load, tmp_path):
    load()
    for path in files(tmp_path / "store"):
        path.unlink()
        path.mkdir()

    assert load() == (10, 0)


def test_loops_are_compiled_anew_when_a_module_that_they_import_changes(load):
    loop = f"from sfumato_constants import START\n{LOOP.replace('total = 0', 'total = START')}"
    assert load(loop, sfumato_constants="START = 0\n") == (10, 0)
    assert load(loop, sfumato_constants="START = 7\n") == (17, 0)
    assert load(loop, sfumato_constants="START = 7\n") == (17, 1)


@pytest.mark.parametrize(
    "settings",
    [{"NUMBA_NUM_THREADS": "abc"}, {"NUMBA_OPT": "abc"}, {"NUMBA_THREADING_LAYER": "abc"}, {"NUMBA_BOUNDSCHECK": "1"}],
)
def test_odd_settings_of_the_compiler_do_no_harm(place, settings):
    run(place, **settings)


@pytest.mark.parametrize("side", ["sfumato.kernels.classes.units", "sfumato.models.judging.closed_sets"])
def test_both_sides_of_the_wall_are_compiled_this_way(side):
    loops = [loop for loop in vars(import_module(side)).values() if isinstance(loop, Dispatcher)]
    assert loops
    assert {type(loop._cache).__module__ for loop in loops} == {"sfumato.compiling"}


def test_who_watches_hears_of_every_loop_that_is_compiled(load):
    heard = []
    with compiling.while_compiling(heard.append, lambda: heard.append("done")):
        load()
        load()  # from disk now
    numba.njit(lambda x: x * 3)(1)

    assert heard == [compiling.Loop("a_loop.add_up", kept=True), "done"]


def test_who_waits_for_it_is_told_what_it_is_for_and_how_often_it_comes(load, capsys):
    with terminal.watching():
        load()
        load(LOOP + "# changed")

    said = " ".join(capsys.readouterr().err.split())
    assert said.count("Compiling the inner loops of this search to machine code, which makes it fast") == 1
    assert "once on this machine and after an update" in said


def test_the_garbage_collector_rests_while_loops_are_compiled(load):
    on = []
    with compiling.while_compiling(lambda loop: on.append(gc.isenabled()), lambda: on.append(gc.isenabled())):
        load()
    assert on == [False, True]
    gc.disable()
    try:
        load(LOOP + "# changed")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_settings_that_the_compiler_refuses_are_named(tmp_path):
    (tmp_path / "people.csv").write_text("age\n30\n30\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(
        '[columns.age]\nrole = "quasi-identifier"\n[[require]]\nmodel = "k-anonymity"\nk = 2\n', encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "audit", "people.csv", "--plan", "plan.toml"],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_NUM_THREADS": "0"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 2
    assert "NUMBA_NUM_THREADS" in done.stderr
    assert "unset" in done.stderr


def test_a_loop_inside_another_works_and_leaves_the_compiler_as_it_was():
    @compiling.inline_kernel
    def larger(a, b):
        if a > b:
            return a
        return b

    @compiling.kernel
    def largest(numbers):
        best = numbers[0]
        for number in numbers:
            best = larger(best, larger(number, number - 1))
        return best

    before = [(kind, name, vars(kind).get(name)) for kind, name, _ in loops._OUR_WAY]
    assert largest(np.array([3, 9, 4])) == 9
    assert [(kind, name, vars(kind).get(name)) for kind, name, _ in loops._OUR_WAY] == before
    assert not any(found is ours for (*_, found), (*_, ours) in zip(before, loops._OUR_WAY, strict=True))


CALLS = (
    LOOP
    + """
@kernel
def double(number):
    return number * 2

@kernel
def add_up_twice(numbers):
    for at in range(numbers.size):
        numbers[at] = double(numbers[at])
    return add_up(numbers) + double(0)
"""
)


def test_a_loop_that_calls_others_holds_them_and_each_is_there_for_python_too(load, tmp_path):
    names = lambda: sorted({path.name.split("-")[0] for path in (tmp_path / "store").rglob("*.nbc")})  # noqa: E731
    for held in (False, True):
        assert load(CALLS)[0] == 10
        module = sys.modules["a_loop"]
        heard = []
        with compiling.while_compiling(heard.append):
            assert module.add_up_twice(np.arange(5)) == 20
        assert sum(module.add_up_twice.stats.cache_hits.values()) == held
        assert bool(heard) != held
        assert all(loop.kept for loop in heard)
        assert names() == ["a_loop.add_up", "a_loop.add_up_twice"]  # nothing of `double` alone
    assert module.double(4) == 8
    assert names() == ["a_loop.add_up", "a_loop.add_up_twice", "a_loop.double"]


def test_operators_mean_in_each_loop_what_they_mean_for_its_types():
    @compiling.kernel
    def half(number):
        return number / 2 + number // 2

    @compiling.lean_kernel
    def halves(small, large, whole):
        return half(small), half(large), half(whole), small / large, whole / whole, whole // np.int32(3)

    values = np.float32(3), 7.5, 9
    assert halves(*values) == pytest.approx(halves.py_func(*values))


def test_a_lean_loop_neither_makes_nor_returns_arrays():
    @compiling.lean_kernel
    def add_up(numbers):
        total = 0
        for number in numbers:
            total += number
        return total, numbers.size

    @compiling.lean_kernel
    def hand_back(numbers):
        return 1, numbers

    @compiling.lean_kernel
    def make(size):
        return np.zeros(size).sum()

    assert add_up(np.arange(4)) == (6, 4)
    with pytest.raises(TypeError, match="hand_back returns an array"):
        hand_back(np.arange(4))
    with pytest.raises(numba.core.errors.NumbaError):
        make(3)


@pytest.mark.parametrize("made_before", [False, True])
def test_a_lean_loop_is_handed_no_array_by_a_loop_that_it_calls(made_before):
    @compiling.kernel
    def make(size):
        return np.arange(size)

    @compiling.kernel
    def of_both(size):
        return make(size).sum()

    @compiling.lean_kernel
    def total(size):
        return make(size)[1]

    if made_before:  # for a loop that counts who holds it
        assert of_both(3) == 3
    with pytest.raises((TypeError, numba.core.errors.NumbaError), match="array" if made_before else None):
        total(3)


class Pair(NamedTuple):
    numbers: np.ndarray
    strict: bool
    others: tuple[np.ndarray, np.ndarray]


def test_arrays_and_tuples_of_them_reach_a_loop_inside_another_as_they_are():
    @compiling.kernel
    def count(pair, least, both, plane):
        found = plane[1, 0] * 1000
        for number in pair.numbers:
            found += number > least if pair.strict else number >= least
        pair.others[1][0] = found
        return found + pair.others[0].size * 100 + both[0].size * 10 + both[1], pair

    @compiling.kernel
    def count_twice(pair, plane):
        once, same = count(pair, 1, (pair.numbers[1:], 1), plane)
        twice, _ = count(same, 2.0, (same.others[0], 2), plane.T)
        return once, twice, same.others[1][0]

    pair = lambda strict: Pair(np.arange(4), strict, (np.zeros(2), np.zeros(1, dtype=np.int64)))  # noqa: E731
    plane = np.array([[1, 2], [3, 4]])
    for strict in (False, True):
        assert count_twice(pair(strict), plane) == count_twice.py_func(pair(strict), plane)


def test_arrays_are_let_go_when_nobody_holds_them():
    @compiling.kernel
    def part_of(numbers, size):
        made = [numbers[place:] for place in range(size)]
        return made.pop(), np.zeros(size)

    @compiling.kernel
    def last(pair, size):
        rest, zeros = part_of(pair.numbers, size)
        for _ in range(3):
            rest, zeros = part_of(rest, zeros.size - 1)
        return rest

    numbers = np.arange(20)
    held = sys.getrefcount(numbers)
    rtsys, counting = numba.core.runtime.rtsys, numba.core.runtime._nrt_python
    rtsys.initialize(last.targetctx)
    counting.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    rest = last(Pair(numbers, True, (np.zeros(2), np.zeros(1))), 5)
    assert rest.tolist() == list(range(4 + 3 + 2 + 1, 20))
    del rest
    after = rtsys.get_allocation_stats()
    counting.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0
    assert sys.getrefcount(numbers) == held


class Unkept:
    """A store that keeps nothing: a loop that is loaded from disk is not compiled."""

    def __init__(self, function):
        raise OSError


def test_functions_of_numpy_are_parts_of_our_loops_and_of_others_as_ever(monkeypatch):
    monkeypatch.setattr(compiling, "_Kept", Unkept)

    @compiling.kernel
    def first(size):
        return np.full((size, 3), 7, dtype=np.int16)[1, 0]

    @numba.njit
    def also_first(size):
        return np.full((size, 3), 7, dtype=np.int16)[1, 0] + np.full(size, 2, dtype=np.int16)[0]

    heard = []
    with compiling.while_compiling(heard.append):
        assert first(2) == 7
        ours = len(heard)
        assert also_first(2) == 9
    assert ours > 1
    assert all(loop.kept for loop in heard[1:ours])  # in the loop that calls them
    assert not any(loop.kept for loop in heard[ours:])


def test_generators_and_errors_of_python_functions_stay_as_numba_has_them():
    @compiling.kernel
    def below(size):
        for number in range(size):
            yield number * number

    @compiling.kernel
    def inverse(number):
        if number == 0:
            raise ValueError("no inverse of zero")
        return 1 / number

    @compiling.kernel
    def add_up(size):
        total = 0.0
        for number in below(size):
            total += inverse(number + 1)
        return total + inverse(size - 1)

    assert add_up(3) == pytest.approx(add_up.py_func(3))
    with pytest.raises(ValueError, match="no inverse of zero"):
        add_up(1)


def test_a_loop_that_is_worth_it_is_tidied_as_numba_does_and_others_are_not(monkeypatch):
    tidied = []
    usual = loops.JITCodeLibrary._optimize_functions

    def noted(library, module):
        tidied.append(library.name.rpartition(".")[2])
        usual(library, module)

    monkeypatch.setattr(loops.JITCodeLibrary, "_optimize_functions", noted)
    monkeypatch.setattr(compiling, "_Kept", Unkept)  # what one of them left would do for the other

    @compiling.lean_kernel
    def doubled(value):
        return 2 * value

    def add_up(values):
        total = 0
        for value in values:
            total += doubled(value)
        return total

    assert compiling.lean_kernel(add_up)(np.arange(5)) == 20
    assert "add_up" not in tidied
    assert compiling.thorough_kernel(add_up)(np.arange(5)) == 20
    assert "add_up" in tidied
    assert "doubled" not in tidied


def test_a_loop_that_others_call_with_plain_numbers_is_compiled_once():
    @compiling.kernel
    def count(numbers, least, strict):
        found = 0
        for number in numbers:
            found += number > least if strict else number >= least
        return found

    @compiling.kernel
    def count_often(numbers):
        least = 0  # a plain number, until it grows below
        total = count(numbers, 2, False) + count(numbers, -1, strict=True)
        while least < 3:
            total += count(numbers, least, least > 1)
            least += 1
        return total

    numbers = np.arange(4)
    assert count_often(numbers) == count_often.py_func(numbers) == 2 + 4 + 4 + 3 + 1
    assert len(count.part.overloads) == 1
