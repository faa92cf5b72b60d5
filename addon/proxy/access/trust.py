"""Which certificates of origins and which targeted cache-control fields are trusted."""

from mitmproxy import ctx

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.rfc9111.fields.targeted import CDN_CACHE_CONTROL


def trust(*, stock: bool) -> tuple[bool, str | None]:
    """Return whether origins are verified, and the file of root certificates: mitmproxy's options, or the system's."""
    if not stock:
        return True, None
    return not ctx.options.ssl_insecure, ctx.options.ssl_verify_upstream_trusted_ca


def targeted(settings: Settings) -> tuple[str, ...]:
    """Return the targeted fields to obey; a reverse proxy always obeys that for caches in front of an origin."""
    ours = (CDN_CACHE_CONTROL,) if settings.mode is not None else ()
    return tuple(dict.fromkeys((*settings.targeted, *ours)))
