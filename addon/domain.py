"""The registrable domain of a host: the smallest name that someone can own, such as `example.co.uk`.

It is the default group of AggHist, the hash tag of the store's keys and the unit of politeness.
"""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


@cache
def _suffixes() -> PublicSuffixList:
    """The list bundled with the package, parsed once (40 ms); never fetched."""
    return PublicSuffixList()


@lru_cache(maxsize=65_536)
def registrable_domain(host: str) -> str:
    """The public suffix of the host and the one label before it, in lower case, without a final dot.

    A host that has none is its own: an IP address, a single label (`localhost`), a public suffix itself (`co.uk`)
    and what is no domain name at all. Private suffixes count (`alice.github.io` and `bob.github.io` are two).

    >>> registrable_domain("www.Example.co.uk"), registrable_domain("192.0.2.1")
    ('example.co.uk', '192.0.2.1')

    Source: Public Suffix List, https://publicsuffix.org/list/, "Algorithm".
    """
    name = host.lower().rstrip(".") or host
    # The list knows nothing of addresses: it would answer 2.1 for 192.0.2.1. No top-level domain is all digits.
    is_address = ":" in name or name.rpartition(".")[2].isdigit()
    return name if is_address else _suffixes().privatesuffix(name) or name
