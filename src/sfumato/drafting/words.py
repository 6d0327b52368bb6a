"""Words of column names that tell what a column is, in seven languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.data.contents import is_given_name
from sfumato.data.names import mentions, plain, words_of
from sfumato.data.schema import Role

# English, German, French, Spanish, Italian, Dutch, Portuguese, without accents. A word of five letters or more may
# begin a longer one, one of six or more may stand anywhere inside: Hauptdiagnose, Aufnahmedatum. Secrets are what
# people have, earn or owe, did and believe. Roles are tried in this order, and a column that two claim gets the first.
WORDS = {
    Role.IDENTIFIER: (
        "name names surname lastname firstname forename fullname username maiden email mail phone telephone mobile fax "
        "middlename tussenvoegsel voorletters voorvoegsel namenszusatz iniciales iniziali ssn passport licence "
        "license iban bic swift account badge plate imei "
        "address street uuid guid url ip id recid caseid identifier "
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
        "disease condition illness sick sickness sickleave symptom icd icd10 icd9 icdo icpc dsm dx rx drg ghm cpt "
        "hcpcs ccam diag diagnos hauptdiag nebendiag diapri diasec krankheit krankenstand krankmeld kranktage fehlzeit "
        "fehltage maladie arretmal malattia enfermedad baja doenca ziekte ziekmeld verzuim patholog patolog comorbid "
        "komorbid cause causa todesursache befund result ergebnis risultat esito uitslag cancer krebs kanker tumor "
        "tumour tumeur neoplas histolog istolog morpholog morfolog stage staging stadium stadio estadio grading tnm "
        "hiv vih aids sida hcv hbv hepc hepatit epatit syphilis std seroposit sieroposit serolog serostatus viral cd4 "
        "mrsa diabet asthma asma epilep stroke dement demenz alzheimer parkinson autis adhd adhs tdah dyslexi dislex "
        "allerg alerg injur verletz blessure lesion lesao letsel infortun depress depres depr anxiety gaf phq phq9 "
        "gad7 mmse angst ansie burnout psych psiqui psichi suicid suizid trauma stress pain schmerz dolor douleur pijn "
        "pregnan schwanger grossesse embaraz gravid zwanger abortion abortus aborto abtreib avortement miscarriage "
        "fehlgeburt kaiserschnitt menstru zyklus contracept verhuet fertility smoke smoking raucher rauchen tabac "
        "tabak fumad fumat fumeur rookt roker alcohol alcool alkohol alcol drug drugs drogen droga drogue addict adicc "
        "sucht verslav dipendenz tossic toxicom toxicodep overdose opioid medicat medicac medicament medikament "
        "medicine medicijn farmaco arznei prescription treatment therapy therapie terapia traitement tratamento "
        "tratamiento trattament behandlung behandeling procedure surgery surgical cirugia eingriff ingreep vaccin "
        "vacuna geimpft impfung impfstatus disab behinder schwerb gdb pflegegrad pflegestufe handicap rqth invalidi "
        "invalidez incapac arbeidsongeschikt discapac minusval deficien blutdruck blutzucker puls pulse heartrate "
        "systol diastol sysbp diabp cholest hba1c glucose glicem glycem bloeddruk genet genotyp phenotyp fenotip "
        "haplot allele brca apoe snp hla mutation famhist familyhist health gesundheit gezondheid sante salud salute "
        "saude esenzione ald salary salario salaris salaire salarial sal stipend sueldo nomina lohn gehalt loon "
        "entgelt besoldung verguet verdienst remuner retribu compenso ordenado wage wages earnings income einkommen "
        "eink nettoeink inkomen revenu reddito rendimento rend renda ingresos brutto bruto netto hhnetto bonus debt "
        "debts dette deuda divida debito schuld mortgage hypothe hipoteca mutuo credit kredit balance saldo solde "
        "kontostand overdraft arrears overdue default impago moros incumpr inadimpl insolv bankrupt pfaend pignoram "
        "embargo penhora schufa bonitaet score scoring welfare benefit homeless sozialhilfe sozialleist leistung "
        "buergergeld grundsicherung wohngeld alg alg2 hartz rsa subsidio subsidie prestacion uitkering bijstand "
        "toeslag wajong bursary scholarship beca bourse bolsa iep frl fsm foerderbedarf crime criminal felony offence "
        "offense convict arrest prison probation gang violence abuse weapon waffe arma wapen delict delikt delit "
        "delito reato straf vorstraf haft gewalt verurteil condena condann condamn veroord antecedent sanction sancion "
        "sanzion sancao sanctie suspension expulsion disciplinary verdict sentence relig konf konfession confession "
        "bekenntnis godsdienst geloof kirche kerk culto ethnic ethnie etnia etnic etnisch politic party partei partito "
        "partido partij ideolog sonntagsfrage vote voted votes voto gewaehlt gestemd union gewerkschaft syndic sindic "
        "sindac vakbond sexual seksu sessual lgbt orientat orientac orientam orientsex asylum asyl asile asilo "
        "immigration migrationshintergrund aufenthaltsstatus aufenthaltstitel undocumented deport vulnerab torture "
        "persecut verfolg gpa marks nota notas schulnote rating appraisal performance beurteil beoordel evaluation "
        "evaluac valutaz avaliac"
    ),
    Role.QUASI_IDENTIFIER: (
        "age birth birthday birthdate born dob yob sex gender zip zipcode postal postcode city town village state "
        "county country region district race marital education school degree job occupation profession employer "
        "workclass nation native citizen language lang admission admitted discharge date month year time relationship "
        "household height weight bmi ward unit department hospital insurance death deceased cost costs charge charges "
        "amount price children siblings "
        "alter geburt geburtsdatum geburtsjahr geschlecht plz postleitzahl ort wohnort stadt gemeinde kreis bundesland "
        "land staat familienstand bildung schulabschluss abschluss beruf arbeitgeber nationalitaet "
        "staatsangehoerigkeit sprache aufnahme entlassung datum jahr monat station abteilung klinik groesse gewicht "
        "haushalt kosten kinder krankenkasse "
        "naissance sexe lieu codepostal ville commune departement pays etat matrimonial metier emploi nationalite "
        "langue sortie service cout poids taille annee mois enfants "
        "edad nacimiento lugar localidad sexo genero codigopostal ciudad municipio provincia estado pais civil "
        "educacion ocupacion "
        "nacionalidad idioma ingreso alta fecha servicio coste costo peso altura talla ano hijos planta "
        "eta nascita genere sesso cap luogo localita citta comune regione paese stato civile istruzione professione "
        "nazionalita lingua "
        "ricovero dimissione data reparto altezza anno mese figli "
        "leeftijd geboorte geslacht stad gemeente provincie burgerlijke opleiding beroep nationaliteit taal opname "
        "ontslag afdeling lengte maand kinderen plaats woonplaats "
        "idade nascimento cep concelho freguesia cidade distrito escolaridade profissao nacionalidade internacao "
        "internamento custo "
        "enfermaria servico filhos"
    ),
}

# How many people a row of a survey stands for: words that mean nothing else, and those for what bodies weigh, too.
_SURVEY_WEIGHTS = (
    "pweight fweight aweight hhweight hweight wgt fnlwgt finalweight sampleweight samplingweight surveyweight "
    "designweight personweight householdweight perwt hhwt pwgtp expansionfactor "
    "hochrechnungsfaktor hochrechnung designgewicht poidsfinal ponderation factorexpansion ponderacion fexp "
    "ponderazione weegfactor ponderacao"
)
_WEIGHTS = "weight weights wt gewicht poids peso pesos"
_COORDINATES = (
    "lat latitude lon lng long longitude coordinate coordinates coord coords easting northing gps "
    "breitengrad laengengrad geobreite geolaenge latitud longitud latitudine longitudine breedtegraad lengtegraad"
)

# Words for people. What stands below is who it was, not something about them, unless another word says so. In English,
# German and Dutch the last word of several says what a thing is (probation_officer), in the others the first one
# (chef de service).
_PEOPLE_LAST = (
    "customer client member doctor physician surgeon nurse midwife teacher officer guardian suspect interpreter judge "
    "caseworker provider practitioner prescriber clinician therapist attending caregiver carer kin spouse partner "
    "mother father parent husband wife relative owner holder payee payer beneficiary manager supervisor lead leader "
    "boss coach tutor lawyer attorney solicitor notary witness victim defendant plaintiff tenant landlord applicant "
    "candidate author reviewer interviewer investigator inspector agent broker adviser advisor representative contact "
    "informant employee worker pupil student inmate prisoner donor recipient patient "
    "kunde kundin mandant mitglied arzt aerztin hausarzt behandler lehrer dolmetscher sachbearbeiter hebamme anwalt "
    "anwaeltin betreuer betreuerin helfer helferin leiter leiterin berater beraterin vorgesetzter vorgesetzte chef "
    "zuweiser einweiser ansprechpartner kontaktperson angehoeriger angehoerige mutter vater ehemann ehefrau vormund "
    "gutachter richter richterin zeuge opfer taeter gefangener gefangene haeftling insasse schueler mieter vermieter "
    "inhaber empfaenger absender therapeut therapeutin psychologe pfleger pflegerin pflegekraft chirurg operateur "
    "anaesthesist pruefer bearbeiter mitarbeiter vertreter versicherter patientin klient proband teilnehmer bewerber "
    "verfasser "
    "klant huisarts arts tandarts leraar tolk behandelaar verwijzer verpleegkundige verloskundige advocaat begeleider "
    "mentor leerling werknemer medewerker leidinggevende contactpersoon vader moeder echtgenoot voogd huurder eigenaar "
    "getuige slachtoffer verdachte gedetineerde verzekerde psycholoog"
)
_PEOPLE_FIRST = (
    "medecin soignant adherent enseignant interprete responsable gestionnaire avocat titulaire salarie personne "
    "conjoint conjointe mere pere tuteur tutrice chef directeur directrice chirurgien infirmier infirmiere sagefemme "
    "psychologue therapeute patiente beneficiaire assure locataire proprietaire temoin victime prevenu detenu "
    "eleve etudiant candidat employe referent auteur prescripteur praticien "
    "cliente medico medica docente maestro maestra titular gestor gestora avalista tutor tutora padre madre conyuge "
    "marido esposa abogado abogada jefe jefa enfermero enfermera cirujano psicologo terapeuta matrona comadrona "
    "paciente alumno alumna estudiante empleado trabajador inquilino propietario testigo acusado preso beneficiario "
    "asegurado contacto representante director directora doctora "
    "paziente assistito tutore infermiere infermiera chirurgo ostetrica avvocato responsabile titolare dipendente "
    "alunno alunna studente coniuge marito moglie proprietario testimone vittima imputato detenuto assicurato contatto "
    "referente dottore dottoressa dirigente "
    "utente professor aluno encarregado encarregada diretor diretora doente enfermeiro enfermeira cirurgiao parteira "
    "advogado responsavel pai mae chefe funcionario trabalhador testemunha vitima arguido recluso segurado contato"
)
# Of dates: that they are births, also in short.
_BIRTHS = (
    "birth birthday birthdate born dob yob bday geburt geburtstag geboren geb gebdat gebtag naissance neele nele ddn "
    "nacimiento nacido nacida nac fnac nascita nato nata geboorte geboortedatum gebdatum nascimento nascido nascida "
    "nasc dtnasc"
)
_ABOUT_THEM = (
    "type class group kind segment status level category rating score specialty role visits years since number count "
    "art typ gruppe anzahl fach tipo grupo clase gruppo nombre soort aantal"
)

# Answers and other everyday words: a column that has one of them holds no names, though all its cells begin with
# capitals.
_EVERYDAY = (
    "yes no true false none never rarely sometimes often always daily weekly monthly high low medium good bad poor "
    "fair excellent male female man woman other unknown missing single married divorced widowed positive negative "
    "normal mild moderate severe small large public private "
    "ja nein nie selten manchmal oft immer hoch niedrig mittel gut schlecht maennlich weiblich divers andere "
    "anderes sonstige sonstiges keine keiner keines unbekannt ledig verheiratet geschieden verwitwet leicht schwer "
    "gross klein positiv negativ ambulant stationaer "
    "oui non jamais rarement parfois souvent toujours homme femme autre aucun aucune inconnu celibataire marie "
    "divorce veuf positif negatif leger grave "
    "si nunca veces siempre hombre mujer otro otra ninguno ninguna desconocido soltero casado divorciado viudo "
    "positivo negativo leve "
    "mai raramente talvolta spesso sempre maschio femmina uomo donna altro altra nessuno nessuna sconosciuto "
    "celibe nubile coniugato divorziato vedovo lieve "
    "nee nooit zelden soms vaak altijd man vrouw anders geen onbekend ongehuwd gehuwd gescheiden licht ernstig "
    "sim nao raramente vezes sempre homem mulher outro outra nenhum nenhuma desconhecido solteiro divorciado"
)

# What cells say, whatever their column is called: results of tests, illnesses, drugs, beliefs and offences.
_RESULTS = (
    "pos neg positive negative positiv negativ positif negatif positivo negativo positief negatief reactive "
    "nonreactive "
    "reaktiv detected undetected nachgewiesen"
)
_SECRETS = (
    "influenza griep grippe gripe headache migraine migrane nausea fever fieber fiebre febbre anaemia anemia carcinom "
    "karzinom fractur fraktur schizo bipolar legasthen rugklacht hypertens hyperton infarct infarkt pneumon "
    "metformin insulin methadon sertralin quetiapin lithium ibuprofen paracetamol omeprazol "
    "catholic kathol catolic cattolic protestant evangel muslim moslem islam jewish juedisch judio ebraic hindu buddh "
    "budist atheis orthodox ortodox "
    "theft assault burglary robbery fraud murder homicid omicid diebstahl betrug koerperverletz koerperverletzung "
    "escroquerie agression robo hurto estafa furto rapina truffa diefstal oplichting mishandel roubo"
)
_LOOKED_AT = 100  # cells that may be words for secrets
_NOBODYS = frozenset(_EVERYDAY.split())
_RESULTS_OF_TESTS = frozenset(_RESULTS.split())


def roles_by_name(name: str) -> list[Role]:
    """Return the roles that the words of a column's name speak for, the strongest first."""
    return [role for role, words in WORDS.items() if mentions(name, words)]


def is_about_who(name: str) -> bool:
    """Whether a column's name says that its cells are people: doctor, but not doctor_visits.

    >>> is_about_who("huisarts"), is_about_who("CustomerType")
    (True, False)
    """
    return mentions(name, f"{_PEOPLE_LAST} {_PEOPLE_FIRST}") and not mentions(name, _ABOUT_THEM)


def is_first_of_all_who(name: str) -> bool:
    """Whether the word that says what a column is, among others, means people: probation_officer, chef de service.

    >>> [is_first_of_all_who(name) for name in ("probation_officer", "Chef de service", "customer_country")]
    [True, True, False]
    """
    words = words_of(name)
    if not words or not is_about_who(name):
        return False
    return mentions(words[-1], _PEOPLE_LAST) or mentions(words[0], _PEOPLE_FIRST)


def is_everyday(text: str) -> bool:
    """Whether a cell is an answer, or another word that nobody is called."""
    return plain(text.strip()).rstrip(".") in _NOBODYS


def tell_secrets(labels: Sequence[str]) -> bool:
    """Whether cells are words for secrets: results of tests alone, or illnesses, beliefs and offences among others.

    >>> tell_secrets(["neg", "pos"]), tell_secrets(["Asthma", "flu", "none"]), tell_secrets(["north", "south"])
    (True, True, False)
    """
    words = [plain(label.strip()) for label in labels[:_LOOKED_AT]]
    if words and _RESULTS_OF_TESTS.issuperset(words):
        return True
    secret = sum(mentions(word, f"{WORDS[Role.SENSITIVE]} {_SECRETS}") for word in words)
    return secret * 3 >= len(words) > 0


def is_survey_weight(name: str, *, exact: bool) -> bool:
    """Whether a column's name says how many people a row stands for; `exact` says that its cells are no body's weight.

    >>> is_survey_weight("hh_weight", exact=False), is_survey_weight("weight", exact=False)
    (True, False)
    """
    return mentions(name, _SURVEY_WEIGHTS) or (exact and mentions(name, _WEIGHTS) and not mentions(name, "kg lb lbs g"))


def is_birth(name: str) -> bool:
    """Whether a column of dates is one of births, by its name.

    >>> is_birth("Né(e) le"), is_birth("geb. am"), is_birth("fecha_nac"), is_birth("Aufnahmedatum")
    (True, True, True, False)
    """
    return mentions(name, _BIRTHS)


def is_coordinate(name: str) -> bool:
    """Whether a column's name says that it is one of the two numbers of a place."""
    return mentions(name, _COORDINATES)


def is_first_name(text: str) -> bool:
    """Whether a word, or the first or last of several, is a common first name."""
    words = re.findall(r"[^\W\d_]+", text)
    return bool(words) and (is_given_name(words[0]) or is_given_name(words[-1]))
