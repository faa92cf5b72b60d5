"""The validation policies by name. A new one is a new file, a line here and a test file."""

from collections.abc import Mapping

from bestbefore.policies.validation.agghist import AggHist
from bestbefore.policies.validation.indagg import IndAgg
from bestbefore.policies.validation.indhist import IndHist
from bestbefore.policies.validation.indttl import IndTtl
from bestbefore.policies.validation.ttl import Ttl

PolicyClass = type[Ttl] | type[IndHist] | type[AggHist] | type[IndAgg] | type[IndTtl]

POLICIES: Mapping[str, PolicyClass] = {
    Ttl.name: Ttl,
    IndHist.name: IndHist,
    AggHist.name: AggHist,
    IndAgg.name: IndAgg,
    IndTtl.name: IndTtl,
}
