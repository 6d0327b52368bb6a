"""Input that is odd or hostile: words and exit code 2, and nothing that steers the reader's terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import commands

PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[columns.city]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
"""
STEERING = "\x1b]0;taken\x07\x1b[31m\u202e"


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{20 + i % 9},{('Rome', 'Oslo')[i % 2]},{i % 3}\n" for i in range(60))
    (tmp_path / "people.csv").write_text("age,city,ill\n" + rows, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def sfumato(folder, *words, **environment):
    done = commands.sfumato(*words, cwd=folder, COLUMNS="120", **environment)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"x = {'[' * 5000}{']' * 5000}", "too deeply"),
        (PLAN.replace("k = 3", "k = " + "1" * 5000), "thousands of digits"),
        (
            PLAN.replace("[columns.ill]", "hierarchy = " + "{a=" * 400 + '["Rome"]' + "}" * 400 + "\n[columns.ill]"),
            "too deeply",
        ),
    ],
)
def test_plans_that_are_too_much_are_refused_in_words(folder, text, words):
    (folder / "plan.toml").write_text(text, encoding="utf-8")

    code, said = sfumato(folder, "explain", "plan.toml")

    assert (code, words in said) == (2, True), said


def test_devices_are_no_hierarchies_and_no_lists(folder):
    for line in ('hierarchy = "/dev/zero"', 'domain = "/dev/zero"'):
        (folder / "plan.toml").write_text(PLAN.replace("[columns.ill]", f"{line}\n[columns.ill]"), encoding="utf-8")

        code, said = sfumato(folder, "anonymize", "plan.toml", "--out", "out")

        assert code == 2, said
        assert "/dev/zero" in said


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 elsewhere")
def test_the_name_of_a_plan_need_not_be_utf_8(folder):
    name = os.fsdecode(b"pl\xfcn.toml")
    (folder / "plan.toml").rename(folder / name)

    code, said = sfumato(folder, "anonymize", name, "--out", "out")

    assert code == 0, said
    assert json.loads((folder / "out" / "private" / "run.json").read_text(encoding="utf-8"))["plan"]["path"] == name


@pytest.mark.parametrize("place", ["local.encode", "KAnonymity.audit", "local.write_release"])
def test_too_little_memory_is_named_as_such(folder, place):
    code = f"""
from sfumato.cli import main
from sfumato.engines import local
from sfumato.models import KAnonymity

def nothing_left(*arguments, **options):
    raise MemoryError

{place} = nothing_left
main()
"""
    command = [sys.executable, "-c", code, "anonymize", "plan.toml", "--out", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)

    assert done.returncode == 2, done.stderr
    assert b"not enough memory" in done.stderr
    assert b"Nothing was written" in done.stderr
    assert not (folder / "out").exists()


def test_names_of_columns_do_not_steer_the_terminal(folder):
    text = (folder / "people.csv").read_text(encoding="utf-8")
    (folder / "people.csv").write_text(text.replace("city", f"{STEERING}city", 1), encoding="utf-8")

    for words in (("init", "people.csv", "--out", "draft.toml"), ("explain", "draft.toml"), ("explain", "plan.toml")):
        for more in ((), ("--json",)):
            _, said = sfumato(folder, *words, *(("--overwrite",) if words[0] == "init" else ()), *more, NO_COLOR="1")
            assert "city" in said
            assert not {"\x1b", "\x07", "\u202e"} & set(said), words
            if more:
                assert json.loads(said.splitlines()[0] if said.startswith('{"error"') else said)


def test_values_of_quasi_identifiers_are_named_only_to_who_asks(folder):
    (folder / "cities.csv").write_text("Rome;*\n", encoding="utf-8")
    (folder / "plan.toml").write_text(
        PLAN.replace("[columns.ill]", 'hierarchy = "cities.csv"\n[columns.ill]'), encoding="utf-8"
    )

    code, said = sfumato(folder, "anonymize", "plan.toml", "--out", "out")
    _, more = sfumato(folder, "anonymize", "plan.toml", "--out", "out", SFUMATO_SHOW_VALUES="1")

    assert (code, "misses 1 of the 2 values" in said, "Oslo" in said) == (2, True, False)
    assert "'Oslo'" in more


def test_a_record_in_place_of_a_header_is_not_shown(folder):
    (folder / "people.csv").write_text("Alice,Rome,gout\n" * 60, encoding="utf-8")

    code, said = sfumato(folder, "anonymize", "plan.toml", "--out", "out")

    assert (code, "line of column names" in said, "Alice" in said) == (2, True, False)


def test_what_the_plan_spells_differently_from_the_data_is_said_in_the_terminal(folder):
    (folder / "people.csv").write_text("ill\n" + "flu|gout\nflu\ngout\ncough\n" * 10, encoding="utf-8")
    (folder / "plan.toml").write_text(
        '[source]\npath = "people.csv"\n[columns.ill]\nrole = "items"\nkind = "set"\n'
        'sensitive_items = ["guot", "flu"]\n'
        '[[require]]\nmodel = "rho-uncertainty"\ncolumn = "ill"\nrho = "0.9"\n',
        encoding="utf-8",
    )

    code, said = sfumato(folder, "anonymize", "plan.toml", "--out", "out")

    assert code == 0, said
    assert "Warning: 1 of 2 sensitive items never occur in column 'ill'" in said


def limited(folder, megabytes, code="from sfumato.cli import main; main()"):
    """Return what a command says under a limit of memory, which `sfumato.cli.limits` heeds."""
    import resource  # not on every system

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    command = [sys.executable, "-c", code, "anonymize", "plan.toml", "--out", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, preexec_fn=limit)
    return done.returncode, done.stderr.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are for Linux")
@pytest.mark.parametrize("megabytes", [150, 300, 900])
def test_a_limit_of_memory_below_what_libraries_take_is_refused_at_once(folder, megabytes):
    code, said = limited(folder, megabytes)

    assert (code, "limited to" in said, "Nothing was written" in said) == (2, True, True), said
    assert not (folder / "out").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are for Linux")
@pytest.mark.parametrize("end", ["os.abort()", "os._exit(127)", "raise OSError(errno.ENOMEM, 'x')"])
def test_libraries_that_end_the_process_for_lack_of_memory_do_not_end_the_words(folder, end):
    said_so = f"import errno, os, sfumato.cli as cli\ndef work(**_): {end}\ncli.app = work\ncli.main()"
    code, said = limited(folder, 4000, said_so)

    assert (code, "memory" in said) == (2, True), said


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are for Linux")
def test_a_run_under_a_limit_of_memory_works(folder):
    assert limited(folder, 1600)[0] == 0
    assert (folder / "out" / "release" / "data.csv").is_file()


def test_a_record_that_is_uneven_and_no_text_is_named_without_a_trace(folder):
    with (folder / "people.csv").open("ab") as file:
        file.write(b"20,Zo\xc3\xab,1\n20,SECR\xffET,extra,cell\n")

    code, said = sfumato(folder, "anonymize", "plan.toml", "--out", "out")

    assert (code, "line 63" in said, "Traceback" in said, "SECR" in said) == (2, True, False, False), said


def test_moments_that_have_no_date_are_refused(folder):
    moments = pa.array([-(2**60), 2**60] * 4, pa.int64()).cast(pa.timestamp("s"))
    table = pa.table({"at": moments, "city": ["x", "y"] * 4})
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    (folder / "plan.toml").write_text(
        '[source]\npath = "t.arrow"\n[columns.at]\nrole = "other"\n[columns.city]\nrole = "quasi-identifier"\n'
        '[[require]]\nmodel = "k-anonymity"\nk = 1\n[release]\nformat = "parquet"\n',
        encoding="utf-8",
    )

    code, said = sfumato(folder, "anonymize", "plan.toml", "--out", "out")

    assert (code, "Column 'at': it holds days before the year 1" in said) == (2, True), said
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "absurd",
    ['{"format": ' + "[" * 100_000, '{"format": 1, "columns": {"age": {"role": "sensitive", "separator": ""}}}'],
)
def test_absurd_descriptions_of_releases_are_refused(folder, absurd):
    (folder / "release.json").write_text(absurd, encoding="utf-8")
    (folder / "data.csv").write_text("age,city,ill\n", encoding="utf-8")

    code, said = sfumato(folder, "audit", ".", "--plan", "plan.toml")

    assert (code, "no description of a release" in said) == (2, True), said
