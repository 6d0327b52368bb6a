"""The field's words, each in a sentence or two, for who meets them for the first time."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, tuple[str, str]] = {
    "identifier": ("Identifier", "A column that names a person by itself: a name, a number of a card. It is dropped."),
    "quasi-identifier": (
        "Quasi-identifier",
        "A column that others may know about a person, such as age or town. Alone it names nobody, with others "
        "it may. It is made coarser until the promises hold.",
    ),
    "sensitive": (
        "Sensitive column",
        "What must not be learnt about a person, such as an illness. It is published, judged by the promises on it.",
    ),
    "quasi-sensitive": (
        "Quasi-sensitive column",
        "Harmless by itself, until something that everybody can look up turns it into a secret: symptoms into a "
        "disease. Single terms are removed.",
    ),
    "sensitive-quasi-identifier": (
        "Sensitive quasi-identifier",
        "A column that is a clue and a secret at once. It is published as small sets of values, drawn by chance.",
    ),
    "items": (
        "Items",
        "A set in each row, such as what somebody bought. Each is a clue, some are secrets, and items are withheld.",
    ),
    "other": ("Other column", "None of these. It is published as it is, so nobody should recognize a person by it."),
    "class": (
        "Class",
        "All rows that look the same in the columns that others may know. Who looks for a person finds their class.",
    ),
    "unique": (
        "Unique",
        "A person is unique if nobody else has the same values in the chosen columns: who knows these finds the row.",
    ),
    "hierarchy": (
        "Hierarchy",
        "How values become coarser, step by step: 34 becomes 30 to 34, then 30 to 39, and in the end anything (*).",
    ),
    "promise": (
        "Promise",
        "What must hold for every person in what is published. An independent audit judges each promise on the file as "
        "it was written, and nothing is published if one does not hold.",
    ),
    "live check": (
        "Live check",
        "Asks whether any release of this table can keep the promise: the coarsest is judged. Possible does not mean "
        "cheap: only a run shows how much detail it costs.",
    ),
    "release": ("Release", "The table that may leave the house, with a public description of what was done to it."),
    "certificate": (
        "Certificate",
        "A page that may go with the release: what was promised and judged. Nothing on it is counted in the original.",
    ),
    "digest": (
        "Digest",
        "A fingerprint of a file (SHA-256). Two files with the same one are the same, to the last letter.",
    ),
    "sweep": ("Trade-off", "Tries combinations of settings and measures what each costs. It publishes nothing."),
    "seed": (
        "Seed",
        "Makes a run repeatable, for tests. Whoever guesses it repeats every draw, so a release made with it must not "
        "leave the house.",
    ),
    "knowledge": (
        "Public knowledge",
        "A table that everybody can look up, such as symptoms and the diseases they lead to.",
    ),
}
