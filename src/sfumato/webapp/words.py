"""The field's words, each in a sentence or two, for who meets them for the first time: read from words.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Word:
    """What a word means, and the page that tells more, where there is one."""

    name: str
    meaning: str
    concept: str = ""


_FILE = files("sfumato.webapp") / "words.toml"
WORDS: Mapping[str, Word] = {
    word: Word(**said) for word, said in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}
