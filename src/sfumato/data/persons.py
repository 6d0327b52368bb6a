"""Several rows a person: which column numbers people, who each row is about, and how many people look alike.

Numbers of people are counted and let go: nothing of them is kept, published or shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, Dataset, as_numpy, distinct_codes
from sfumato.data.distinct import arrow_codes, look_up
from sfumato.data.kinds import MARKERS
from sfumato.data.names import mentions, plain, words_of
from sfumato.data.recoding import Labelled, Recoding, as_seen
from sfumato.data.schema import Kind, Role, Schema
from sfumato.data.strays import Stray, StrayKind, stray_columns
from sfumato.data.variants import REMEDY, keys_of, look_alike_sentence
from sfumato.errors import DataError
from sfumato.parameters import as_toml

_PEOPLE = (
    "patient patients pat person persons people subject subj participant respondent proband client customer member "
    "user employee worker citizen student pupil resident insured beneficiary individual subscriber "
    "patientin patienten personen kunde kunden klient mitglied mitarbeiter schueler teilnehmer bewohner versicherte "
    "versicherten "
    "personne patiente assure adherent beneficiaire salarie eleve "
    "paciente persona cliente asegurado afiliado empleado trabajador alumno "
    "paziente assistito assicurato utente dipendente alunno studente "
    "persoon klant deelnemer verzekerde medewerker werknemer leerling "
    "pessoa doente segurado funcionario aluno"
)
# Words for numbers; those for what one country calls the number of a person, or one program that of a row, are last.
_NUMBERS = (
    "id ids nr no num number nummer numero key pseudonym pseudo hash uuid guid identifier kennung kennziffer mrn pid "
    "patid patnr patientennummer personalnummer versichertennummer versicherungsnummer subjid usubjid ssn nir bsn cpf "
    "dni matricule codicefiscale burgerservicenummer "
    "cpr fnr fodselsnummer personnummer hetu pesel cnp amka nhs nhc nuhsa cip curp rut ipp kvnr svnr ahv avs nss sns "
    "nif nie lfd lfdnr imsi"
)
_CODES = "code cod codigo codice"  # which number people where nothing but a word for them stands beside
_BETWEEN = "de del do da di der des van the"
_BEFORE = ("id", "nr", "num")  # a word for people, written as one: idpaciente
_BEHIND = ("id", "nr", "no", "num")  # patientno
_NO_NUMBERS = "paid unpaid prepaid covid aid acid thyroid steroid opioid hybrid valid invalid bid rapid void"
# Words that begin what is counted, and what is counted that does not end as most plurals do.
_HOW_MANY = "number no num nr n numero nombre"
_COUNTED = "children people kinder kinderen personen persone figli filhos enfants hijos"
# What else is numbered: places, things, events, and people who are not those that the table is about.
_OTHERS = (
    "hospital clinic klinik ward station unit department abteilung site centre center care location household haushalt "
    "family insurance insurer krankenkasse provider doctor physician arzt visit encounter stay case fall episode event "
    "admission occurrence sample device product item concept type record row order school class line cell tower "
    "branch store shop merchant area zone region district city country state arm batch session trip route "
    "vehicle article category house home room bed floor flat apartment street building phone telephone mobile seat "
    "page invoice ticket bill serial version "
    "zimmer haus raum bett etage strasse telefon handy rechnung "
    "chambre lit maison rue facture habitacion cama casa calle telefono factura "
    "camera letto stanza fattura kamer huis straat telefoon factuur quarto rua telefone fatura"
)
# Distinct numbers over rows: with fewer or more, what is not said to be a person is something else, or a slip.
FEWEST_APART, MOST_APART = 0.02, 0.98


@dataclass(frozen=True, eq=False)
class Persons:
    """Who each row is about."""

    column: str
    codes: Codes  # (n,): each row's person
    people: int
    notes: tuple[str, ...] = ()  # what deserves a second look in how they are numbered

    @property
    def rows(self) -> int:
        """How many rows are about them."""
        return self.codes.size

    def warning(self, alike: Alike | None = None) -> str:
        """Return what is wrong where nobody says that the table has several rows a person."""
        found = ""
        if alike is not None:
            few = f"{alike.below:,} of {alike.classes:,} classes hold fewer than {alike.k:,} people"
            found = f" {few}, {alike.alone:,} a single person."
        return (
            f"Column {self.column!r} numbers {self.people:,} people on {self.rows:,} rows, but requirements count "
            f"rows: who has many rows hides among their own.{found} Write "
            f"person = {as_toml(self.column)} under [source], and [gather] to put the rows of a "
            "person together."
        )


@dataclass(frozen=True)
class Alike:
    """How many people look alike, class by class."""

    classes: int
    k: int  # people that each class should have
    below: int  # classes with fewer
    alone: int  # classes with one

    @classmethod
    def of(cls, people: NDArray[np.int64], k: int) -> Alike:
        """Count classes, given how many people each has, (c,)."""
        return cls(classes=people.size, k=k, below=int((people < k).sum()), alone=int((people == 1).sum()))


def is_person(name: str) -> bool:
    """Whether a column is named as a person is, and nothing else: it holds numbers, or names, of people.

    >>> is_person("Patient"), is_person("patient_age")
    (True, False)
    """
    return plain(name) in _PEOPLE.split()


def says_number(name: str) -> bool:
    """Whether a column's name says that its cells number something, rather than how many of it there are.

    >>> [says_number(name) for name in ("member_no", "Fallnr", "SITEID", "number_of_children", "num_visits")]
    [True, True, True, False, False]
    """
    whole = "".join(words_of(name))
    if _is_count(name, whole):
        return False
    ends = whole.endswith(("id", "nr")) and words_of(name)[-1] not in _NO_NUMBERS.split()
    return ends or mentions(name, _NUMBERS) or _numbers_people(name, whole)


def names_people(name: str) -> bool:
    """Whether a column of this name holds numbers of people.

    >>> [names_people(name) for name in ("patient_id", "PatNr", "subjid", "id", "hospital_id", "SITEID", "patient_age")]
    [True, True, True, True, False, False, False]
    >>> [names_people(name) for name in ("idpaciente", "versichertennr", "codice paziente", "num_patients", "Raumnr")]
    [True, True, True, False, False]
    """
    what = plain(name).removesuffix("id").removesuffix("nr")
    return says_number(name) and (says_person(name) or not (mentions(name, _OTHERS) or mentions(what, _OTHERS)))


def _is_count(name: str, whole: str) -> bool:
    """Whether a name says how many: number of children, num_visits, numero figli."""
    first, *rest = words_of(name) or [""]
    if whole.startswith("numberof") or (first in _HOW_MANY.split() and rest[:1] == ["of"]):
        return True
    if first not in _HOW_MANY.split() or not rest:
        return False
    last = rest[-1]
    many = (last.endswith("s") and not last.endswith("ss")) or (first == "numero" and last.endswith("i"))
    return last in _COUNTED.split() or (many and len(last) > 4)


def _numbers_people(name: str, whole: str) -> bool:
    """Whether a word for people is written as one with one for numbers, or stands alone beside one for codes."""
    people = _PEOPLE.split()
    if any(whole.startswith(word) and whole.removeprefix(word) in people for word in _BEFORE):
        return True
    if any(whole.endswith(word) and says_person(whole.removesuffix(word)) for word in _BEHIND):
        return True
    rest = [word for word in words_of(name) if word not in f"{_CODES} {_BETWEEN}".split()]
    return mentions(name, _CODES) and "".join(rest) in people


def says_person(name: str) -> bool:
    """Whether a word for people is in the name of a column.

    >>> says_person("patient_id"), says_person("pid")
    (True, False)
    """
    return mentions(name, _PEOPLE)


def number_columns(names: Iterable[str], schema: Schema) -> tuple[str, ...]:
    """Return the columns that may number people: identifiers of such a name, and others that say so in words."""
    found = []
    for name in names:
        spec = schema.spec(name)
        if spec is None or spec.kind in (Kind.SET, Kind.DATE):
            continue
        numbers = names_people(name)
        if (numbers or is_person(name)) if spec.role is Role.IDENTIFIER else (numbers and says_person(name)):
            found.append(name)
    return tuple(found)


def numbers_in(array: pa.ChunkedArray, missing: Sequence[str]) -> tuple[Codes, pa.Array, bool]:
    """Return the person of each row, their numbers, and whether some have none: the code after the last.

    What means "missing" wherever it stands is nobody's number, whatever the plan lists.
    """
    return arrow_codes(array, (*missing, *MARKERS))


def spelled_once(
    codes: Codes, numbers: pa.Array, column: str, schema: Schema
) -> tuple[Codes, pa.Array, tuple[str, ...]]:
    """Return the person of each row and one text for each number, with what is to be said of their spelling.

    Numbers that are spellings of one are refused unless the plan reads them as one; `codes` are used up.
    """
    keys = keys_of(numbers).dictionary_encode()
    people, spellings = len(keys.dictionary), len(numbers)
    notes = tuple(look_alike_sentence(column, keys.dictionary))
    if people == spellings:
        return codes, keys.dictionary if schema.normalize else numbers, notes
    several = int((np.bincount(as_numpy(keys.indices), minlength=people) > 1).sum())
    found = f"column {column!r} has {several:,} of {people:,} numbers in {several + spellings - people:,} spellings"
    if not schema.normalize:
        raise DataError(
            f"Rows were to be assigned to people by number, but {found}, which differ only in case, in blanks around "
            f"them or in their form in Unicode.\n{REMEDY}"
        )
    look_up(as_numpy(keys.indices), codes, codes)
    return codes, keys.dictionary, (f"The {found}: each was read as one person.", *notes)


def persons_of(array: pa.ChunkedArray, name: str, missing: Sequence[str]) -> Persons:
    """Return who each row is about; a row without a number is about a person of its own."""
    codes, labels, gaps = numbers_in(array, missing)
    people = len(labels)
    if gaps:
        absent = np.flatnonzero(codes == people)
        codes[absent] = people + np.arange(absent.size, dtype=np.int32)
        people += absent.size
    return Persons(name, codes, people)


def persons_by(table: pa.Table, name: str, schema: Schema) -> Persons:
    """Return who each row is about, or raise where one does not say so."""
    if name not in table.column_names:
        raise DataError(f"The source lacks the column that says whose row it is: {name!r}.\nCorrect [source] person.")
    codes, labels, gaps = numbers_in(table.column(name), schema.missing)
    if gaps:
        raise DataError(
            f"People were to be counted by {name!r}, but {int((codes == len(labels)).sum()):,} of {codes.size:,} rows "
            "have no value in it.\nGive each row its person, or leave these rows out of the file."
        )
    codes, labels, notes = spelled_once(codes, labels, name, schema)
    return Persons(name, codes, len(labels), notes)


def numbers_of(table: pa.Table, schema: Schema) -> tuple[Codes | None, tuple[Stray, ...]]:
    """Return whom each row is about, where a plan counts people; other numbers than 1, 2, 3 ... do not belong there."""
    name = schema.person
    if name is None:
        return None, ()
    if name not in table.column_names:
        raise DataError(
            f"The plan counts people, whom column {name!r} numbers, but the table does not have it.\n"
            "Give a table with that column: else nobody can tell which rows are about the same person."
        )
    codes, labels, gaps = arrow_codes(table.column(name), ("",))
    if gaps:
        raise DataError(
            f"The plan counts people, but {int((codes == len(labels)).sum()):,} of {codes.size:,} rows have no value "
            f"in {name!r}.\nGive each row its person, or leave these rows out."
        )
    anew = set(labels.to_pylist()) == {str(number) for number in range(1, len(labels) + 1)}
    return codes, () if anew else stray_columns(StrayKind.NUMBERS, [name], codes.size)


def repeated_persons(table: pa.Table, names: Iterable[str], missing: Sequence[str]) -> Persons | None:
    """Return the people of a table with several rows a person, as one of these columns numbers them; else None.

    A column that says so in words goes before others, and the finer of two before the coarser.
    """
    found = [persons_of(table.column(name), name, missing) for name in names]
    repeated = [
        persons
        for persons in found
        if persons.people < persons.rows
        and (says_person(persons.column) or FEWEST_APART < persons.people / persons.rows < MOST_APART)
    ]
    return max(repeated, key=lambda persons: (says_person(persons.column), persons.people), default=None)


def people_per_class(
    dataset: Dataset, recoding: Recoding, persons: Persons, besides: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return how many people stand behind each class of rows that are published with equal quasi-identifiers.

    besides: what else is known of each row, which then tells classes apart as well, (n,).
    """
    shown = [] if besides is None else [(besides.astype(np.int32), int(besides.max(initial=0)) + 1)]
    for column in dataset.quasi_identifiers:
        new = recoding.columns.get(column.name)
        codes, labels = as_seen(new.codes, new.labels) if isinstance(new, Labelled) else (column.codes, column.labels)
        shown.append((codes, len(labels)))
    class_of, person_of = distinct_codes(shown, dataset.n_rows).distinct_of, persons.codes
    if recoding.keep_row is not None:
        class_of, person_of = class_of[recoding.keep_row], person_of[recoding.keep_row]
    n_classes = int(class_of.max(initial=-1)) + 1
    once = distinct_codes([(class_of, n_classes), (person_of, persons.people)], class_of.size)
    people = np.bincount(once.codes[:, 0], minlength=n_classes)
    return people[people > 0]
