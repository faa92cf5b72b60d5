"""The trust in the outside: certificates of origins, and targeted fields."""

from mitmproxy import ctx

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.rfc9111.fields.targeted import CDN_CACHE_CONTROL


def trust(*, stock: bool) -> tuple[bool, str | None]:
    """Return whether and by which roots origins are verified: as in a stock mitmproxy, else by the system's."""
    if not stock:
        return True, None
    return not ctx.options.ssl_insecure, ctx.options.ssl_verify_upstream_trusted_ca


def targeted(settings: Settings) -> tuple[str, ...]:
    """The targeted fields that are obeyed: in front of an origin, one that is meant for caches there in any case."""
    ours = (CDN_CACHE_CONTROL,) if settings.mode is not None else ()
    return tuple(dict.fromkeys((*settings.targeted, *ours)))
