"""The table of validation policies by name. A new policy needs its file, a line here and a test file."""

from collections.abc import Mapping

from bestbefore.policies.validation.baselines.aimd import Aimd
from bestbefore.policies.validation.baselines.always import Always
from bestbefore.policies.validation.baselines.autottl import AutoTtl
from bestbefore.policies.validation.baselines.fixed import Fixed
from bestbefore.policies.validation.baselines.groupgap import GroupGap
from bestbefore.policies.validation.baselines.miniflux import Miniflux
from bestbefore.policies.validation.baselines.never import Never
from bestbefore.policies.validation.baselines.nutch import Nutch
from bestbefore.policies.validation.baselines.oracle import Oracle
from bestbefore.policies.validation.baselines.pid import Pid
from bestbefore.policies.validation.baselines.squid import Squid
from bestbefore.policies.validation.baselines.stormcrawler import StormCrawler
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.rules.agghist import AggHist, PricedAggHist
from bestbefore.policies.validation.rules.indagg import IndAgg, PricedIndAgg
from bestbefore.policies.validation.rules.indhist import IndHist, PricedIndHist
from bestbefore.policies.validation.rules.indttl import IndTtl, PricedIndTtl
from bestbefore.policies.validation.rules.renewal import MassRenewal, Renewal
from bestbefore.policies.validation.rules.ttl import MassTtl, PricedTtl, Ttl

POLICIES: Mapping[str, type[Formula]] = {
    Ttl.name: Ttl,
    IndHist.name: IndHist,
    AggHist.name: AggHist,
    IndAgg.name: IndAgg,
    IndTtl.name: IndTtl,
    Renewal.name: Renewal,
    Oracle.name: Oracle,
    Always.name: Always,
    Never.name: Never,
    Fixed.name: Fixed,
    Squid.name: Squid,
    Miniflux.name: Miniflux,
    Nutch.name: Nutch,
    StormCrawler.name: StormCrawler,
    Aimd.name: Aimd,
    AutoTtl.name: AutoTtl,
    Pid.name: Pid,
    GroupGap.name: GroupGap,
}

OTHER_FORMS: Mapping[str, tuple[type[Formula], ...]] = {
    Ttl.name: (MassTtl, PricedTtl),
    IndHist.name: (PricedIndHist,),
    AggHist.name: (PricedAggHist,),
    IndAgg.name: (PricedIndAgg,),
    IndTtl.name: (PricedIndTtl,),
    Renewal.name: (MassRenewal,),
}
"""The classes of the same name whose tolerance is another: the keys of a SPEC choose among them."""


def forms_of(name: str) -> tuple[type[Formula], ...]:
    """The classes of the policies of this name, that of its default parameters first."""
    return POLICIES[name], *OTHER_FORMS.get(name, ())
