"""The language of the pages: English as it is written, or another one that a catalogue of gettext gives.

A catalogue lies in `locale/LANGUAGE/LC_MESSAGES/sfumato.mo` of this package. Sentences are looked up whole, with names
for what is put into them. What the core says stays English: it is the contract of the command line.
"""

from __future__ import annotations

import gettext
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

DOMAIN = "sfumato"


def translations() -> gettext.NullTranslations:
    """Return the catalogue for the language of whoever started the app; none where there is none for it."""
    return gettext.translation(DOMAIN, str(files("sfumato.webapp") / "locale"), fallback=True)


def speak(environment: Environment, catalogue: gettext.NullTranslations) -> None:
    """Let templates say what they say in the language of a catalogue: `_` for their own sentences, `said` for ours.

    What `_` looks up is a part of a template, and may hold its marks; what `said` does is text, and is escaped.
    """
    environment.add_extension("jinja2.ext.i18n")
    environment.install_gettext_translations(catalogue, newstyle=True)  # type: ignore[attr-defined]
    environment.filters["said"] = lambda text: catalogue.gettext(text) if text else text
    environment.globals["language"] = catalogue.info().get("language", "en")
