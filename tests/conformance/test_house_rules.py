"""Rules of the house that can be counted: lengths, layers, places of tests, words that nothing in the project says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache

import pytest

from house import FILES, PROJECT, ROOT, layers, parsed, rooms
from sfumato.anonymizers import ANONYMIZERS
from sfumato.attacks import ATTACKS
from sfumato.data.files.source import needed
from sfumato.engines import ENGINES
from sfumato.errors import DataError
from sfumato.metrics import METRICS
from sfumato.models import PRIVACY_MODELS

LONGEST_FILE = 800
POSIX_ONLY = {  # what Windows has not, or takes for something else
    "os": {"fork", "kill", "killpg", "geteuid", "getuid", "getpgid", "setsid", "sched_getaffinity", "mkfifo", "chown"},
    "signal": {"SIGALRM", "SIGKILL", "SIGHUP", "SIGUSR1", "alarm", "setitimer", "pthread_kill"},
}
POSIX_MODULES = {"fcntl", "pwd", "grp", "resource", "termios", "pty"}


def modules_of(paths):
    return [(path.relative_to(ROOT).as_posix(), parsed(path)) for path in paths]


@cache
def nodes(tree):
    """All of a tree: walking through each of them once for all rules takes a tenth of the time."""
    return [*ast.walk(tree)]


def functions(tree):
    return [node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_no_source_file_is_longer_than_a_person_reads():
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}

    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_one_room_knows_the_web():
    """So the command line and the library start without a server."""
    users = {
        path
        for path, tree in modules_of(FILES)
        for node in nodes(tree)
        for name in imported_by(node)
        if name.partition(".")[0] in ("starlette", "uvicorn", "multipart", "python_multipart", "anyio")
    }

    assert users
    assert all(path.startswith("src/sfumato/webapp/") for path in users)


CONTRACTS = {each["name"]: each for each in PROJECT["tool"]["importlinter"]["contracts"]}
RULE = CONTRACTS["The house knows lists, never members"]
KNOWN_FAMILIES = sorted({module.split(".")[1] for module in RULE["forbidden_modules"]})
MEMBERS = {member.__name__ for family in (PRIVACY_MODELS, ANONYMIZERS, METRICS, ATTACKS) for member in family.values()}
IN_COMMON = [each.split(" -> ")[1].replace(".", r"\.").replace("*", r"\w+") for each in RULE["ignore_imports"]]


def reaching_for_members(tree):
    """Yield what a module writes to get at a single member, in whatever way: `lint-imports` sees some of them only.

    A family's `__init__` hands its members on, and so does `sfumato`; what is imported for types alone counts, too.
    """
    open_to_all = re.compile("|".join([*IN_COMMON, *(rf"sfumato\.{family}" for family in KNOWN_FAMILIES)]))
    closed = re.compile(rf"sfumato(\.({'|'.join(KNOWN_FAMILIES)})\b.*)?")
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if closed.fullmatch(each.name))
        elif isinstance(node, ast.ImportFrom):
            module, named = node.module or "", {each.name for each in node.names}
            if node.level or (module != "sfumato" and closed.fullmatch(module) and not open_to_all.fullmatch(module)):
                yield f"{'.' * node.level}{module}"
            elif module.split(".")[0] == "sfumato":
                yield from named & (MEMBERS | {"*"} | (set(KNOWN_FAMILIES) if module == "sfumato" else set()))
        elif (isinstance(node, ast.Attribute) and node.attr in MEMBERS) or (
            isinstance(node, ast.Call) and re.search(r"\b(import_module|__import__)$", ast.unparse(node.func))
        ):
            yield ast.unparse(node)


def test_the_house_gets_at_no_single_member_in_any_way():
    rooms_of_the_rule = {module.removeprefix("sfumato.") for module in RULE["source_modules"]}
    found = [
        (path, what)
        for path, tree in modules_of(FILES)
        if path.removeprefix("src/sfumato/").split("/")[0].removesuffix(".py") in rooms_of_the_rule | {"webapp", "bars"}
        for what in reaching_for_members(tree)
    ]

    assert KNOWN_FAMILIES == ["anonymizers", "attacks", "metrics", "models"]
    assert rooms_of_the_rule >= {"plan", "pipeline", "api", "cli", "report", "sweeping"}
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "from sfumato import models",
        "from sfumato import KAnonymity as K",
        "import sfumato",
        "import sfumato.models as judges",
        "import sfumato.models.k_anonymity",
        "def late():\n    import sfumato.models.k_anonymity as k",
        "from sfumato.models import KAnonymity",
        "from sfumato.attacks import *",
        "from sfumato.models.t_closeness import DISTANCES",
        "if TYPE_CHECKING:\n    from sfumato.metrics.ncp import loss",
        "from ..models import k_anonymity",
        "from .. import models",
        "importlib.import_module('sfumato.models.k_anonymity')",
        "sf.models.k_anonymity.KAnonymity",
    ],
)
def test_every_way_to_get_at_a_member_is_seen(code):
    assert [*reaching_for_members(ast.parse(code))]


# Where single members are named all the same: plans that are written for people, and a table for one attack.
NAMING = ("drafting/writing.py", "editing/presets.py", "knowledge/checking.py", "report/")


def test_the_house_names_no_single_member_but_in_plans_for_people_and_in_parts_of_the_report():
    rooms_of_the_rule = {module.removeprefix("sfumato.") for module in RULE["source_modules"]}
    names = {name for family in (PRIVACY_MODELS, ANONYMIZERS, METRICS, ATTACKS) for name in family}
    found = {}
    for path, tree in modules_of(FILES):
        inside = path.removeprefix("src/sfumato/")
        if inside.split("/")[0].removesuffix(".py") in rooms_of_the_rule | {"webapp", "bars"}:
            said = {
                each.value for each in nodes(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }
            found |= {inside: said & names} if said & names else {}

    assert found.pop("cli/questions.py") == {"statistics"}  # what --json calls them
    assert [path for path in found if not path.startswith(NAMING)] == []
    assert {path for path in NAMING if not any(each.startswith(path) for each in found)} <= {"drafting/writing.py"}


def test_parts_of_the_report_ask_for_measurements_that_there_are():
    asked = {
        argument.value
        for path, tree in modules_of(FILES)
        if path.startswith("src/sfumato/report/")
        for node in nodes(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("measurement", "columns_of")
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }

    assert len(asked) > 10
    assert asked <= set(METRICS)


def asking_for_an_engine(tree):
    """Yield where a module looks which engine it has: by its class, or by its name."""
    classes = {engine.__name__ for engine in ENGINES.values()}
    for node in nodes(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            asked = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            yield from asked & classes
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("engine.name"):
            yield from (each.value for each in node.comparators if isinstance(each, ast.Constant))


def test_nobody_outside_their_room_asks_which_engine_it_is():
    found = [
        (path, *asked)
        for path, tree in modules_of(FILES)
        if not path.startswith("src/sfumato/engines/") and (asked := [*asking_for_an_engine(tree)])
    ]

    assert found == []
    wrong = "isinstance(self.engine, LocalEngine); isinstance(a, (str, SparkEngine)); plan.engine.name == 'spark'"
    assert len([*asking_for_an_engine(ast.parse(wrong))]) == 3


def imported_by(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_every_room_has_its_layer():
    assert sorted(name for layer in layers() for name in layer) == sorted(path.stem for path in rooms())


def test_every_package_is_a_package():
    assert [path for path in FILES if not (path.parent / "__init__.py").is_file()] == []


def test_nothing_lives_in_a_room_without_a_name():
    nameless = re.compile(r"(^|_)(utils?|helpers?|common|misc)(_|$)")

    assert [path for path in FILES if nameless.search(path.stem)] == []


def in_the_encoding_of_the_system(tree):
    """Yield what reads or writes text in whatever encoding the system takes for usual."""
    awaited = {node.value for node in nodes(tree) if isinstance(node, ast.Await)}  # jobs are opened, too
    for node in nodes(tree):
        if isinstance(node, ast.Call):
            called, given = ast.unparse(node.func), {each.arg: each.value for each in node.keywords}
            name, words = called.split(".")[-1], [*node.args, *([given["mode"]] if "mode" in given else [])]
            modes = [each.value for each in words if isinstance(each, ast.Constant)]
            opened = called == "open" or (name == "open" and called != "os.open" and (modes or not words))
            text = (
                name in ("read_text", "write_text", "TextIOWrapper")
                or ("text" in given and name in ("run", "Popen", "check_output"))
                or (opened and node not in awaited and not any("b" in str(mode) for mode in modes))
            )
            if text and "encoding" not in given:
                yield ast.unparse(node)


@pytest.mark.slow
def test_every_file_of_text_is_read_and_written_in_an_encoding_that_is_said():
    beside = [path for room in ("tests", "benchmarks", "examples") for path in sorted((ROOT / room).rglob("*.py"))]
    called = [(path, call) for path, tree in modules_of(FILES + beside) for call in in_the_encoding_of_the_system(tree)]
    assert called == []
    wrong = """path.read_text(); open(path); path.open('w'); path.open(); gzip.open(path, mode='rt')
subprocess.run(words, text=True); path.write_text(some)"""
    right = """path.read_text(encoding='utf-8'); path.open('rb'); path.open(mode='rb'); os.open(path, 1)
await jobs.open(); subprocess.run(words)"""
    assert len([*in_the_encoding_of_the_system(ast.parse(wrong))]) == 7
    assert not [*in_the_encoding_of_the_system(ast.parse(right))]


def of_posix_alone(function):
    """What a function uses that Windows has not: calls, signals, modules, and ways to start a process."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in POSIX_ONLY.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from POSIX_MODULES.intersection(imported_by(node))
        elif isinstance(node, ast.keyword | ast.Constant):
            word = node.arg if isinstance(node, ast.keyword) else node.value
            if word in ("start_new_session", "preexec_fn", "pass_fds", "process_group"):
                yield word


def test_what_one_system_lacks_is_asked_for_first():
    """A call that only POSIX has stands in a function that looks which system it is on."""
    bare, found = [], set()
    for path, tree in modules_of(FILES):
        for function in functions(tree):
            used = list(of_posix_alone(function))
            found |= set(used)
            if used and not re.search(r"hasattr\(|os\.name|sys\.platform", ast.unparse(function)):
                bare.append((path, function.name, used))
    assert bare == []
    assert {"os.fork", "fcntl", "resource", "start_new_session"} <= found, "what is looked for is found"
    for path in [*FILES, *(ROOT / "tests").rglob("*.py")]:
        imports = re.findall(r"^import (.+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        imported = {name.split(" as ")[0].strip() for line in imports for name in line.split(",")}
        assert not imported & POSIX_MODULES, path


def tracked():
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if found.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_installs_sfumato_by_its_name():
    """The name on the public index is not ours: `.`, a file or a git address says which sfumato is meant."""
    by_name = re.compile(
        rb"\b(?:pip3?|pipx|uv|poetry)\s+(?:\w+\s+)?(?:install|add)\s+(?:[^`;&|#\n]*?\s)??['\"]?"
        rb"sfumato(?:\[[\w, -]*\])?+(?![\w/-]|\.\w|\s*@)"
    )
    command = b"pip install "
    for named in (b"sfumato", b"sfumato.", rb"sfumato\n", b"-q 'sfumato[excel]'", b'"sfumato>=1"', b"numpy sfumato"):
        assert by_name.search(command + named), named
    for told in (
        b".",
        b"'.[excel]'",
        b"dist/sfumato-1-py3-none-any.whl",
        b"sfumato-1.whl",
        b"'sfumato @ git+https://x'",
    ):
        assert not by_name.search(command + told), told

    assert [path.relative_to(ROOT).as_posix() for path in tracked() if by_name.search(path.read_bytes())] == []


def test_a_missing_library_is_named_as_the_project_names_it(monkeypatch):
    """The error makes the name of what to install from the name of the module: one that is wrong could be anyone's."""
    extras = {
        re.match(r"[\w-]+", each)[0] for of in PROJECT["project"]["optional-dependencies"].values() for each in of
    }
    modules = {
        module
        for path in FILES
        for module in re.findall(r"""(?<!\.)\bneeded\("([\w.]+)", """, path.read_text(encoding="utf-8"))
    }

    assert "duckdb" in modules
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(DataError) as error:
            needed(module, ROOT / "table")
        assert re.search(r"pip install ([\w-]+)\.$", str(error.value))[1] in extras


def test_nothing_is_left_to_be_done_and_no_machine_is_named():
    said = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b|/ho" r"me/\w|/wo" r"rk/\w|/ro" r"ot/\w")
    found = []
    for path in tracked():
        if path.suffix in (".py", ".md", ".toml", ".yml", ".yaml", ".cff", ".html", ".css", ".json", ".csv", ".txt"):
            text = path.read_text(encoding="utf-8")
            found += [(path.name, match[0]) for match in said.finditer(text)]

    assert found == []


@pytest.mark.slow
def test_every_test_can_fail():
    """Each test asserts, expects an error, or hands the work to a function of its module that does."""
    idle = []
    for path, tree in modules_of(sorted((ROOT / "tests").rglob("test_*.py"))):
        named = {function.name: function for function in functions(tree) if not is_fixture(function)}
        asserting = {name for name, function in named.items() if asserts(function)}
        while more := {
            name for name, function in named.items() if name not in asserting and called(function) & asserting
        }:
            asserting |= more
        idle += [(path, name) for name in named if name.startswith("test_") and name not in asserting]

    assert idle == []


def is_fixture(function):
    return any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)


def asserts(function):
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Attribute) and node.attr in ("raises", "fail", "warns"))
        or (isinstance(node, ast.Attribute) and node.attr.startswith("assert_"))
        for node in ast.walk(function)
    )


def called(function):
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {function.id for function in calls if isinstance(function, ast.Name)}


@pytest.mark.slow
def test_no_assertion_compares_a_thing_with_itself():
    empty = [
        (path, ast.unparse(node))
        for path, tree in modules_of(sorted((ROOT / "tests").rglob("test_*.py")))
        for node in nodes(tree)
        if isinstance(node, ast.Assert) and says_nothing(node.test)
    ]

    assert empty == []


def says_nothing(test):
    if isinstance(test, ast.Compare) and len(test.comparators) == 1:
        made_twice = any(isinstance(node, ast.Call) for node in ast.walk(test.left))
        return ast.dump(test.left) == ast.dump(test.comparators[0]) and not made_twice
    return isinstance(test, ast.Constant) and bool(test.value)
