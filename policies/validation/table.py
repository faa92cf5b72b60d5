"""The validation policies by name. A new one is a new file, a line here and a test file."""

from collections.abc import Mapping

from bestbefore.policies.validation.agghist import AggHist
from bestbefore.policies.validation.aimd import Aimd
from bestbefore.policies.validation.always import Always
from bestbefore.policies.validation.fixed import Fixed
from bestbefore.policies.validation.indagg import IndAgg
from bestbefore.policies.validation.indhist import IndHist
from bestbefore.policies.validation.indttl import IndTtl
from bestbefore.policies.validation.miniflux import Miniflux
from bestbefore.policies.validation.never import Never
from bestbefore.policies.validation.nutch import Nutch
from bestbefore.policies.validation.oracle import Oracle
from bestbefore.policies.validation.policy import Policy
from bestbefore.policies.validation.squid import Squid
from bestbefore.policies.validation.stormcrawler import StormCrawler
from bestbefore.policies.validation.ttl import Ttl

POLICIES: Mapping[str, type[Policy]] = {
    Ttl.name: Ttl,
    IndHist.name: IndHist,
    AggHist.name: AggHist,
    IndAgg.name: IndAgg,
    IndTtl.name: IndTtl,
    Oracle.name: Oracle,
    Always.name: Always,
    Never.name: Never,
    Fixed.name: Fixed,
    Squid.name: Squid,
    Miniflux.name: Miniflux,
    Nutch.name: Nutch,
    StormCrawler.name: StormCrawler,
    Aimd.name: Aimd,
}
