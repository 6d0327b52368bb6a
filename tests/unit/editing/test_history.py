"""What a plan was before."""

from __future__ import annotations

import pytest

from sfumato.editing import History
from sfumato.editing import history as module
from sfumato.editing.history import ELSEWHERE, FIRST
from sfumato.errors import OutputError


def words(history):
    return [step.words for step in history.steps]


def test_edits_are_undone_and_done_again_and_another_opener_knows_them(tmp_path):
    history = History(tmp_path / "history", tmp_path)
    history.record("a", "b", "k: 2")
    history.record("b", "c\r\n", "k: 3")

    assert words(history) == [FIRST, "k: 2", "k: 3"]
    assert history.undo("c\r\n") == "b"
    again = History(tmp_path / "history", tmp_path)
    assert again.undo("b") == "a"
    assert again.undo("a") is None
    assert again.redo("a") == "b"
    assert again.redo("b") == "c\r\n"
    assert again.redo("c\r\n") is None


def test_a_new_edit_forgets_what_was_undone(tmp_path):
    history = History(tmp_path, tmp_path)
    history.record("a", "b", "first")
    history.undo("b")
    history.record("a", "c", "second")

    assert words(history) == [FIRST, "second"]
    assert history.redo("c") is None
    assert {path.name for path in tmp_path.iterdir()} == {"steps.json", "1.toml", f"{history.steps[-1].number}.toml"}


def test_what_an_editor_saved_meanwhile_is_a_version_of_its_own(tmp_path):
    history = History(tmp_path, tmp_path)
    history.record("a", "b", "mine")
    history.record("theirs", "c", "mine again")

    assert words(history) == [FIRST, "mine", ELSEWHERE, "mine again"]
    assert history.undo("theirs, again") == "c"
    assert history.undo("c") == "theirs"


def test_an_edit_that_changes_nothing_is_no_version(tmp_path):
    history = History(tmp_path, tmp_path)
    history.record("a", "a", "nothing")

    assert words(history) == [FIRST]


def test_the_oldest_versions_are_let_go(tmp_path, monkeypatch):
    assert module.KEPT == 200
    monkeypatch.setattr(module, "KEPT", 3)
    history = History(tmp_path, tmp_path)
    for number in range(5):
        history.record(str(number), str(number + 1), f"edit {number}")

    assert words(history) == ["edit 2", "edit 3", "edit 4"]
    assert len(list(tmp_path.glob("*.toml"))) == 3
    assert history.undo("5") == "4"


def test_a_broken_or_deleted_history_counts_as_empty(tmp_path):
    history = History(tmp_path, tmp_path)
    history.record("a", "b", "k: 2")
    (tmp_path / "1.toml").unlink()
    assert History(tmp_path, tmp_path).steps == ()
    (tmp_path / "steps.json").write_text("{", encoding="utf-8")

    history = History(tmp_path, tmp_path)
    history.record("b", "c", "k: 3")

    assert words(history) == [FIRST, "k: 3"]
    assert history.undo("c") == "b"


# Files beside the plan.


def test_files_that_an_edit_wrote_are_undone_and_done_again_with_it(tmp_path):
    history = History(tmp_path / "history", tmp_path)
    history.record("a", "b", "made", {"trees/town.csv": "one"})
    history.record("b", "b", "file trees/town.csv", {"trees/town.csv": "two"})
    town = tmp_path / "trees" / "town.csv"
    assert words(history) == [FIRST, "made", "file trees/town.csv"]
    assert town.read_text(encoding="utf-8") == "two"

    assert history.undo("b") == "b"
    assert town.read_text(encoding="utf-8") == "one"
    assert history.undo("b") == "a"
    assert town.read_text(encoding="utf-8") == "one"  # nothing uses it any more
    again = History(tmp_path / "history", tmp_path)
    assert again.redo("a") == "b"
    assert again.redo("b") == "b"
    assert town.read_text(encoding="utf-8") == "two"


def test_a_file_that_is_written_as_it_is_makes_no_version(tmp_path):
    (tmp_path / "town.csv").write_text("one", encoding="utf-8")
    history = History(tmp_path / "history", tmp_path)
    history.record("a", "a", "same", {"town.csv": "one"})

    assert words(history) == [FIRST]


def test_a_file_that_somebody_else_changed_is_never_overwritten_by_undo(tmp_path):
    history = History(tmp_path / "history", tmp_path)
    (tmp_path / "town.csv").write_bytes(b"\xfcnlike text")
    history.record("a", "b", "made", {"town.csv": "one"})
    (tmp_path / "town.csv").write_text("theirs", encoding="utf-8")

    with pytest.raises(OutputError, match=r"town\.csv was changed elsewhere"):
        history.undo("b")
    assert (tmp_path / "town.csv").read_text(encoding="utf-8") == "theirs"
    (tmp_path / "town.csv").write_text("one", encoding="utf-8")
    assert history.undo("b") == "a"
    assert (tmp_path / "town.csv").read_bytes() == b"\xfcnlike text"


def test_versions_that_are_let_go_take_their_files_along(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 2)
    history = History(tmp_path / "history", tmp_path)
    for text in "bcd":
        history.record(chr(ord(text) - 1), text, text, {"town.csv": text})
    kept = {path.name.split(".")[0] for path in (tmp_path / "history").iterdir()} - {"steps"}

    assert kept == {str(step.number) for step in history.steps}
