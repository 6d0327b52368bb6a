"""Words of column names that tell what a column is, in seven languages, and first names that tell names of people."""

from __future__ import annotations

import re

from sfumato.data.names import mentions, plain
from sfumato.data.schema import Role

# English, German, French, Spanish, Italian, Dutch, Portuguese, without accents. A word of five letters or more may
# begin a longer one, one of six or more may stand anywhere inside: Hauptdiagnose, Aufnahmedatum. Roles are tried in
# this order, and a column that two roles claim gets the first.
WORDS = {
    Role.IDENTIFIER: (
        "name names surname lastname firstname forename fullname username maiden email mail phone telephone mobile fax "
        "ssn passport licence license iban bic account address street uuid guid url ip id recid caseid identifier "
        "initials signature remark remarks comment comments notes freetext narrative memo "
        "nachname vorname familienname geburtsname rufname strasse hausnummer anschrift adresse telefon handy "
        "ausweis versichertennummer versicherungsnummer fallnummer fallnr patientennummer patnr kontonummer "
        "steuernummer personalnummer "
        "bemerkung kommentar notiz notizen freitext anmerkung vermerk "
        "nom prenom noms prenoms adresse rue courriel portable securite nir matricule dossier remarque "
        "nombre nombres apellido apellidos direccion calle telefono correo dni nif nie pasaporte expediente "
        "observaciones comentario "
        "nome cognome indirizzo telefono cellulare codicefiscale cartella osservazioni "
        "naam voornaam achternaam adres straat telefoon bsn burgerservicenummer dossiernummer opmerking toelichting "
        "sobrenome apelido morada rua endereco telefone telemovel cpf rg processo prontuario observacoes"
    ),
    Role.SENSITIVE: (
        "disease diagnosis diagnoses diag condition illness symptom icd icd10 icd9 salary income wage wages earnings "
        "religion ethnic ethnicity political party cancer hiv aids crime offence conviction debt credit medication "
        "medicine drug prescription treatment therapy orientation disability cause pregnant pregnancy abortion "
        "addiction alcohol depression psychiatric std genetic "
        "diagnose hauptdiagnose nebendiagnose krankheit befund gehalt einkommen lohn konfession ethnie partei krebs "
        "straftat schulden medikament arznei therapie behandlung behinderung todesursache schwanger sucht "
        "maladie diagnostic salaire revenu traitement medicament handicap vih sida grossesse dette "
        "enfermedad diagnostico salario sueldo ingresos tratamiento medicamento discapacidad embarazo deuda "
        "malattia diagnosi stipendio reddito religione trattamento farmaco disabilita gravidanza debito "
        "ziekte salaris inkomen godsdienst behandeling medicijn handicap zwanger schuld "
        "doenca salario renda rendimento religiao tratamento deficiencia gravidez divida"
    ),
    Role.QUASI_IDENTIFIER: (
        "age birth birthday birthdate born dob yob sex gender zip zipcode postal postcode city town village state "
        "county country region district race marital education school degree job occupation profession employer "
        "workclass nation native citizen language admission admitted discharge date month year time relationship "
        "household height weight bmi ward unit department hospital insurance death deceased cost costs charge charges "
        "amount price children siblings "
        "alter geburt geburtsdatum geburtsjahr geschlecht plz postleitzahl ort wohnort stadt gemeinde kreis bundesland "
        "land staat familienstand bildung schulabschluss abschluss beruf arbeitgeber nationalitaet "
        "staatsangehoerigkeit sprache aufnahme entlassung datum jahr monat station abteilung klinik groesse gewicht "
        "haushalt kosten kinder krankenkasse "
        "naissance sexe codepostal ville commune departement pays etat matrimonial metier emploi nationalite "
        "langue sortie service cout poids taille annee mois enfants "
        "edad nacimiento sexo genero codigopostal ciudad municipio provincia estado pais civil educacion ocupacion "
        "nacionalidad idioma ingreso alta fecha servicio coste costo peso altura talla ano hijos planta "
        "eta nascita genere cap citta comune regione paese stato civile istruzione professione nazionalita lingua "
        "ricovero dimissione data reparto altezza anno mese figli "
        "leeftijd geboorte geslacht stad gemeente provincie burgerlijke opleiding beroep nationaliteit taal opname "
        "ontslag afdeling lengte maand kinderen woonplaats "
        "idade nascimento cep cidade distrito escolaridade profissao nacionalidade internacao internamento custo "
        "enfermaria servico filhos"
    ),
}

_FIRST_NAMES = (
    "james mary john patricia robert jennifer michael linda william elizabeth david barbara richard susan joseph "
    "jessica thomas sarah charles karen daniel nancy matthew lisa anthony betty mark margaret paul emily steven anna "
    "hans peter klaus wolfgang jurgen juergen dieter uwe stefan andreas petra sabine monika ursula renate heike "
    "susanne ingrid karin julia lukas leon jonas felix lena mia hannah "
    "jean pierre michel andre philippe alain bernard marie jeanne monique catherine nathalie isabelle francoise "
    "jacques camille lucas hugo chloe manon "
    "jose antonio manuel francisco juan javier carlos miguel maria carmen josefa isabel dolores pilar teresa lucia "
    "pablo mario luigi giuseppe giovanni francesco marco andrea alessandro giulia francesca chiara paolo roberto "
    "rosa laura johannes cornelis hendrik willem pieter gerrit wilhelmina johanna cornelia sanne daan sem emma sophie "
    "bram joao antonia pedro paulo luis ana joana catarina mariana ines rita tiago rui sofia beatriz "
    "ann bob ada alice eva max leo tom tim ben sam kim lea nina olga ivan ali omar fatima ahmed mohammed aisha wei li"
)
_KNOWN_FIRST_NAMES = frozenset(_FIRST_NAMES.split())


def roles_by_name(name: str) -> list[Role]:
    """Return the roles that the words of a column's name speak for, the strongest first."""
    return [role for role, words in WORDS.items() if mentions(name, words)]


def is_first_name(text: str) -> bool:
    """Whether a word, or the first or last of several, is a common first name."""
    words = re.findall(r"[^\W\d_]+", plain(text))
    return bool(words) and not _KNOWN_FIRST_NAMES.isdisjoint((words[0], words[-1]))
