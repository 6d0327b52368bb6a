"""What a release must satisfy: one privacy model per file, with its audit."""

from sfumato.models.alpha_diversity import AlphaDiversity as AlphaDiversity
from sfumato.models.base import Policy as Policy
from sfumato.models.base import PrivacyModel as PrivacyModel
from sfumato.models.base import Verdict as Verdict
from sfumato.models.beta_likeness import BetaLikeness as BetaLikeness
from sfumato.models.delta_disclosure import DeltaDisclosure as DeltaDisclosure
from sfumato.models.delta_presence import DeltaPresence as DeltaPresence
from sfumato.models.hkp_coherence import HkpCoherence as HkpCoherence
from sfumato.models.k_anonymity import KAnonymity as KAnonymity
from sfumato.models.k_map import KMap as KMap
from sfumato.models.km_anonymity import KmAnonymity as KmAnonymity
from sfumato.models.l_diversity import LDiversity as LDiversity
from sfumato.models.local_differential_privacy import LocalDifferentialPrivacy as LocalDifferentialPrivacy
from sfumato.models.multi_diversity import MultiDiversity as MultiDiversity
from sfumato.models.qs_closeness import QSCloseness as QSCloseness
from sfumato.models.qs_diversity import QSDiversity as QSDiversity
from sfumato.models.rho_uncertainty import RhoUncertainty as RhoUncertainty
from sfumato.models.sensitive_qid_closeness import SensitiveQidCloseness as SensitiveQidCloseness
from sfumato.models.sensitive_qid_diversity import SensitiveQidDiversity as SensitiveQidDiversity
from sfumato.models.t_closeness import TCloseness as TCloseness

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
