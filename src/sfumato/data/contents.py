"""Find names of people, contacts, account numbers and free text inside the cells of a column.

All tests work on distinct values, and say how many of them hold such contents, never which.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.dataset import CodedColumn, Dataset
from sfumato.data.distinct import text_codes
from sfumato.data.kinds import is_list, is_text, value_type
from sfumato.data.names import plain
from sfumato.data.schema import Kind, Role

MOST_TESTED = 100_000  # distinct values of a column; of more, a sample is tested
SAMPLED = 10_000
# Distinct values with names in columns of places, schools and the like, to which people gave their names; or a share.
FEWEST_OF_PLACES, _SHARE_OF_PLACES = 3, 0.1
_ENOUGH_SINGLE = 2  # values with a given name alone, or initials before a surname: weaker than two names
_SHARE_SINGLE = 0.2  # of the values that must hold these
_FEWEST_STREETS = 5  # different names before numbers of houses
_LONGEST = 2_000  # characters of a value that are tested
_SENTENCES = 8  # words of a value with more than one sentence
_FEWEST_CAPITALS = 4  # letters of a given name in capitals alone: with fewer they are rather an abbreviation
_PROSE = 40  # words of a value that is free text however it is written

_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['\u2019\u00b4-](?=[^\W\d_]))*")
_SENTENCE_END = re.compile(r"[a-zß-ÿ]{2}[.!?] +[^\W\d_a-zß-ÿ]")

# Contacts that one pattern finds. Digits are joined by at most one sign; days, times and ranges are taken out before.
_MAIL = re.compile(r"[^@\s\"'<>|;,]+(?:@| ?[\[(]at[\])] ?)[^@\s\"'<>|;,]+\.[A-Za-z]{2,}|\bhttps?://|\bwww\.\w")
_MAIL_SIGNS = ("@", "(at", "[at", "://", "www.")  # one of which each of these has
_DIGIT = re.compile(r"\d")
_CAPITAL = r"[^\W\d_a-zß-ÿ][\w'\u2019.-]+"
_HOUSE_NUMBER = r"(?:No:?|n[°º.]?)? ?\d{1,4} ?[A-Za-z]?\b"
_STREETS_BEHIND = (  # words in which a kind of street stands last
    r"(?:\w{2,}(?:stra(?:ß|ss)e|str\.|gasse|platz|allee|weg|damm|ufer|straat|laan|plein|gracht|kade|vägen|gatan|gade|vej)"
    r"|\w+ (?:Stra(?:ß|ss)e|Str\.|Gasse|Platz|Allee|Weg|Straat|Laan|Plein|ulice|náměstí|třída|utca|Caddesi|Cad\.|Sokak"
    rf"|Soka\u011f\u0131|Sok\.|Bulvar\u0131|Blv\.|Mah\.|Mahallesi)),? {_HOUSE_NUMBER}"
)
_STREETS_BEFORE = (  # a kind of street, its name, and the number of the house
    r"(?<!\w)(?i:via|viale|piazza|corso|vicolo|calle|c/|avda\.?|avenida|av\.|plaza|paseo|camino|rua|travessa|praça"
    r"|estrada|largo|ul\.|ulica|al\.|aleja|os\.|str\.|strada|nám\.|ул\.|улица|οδός|rue|avenue|boulevard|chemin"
    r"|impasse|allée|quai|place) ?"
    r"(?:(?:de|del|della|dei|di|da|do|dos|das|la|las|los|du|des|le|les|d['\u2019]|l['\u2019]) ?)*"
    rf"{_CAPITAL}(?: [\w'\u2019.-]+){{0,4}}?,? {_HOUSE_NUMBER}"
)
_STREETS_AFTER = (  # the number of the house, and then its street
    rf"\b\d{{1,5}}[A-Za-z]?(?: ?(?:bis|ter))?,? (?:(?:{_CAPITAL} ){{1,3}}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive"
    r"|Dr|Court|Ct|Close|Crescent|Terrace|Gardens|Square|Boulevard|Blvd|Highway|Hwy)\b"
    r"|(?i:rue|avenue|av\.|boulevard|bd|chemin|impasse|allée|quai) [\w'\u2019]+"
    rf"|(?i:place|route|cours) (?:de |du |des |la |l['\u2019])*{_CAPITAL})"
)
# A name and the number of a house, where nothing says that it is a street: many different names tell that.
_HOUSE = re.compile(r"([^\W\d_a-zß-ÿ]\w{3,}(?: [^\W\d_a-zß-ÿ]\w+)*) \d{1,4}[A-Za-z]?(?:/\d{1,3})?(?:,|$)")
_STREET = re.compile(f"{_STREETS_BEHIND}|{_STREETS_BEFORE}|{_STREETS_AFTER}")
_DAYS = re.compile(
    r"\b(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.] ?\d{1,2}[-/.] ?(?:\d{4}|\d{2}))\b"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
    r"|\b(?:19|20)\d{2}[-/](?:19|20)\d{2}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d+[.,]\d+\b(?![.,]?\d)"
)
_DIGITS = re.compile(r"(?<![\w.])(?:\+ ?|\()?\d(?:[ ()/.-]{0,2}\d)*(?!\w)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_NUMBERS = re.compile(  # with signs or letters, of one person each: social security, tax and identity cards
    r"\b(?:\d{3}-\d{2}-\d{4}|756\.\d{4}\.\d{4}\.\d{2}|\d{6}[-+]\d{4}|\d{6}[-+A]\d{3}[0-9A-Y]|\d{6}/\d{3,4}"
    r"|\d{2} ?\d{6} ?[A-Z] ?\d{3}|[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"
    r"|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]|\d{3}\.\d{3}\.\d{3}-\d{2})\b"
)
_IDENTITY_CARD = re.compile(r"\b([XYZ]?)(\d{7,8})-?([A-Z])\b")
_MOST_DIGITS_OF_AMOUNTS = 8

_TITLED = re.compile(
    r"\b(?:(?:Dr|Prof|Mr|Mrs|Ms|Hr|Hrn|Fr|Mme|Mlle|Sra?|Srta|Dott|Dra|Sig|Dhr|Mevr|MUDr|Mgr|Ing|Sn)\.? "
    r"|M\. |(?:Dott\.ssa|Sig\.ra|Sig\.na) "
    r"|(?i:frau|herrn?|madame|monsieur|mademoiselle|señora?|señorita|doña|signora?|senhora?|mevrouw|meneer|pan[ií]?"
    r"|bayan|bay|mister|miss|juf|juffrouw|meester|suor|maestr[ao]|pater|pfarrer|schwester|ksiądz|siostra|učitelka|docteur|doctor|doctora|dottor|dottoressa|doutora?|doktor|doktorin|госпожа|господин"
    r"|κυρία|κύριος) )(?:(?:Dr|Prof|med|Ing)\.? )*"
    r"(?:(?:van|von|de|da|di|del|dos|la|le|der|den|el|al|ter) )*(\w[\w'\u2019-]+)"
)
_INITIALED = re.compile(r"\b[^\W\d_]\. ?(?:[^\W\d_]\. ?)*[^\W\d_]{3,}|\b[^\W\d_]{3,},? [^\W\d_]\.(?=$|[)\],;/])")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PARTICLES = _words("van von de da di do dos das del della der den ter ten el al bin ibn la le y e zu zum af av")
_BETWEEN = frozenset((" ", ", ", ",", "\u00a0", ". ", "  "))

# Words before a name that make a place or an illness of it, and words behind it.
_BEFORE = _words(
    "north south east west nord sud sur ost norte est oeste ouest saint saints sainte st ste san santa santo sant "
    "sankt sint sao swiety svaty svata port porto fort mount mont monte villa ville lake lac lago cape cabo new nueva "
    "nouveau nova los las el morbus m syndrome sindrome syndrom sindromul maladie malattia enfermedad doenca ziekte "
    "choroba nemoc krankheit disease lycee college ecole colegio instituto istituto scuola escola escuela szkola "
    "skola liceum gymnasium institut institute hospital hopital ospedale klinik klinika clinica clinique krankenhaus "
    "ziekenhuis szpital nemocnice hastanesi centre center centro zentrum haus casa dom maison fondation fundacion "
    "fondazione stiftung rue avenue via viale piazza calle plaza avenida rua ulica ulice place boulevard strasse king "
    "queen prince princess pope general president kirche basilica parish type typ tipo variant"
)
_BEHIND = _words(
    "syndrome syndromes disease diseases disorder anomaly malformation deficiency dystrophy neuropathy ataxia type "
    "variant phenotype tumor tumour sarcoma lymphoma anemia anaemia fever dysplasia dwarfism sign test score scale "
    "index operation procedure fracture palsy paralysis chorea cyst phenomenon reaction cell cells body bodies "
    "krankheit syndrom erkrankung anomalie fraktur lahmung zeichen skala maladie sindrome enfermedad malattia doenca "
    "ziekte choroba nemoc hastaligi sendromu zespol schule grundschule gesamtschule realschule hauptschule gymnasium "
    "oberschule mittelschule berufsschule kolleg school college academy university universitat institute institut "
    "hospital klinik klinikum krankenhaus clinic centre center zentrum haus house home heim stift stiftung foundation "
    "kindergarten kita strasse str platz allee weg gasse street road avenue city town beach county falls "
    "springs island ilkokulu ortaokulu lisesi okulu hastanesi universitesi catholic orthodox "
    "democrat democrats democratic reformed science union party faith protestant forte plus retard mite depot "
    "comp"
)
_KIN = _words(
    "mother father mum mom mummy dad daddy son daughter wife husband brother sister aunt uncle grandma grandpa "
    "grandmother grandfather granny nan partner friend neighbour neighbor carer mutter vater mama papa sohn tochter "
    "ehefrau ehemann frau mann bruder schwester tante onkel oma opa grossmutter grossvater partnerin lebensgefahrtin "
    "lebensgefahrte freund freundin nachbar nachbarin enkel enkelin mere pere maman fils fille epouse epoux mari "
    "femme frere soeur oncle mamie papi compagnon compagne ami amie voisin voisine madre padre hijo hija esposa "
    "esposo marido hermano hermana tia tio abuela abuelo novia novio amigo amiga vecino vecina mamma figlio figlia "
    "moglie marito fratello sorella zia zio nonna nonno compagno compagna amico amica vicino vicina mae pai filho "
    "filha irmao irma avo vizinho vizinha companheiro companheira moeder vader zoon dochter echtgenote echtgenoot "
    "broer zus buurman buurvrouw vriend vriendin matka ojciec syn corka zona maz brat siostra babcia dziadek ciocia "
    "wujek otec dcera manzel manzelka bratr sestra babicka dedecek teta stryc anne annesi babasi oglu kizi esi "
    "kardesi abla abi teyze dayi amca hala anneanne babaanne dede kontakt contact contacto contatto contato"
)
_LINKS = _words("of de di do da des du von van del della la le")
# Words that stand behind names.
_HONORED = _words("hanim bey hanimefendi beyefendi hoca ogretmen teyze amca abla abi dede nine san")
_JOINING = _words("und and et y e i a ve en or oder ou o with mit avec con com met")
_NO_SURNAMES = _BEHIND | _JOINING


def folded(word: str) -> str:
    """Return a word in small letters without marks, each letter for one: é is e, ö is o, ł is l.

    >>> folded("Łukasz"), folded("Jürgen"), folded("Işıl")
    ('lukasz', 'jurgen', 'isil')
    """
    word = word.translate(_LETTERS)
    return "".join(part for part in unicodedata.normalize("NFKD", word) if not unicodedata.combining(part)).lower()


_LETTERS = str.maketrans("łŁıİøØđĐßæÆœ", "lLiIoOdDsaAo")


@cache
def given_names() -> frozenset[str]:
    """Return common given names, as `folded` writes them and as German spells umlauts without them."""
    text = (files("sfumato.data") / "given_names.txt").read_text(encoding="utf-8")
    names = " ".join(line.partition(": ")[2] for line in text.splitlines() if not line.startswith("#")).split()
    return frozenset(spelled for name in names for spelled in (folded(name), plain(name)))


def is_given_name(word: str) -> bool:
    """Whether a word is a common given name, or several with hyphens between.

    >>> is_given_name("Jürgen"), is_given_name("Jean-Pierre"), is_given_name("Charcot-Marie-Tooth")
    (True, True, False)
    """
    known = given_names()
    return all(part in known for part in folded(word).split("-"))


def _tested(values: Sequence[str]) -> Sequence[str]:
    """Return the values that are tested: all, or of very many a sample that is the same each time."""
    return values if len(values) <= MOST_TESTED else random.Random(0).sample(values, SAMPLED)


def personal_values(values: Sequence[str], *, fewest_names: int = 1, alone: bool = False) -> int:
    """Return how many of a column's distinct values hold names, contacts, numbers of people or free text.

    With fewer than `fewest_names` values that hold two names, and few of all, these do not count. A given name alone
    counts where many values have one, or `alone` says so.

    >>> personal_values(["HIV (Tom Roth)", "flu", "codes 12, a.pohl@mail.org"])
    2
    >>> personal_values(["Charcot-Marie-Tooth disease", "Pierre Robin sequence", "Ménière disease"])
    0
    """
    known: dict[str, bool] = {}
    sure = named = single = housed = 0
    streets = set()
    some = _tested(values)
    for value in some:
        text = value[:_LONGEST]
        if _holds_contact(text) or _is_prose(text) or is_json_object(text) or _holds_title(text):
            sure += 1
            continue
        found = _names_in(text, known)
        named += found > 1
        single += found == 1
        if (street := _HOUSE.match(text)) is not None:
            streets.add(street[1])
            housed += found == 0
    if named < min(fewest_names, _SHARE_OF_PLACES * len(some)):
        named = 0
    if not alone and single < max(_ENOUGH_SINGLE, _SHARE_SINGLE * len(some)):
        single = 0
    if len(streets) < _FEWEST_STREETS or housed < _SHARE_SINGLE * len(some):
        housed = 0
    return sure + named + single + housed


def warnings_of_contents(dataset: Dataset) -> Iterator[str]:
    """Yield which columns that are published hold names, contacts or free text, in counts."""
    for name in dataset.order:
        column = dataset.columns.get(name)
        values = _texts_of(dataset.carried, name) if column is None else column.labels
        if isinstance(column, CodedColumn) and (column.kind is Kind.NUMBER or column.dates):
            continue
        fewest = FEWEST_OF_PLACES if column is not None and column.role is Role.QUASI_IDENTIFIER else 1
        if count := personal_values(values, fewest_names=fewest):
            yield (
                f"{count:,} of {len(_tested(values)):,} different values of column {name!r} look like names, contacts, "
                "account numbers or free text, and the plan publishes the column. Make the column an identifier, or "
                "remove these values from the source."
            )


def _texts_of(table: pa.Table | None, name: str) -> Sequence[str]:
    """Return the distinct texts in a column that is carried along."""
    if table is None or name not in table.column_names:
        return []
    array = table.column(name)
    array = pc.list_flatten(array) if is_list(array.type) else array
    return text_codes(array, ())[1] if is_text(value_type(array.type)) else []


def _holds_contact(text: str) -> bool:
    """Whether a text holds an e-mail or web address, a street with its number, a phone number or that of an account.

    >>> [_holds_contact(text) for text in ("tel. 0171/2345678", "c/o Hauptstr. 12", "seen 2024-05-31 10:30", "12.5 mg")]
    [True, True, False, False]
    """
    if any(sign in text for sign in _MAIL_SIGNS) and _MAIL.search(text):
        return True
    if _DIGIT.search(text) is None:
        return False
    return (
        _STREET.search(text) is not None
        or any(map(_is_long_number, _DIGITS.findall(_DAYS.sub(" ", text))))
        or _NUMBERS.search(text) is not None
        or any(map(_is_iban, _IBAN.findall(text)))
        or any(_is_identity_card(*found) for found in _IDENTITY_CARD.findall(text))
    )


def _is_long_number(written: str) -> bool:
    """Whether digits, maybe with signs between, are rather the number of a phone, an account or a person.

    >>> [_is_long_number(text) for text in ("06 12 34 56 78", "0171-234567", "10000-19999", "1.234.567", "12345678")]
    [True, True, False, False, False]
    """
    digits = re.sub(r"\D", "", written)
    if written[0] in "+(" or (digits[0] == "0" and digits[1:2] != "0" and len(digits) != len(written)):
        return len(digits) > _MOST_DIGITS_OF_AMOUNTS - 1
    if len(digits) <= _MOST_DIGITS_OF_AMOUNTS:
        return False
    parts = re.split(r" ?[-/] ?", written)
    if len(parts) == 2 and all(map(str.isdecimal, parts)):  # a range, unless one side is no number that is as long
        low, high = parts
        return not (int(low) <= int(high) and len(high) - len(low) in (0, 1))
    return True


def _is_iban(text: str) -> bool:
    code = text.replace(" ", "")
    turned = code[4:] + code[:4]
    return int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1


def _is_identity_card(first: str, digits: str, letter: str) -> bool:
    """Whether the letter behind digits is the one that Spain puts there to notice slips."""
    number = int(("" if not first else str("XYZ".index(first))) + digits)
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == letter


def _is_prose(text: str) -> bool:
    words = text.count(" ")
    return words >= _PROSE or (words >= _SENTENCES and _SENTENCE_END.search(text) is not None)


def is_json_object(text: str) -> bool:
    """Whether a text is a JSON object, or a list of them.

    >>> is_json_object('{"a": 1}'), is_json_object("{flu}"), is_json_object('["a", "b"]')
    (True, False, False)
    """
    start = text.lstrip()[:2]
    if start[:1] != "{" and start not in ("[{", "[ "):
        return False
    try:
        found = json.loads(text)
    except ValueError:
        return start == '{"' or start == "[{"
    return isinstance(found, dict) or (isinstance(found, list) and any(isinstance(each, dict) for each in found))


def _holds_title(text: str) -> bool:
    """Whether a text holds a name with a title before it.

    >>> _holds_title("siehe Frau Kowalczyk"), _holds_title("Frau"), _holds_title("Mr. House")
    (True, False, True)
    """
    return any(
        found[0].isupper() and not found.isupper() and found.lower() not in _JOINING for found in _TITLED.findall(text)
    )


def _names_in(text: str, known: dict[str, bool]) -> int:
    """Return 2 if a text holds a given name beside a surname or a word for kin, 1 if it holds one alone, else 0.

    known: the words that were looked up before.

    >>> [_names_in(text, {}) for text in ("HIV (Tom Roth)", "Oma Ingrid", "flu (Ingrid)", "Tom Roth syndrome")]
    [2, 2, 1, 0]
    """
    if text.islower() or not any(map(str.isupper, text)):
        return 0
    words = list(_WORD.finditer(text))
    found = 0
    for place, word in enumerate(words):
        shown = word[0]
        if not shown[0].isupper() or len(shown) < 2 or (len(shown) < _FEWEST_CAPITALS and shown.isupper()):
            continue
        if (given := known.get(shown)) is None:
            given = known[shown] = is_given_name(shown)
        if given:
            found = max(found, _beside(text, words, place))
    if not found and "." in text and any(_is_initialed(each) for each in _INITIALED.findall(text)):
        return 1
    return found


def _is_initialed(written: str) -> bool:
    """Whether letters with points stand beside a surname: all begin with a capital."""
    words = _WORD.findall(written)
    return all(word[0].isupper() for word in words) and any(word[1:].islower() for word in words)


def _beside(text: str, words: Sequence[re.Match[str]], place: int) -> int:
    """Return 2 if a name or a word for kin stands beside a given name, 1 if none does, 0 if it means no person."""
    first = last = place
    while _is_part(text, words, last, last + 1):
        last += 1
    while _is_part(text, words, first, first - 1):
        first -= 1
    while words[last][0] in _PARTICLES:
        last -= 1
    while words[first][0] in _PARTICLES:
        first += 1
    head = first - 1
    while _next_to(text, words, head + 1, head) in _LINKS:
        head -= 1
    before, behind = _next_to(text, words, head + 1, head), _next_to(text, words, last, last + 1)
    if before in _BEFORE or behind in _BEHIND or folded(words[first][0]) in _BEFORE:
        return 0
    goes_on = behind not in ("", *_JOINING) and words[last + 1][0].islower()  # a sentence, or "Pierre Robin sequence"
    if last > first:
        return 1 if goes_on else 2
    if before in _KIN or behind in _HONORED or (first > 0 and folded(words[first - 1][0]) in _KIN):
        return 2
    return 0 if goes_on else 1


def _is_part(text: str, words: Sequence[re.Match[str]], inner: int, outer: int) -> bool:
    """Whether a word belongs to the name that the word beside it belongs to."""
    if not 0 <= outer < len(words):
        return False
    left, right = sorted((inner, outer))
    word = words[outer][0]
    if text[words[left].end() : words[right].start()] not in _BETWEEN:
        return False
    return word in _PARTICLES or (word[0].isupper() and folded(word) not in _NO_SURNAMES)


def _next_to(text: str, words: Sequence[re.Match[str]], inner: int, outer: int) -> str:
    """Return a word as `folded` writes it, where a blank alone stands between it and another one; else nothing."""
    if not 0 <= outer < len(words):
        return ""
    left, right = sorted((inner, outer))
    return "" if text[words[left].end() : words[right].start()].strip(" .\u00a0") else folded(words[outer][0])
