"""What a release must satisfy: one privacy model per file, with its audit."""

from sfumato.models.alpha_diversity import AlphaDiversity
from sfumato.models.base import Policy, PrivacyModel, Verdict
from sfumato.models.beta_likeness import BetaLikeness
from sfumato.models.delta_disclosure import DeltaDisclosure
from sfumato.models.delta_presence import DeltaPresence
from sfumato.models.hkp_coherence import HkpCoherence
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_map import KMap
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.models.multi_diversity import MultiDiversity
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity
from sfumato.models.rho_uncertainty import RhoUncertainty
from sfumato.models.sensitive_qid_closeness import SensitiveQidCloseness
from sfumato.models.sensitive_qid_diversity import SensitiveQidDiversity
from sfumato.models.t_closeness import TCloseness

PRIVACY_MODELS = {
    model.name: model
    for model in (
        KAnonymity,
        LDiversity,
        TCloseness,
        BetaLikeness,
        DeltaDisclosure,
        KMap,
        DeltaPresence,
        QSDiversity,
        QSCloseness,
        RhoUncertainty,
        KmAnonymity,
        HkpCoherence,
        SensitiveQidDiversity,
        SensitiveQidCloseness,
        LocalDifferentialPrivacy,
        AlphaDiversity,
        MultiDiversity,
    )
}

__all__ = [
    "PRIVACY_MODELS",
    "AlphaDiversity",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "HkpCoherence",
    "KAnonymity",
    "KMap",
    "KmAnonymity",
    "LDiversity",
    "LocalDifferentialPrivacy",
    "MultiDiversity",
    "Policy",
    "PrivacyModel",
    "QSCloseness",
    "QSDiversity",
    "RhoUncertainty",
    "SensitiveQidCloseness",
    "SensitiveQidDiversity",
    "TCloseness",
    "Verdict",
]
