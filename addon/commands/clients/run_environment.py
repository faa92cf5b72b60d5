"""The environment of a command that uses the proxy: variables by which programs find a proxy and its certificate.

Most programs read the variables of the first two groups; each other group is for one that does not.
"""

from collections.abc import Mapping
from pathlib import Path

_PROXY = (
    "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "npm_config_proxy", "npm_config_https_proxy",
    "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
)  # fmt: skip
_BUNDLE = (
    "SSL_CERT_FILE",  # OpenSSL: Python's ssl, Ruby, wget2; Go; rustls-native-certs
    "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "npm_config_cafile",
    "AWS_CA_BUNDLE", "DENO_CERT", "PERL_LWP_SSL_CA_FILE",
    "NODE_EXTRA_CA_CERTS",  # also for Yarn, which has changed the names of its own variables
)  # fmt: skip
_SWITCHES = {"NODE_USE_ENV_PROXY": "1", "PERL_LWP_ENV_PROXY": "1"}
"""They make Node, from 22.21 on, and Perl's LWP read the variables for a proxy."""
_NO_PROXY = ("no_proxy", "NO_PROXY")
_JAVA = "JAVA_TOOL_OPTIONS"
WGET_SETTINGS = "SYSTEM_WGETRC"
TRUST_STORE_PASSWORD = "changeit"  # noqa: S105 - Java's own default; the store holds no secret


def run_environment(
    environ: Mapping[str, str],
    proxy_url: str,
    bundle: Path,
    trust_store: Path | None,
    wget_settings: Path | None,
    *,
    is_local: bool,
) -> dict[str, str]:
    """Return the environment for a command.

    `trust_store`, `wget_settings`: the files for Java and wget; None: this program is not set up. `is_local`: the proxy
    is on this machine, so that it also reaches servers of this machine; else those are excepted. Hosts that the user
    has excepted stay so.
    """
    excepted = environ.get("no_proxy") or environ.get("NO_PROXY") or ("" if is_local else "localhost,127.0.0.1,::1")
    made = dict(environ) | dict.fromkeys(_PROXY, proxy_url) | dict.fromkeys(_BUNDLE, str(bundle))
    made |= dict.fromkeys(_NO_PROXY, excepted) | _SWITCHES
    if wget_settings is not None:
        made[WGET_SETTINGS] = str(wget_settings)
    if trust_store is not None:
        made[_JAVA] = " ".join(filter(None, (environ.get(_JAVA), *_java_options(proxy_url, trust_store, excepted))))
    return made


def _java_options(proxy_url: str, trust_store: Path, excepted: str) -> tuple[str, ...]:
    host, _, port = proxy_url.rpartition("/")[2].rpartition("@")[2].rpartition(":")
    hosts = (name.strip() for name in excepted.split(","))
    not_proxied = "|".join(f"*{name}" if name.startswith(".") else name for name in hosts if name)
    options = {
        **{f"{scheme}.proxyHost": host.strip("[]") for scheme in ("http", "https")},
        **{f"{scheme}.proxyPort": port for scheme in ("http", "https")},
        "http.nonProxyHosts": not_proxied,
        "javax.net.ssl.trustStore": str(trust_store),
        "javax.net.ssl.trustStoreType": "PKCS12",
        "javax.net.ssl.trustStorePassword": TRUST_STORE_PASSWORD,
    }
    return tuple(_quoted(f"-D{name}={value}") for name, value in options.items())


def _quoted(option: str) -> str:
    """Return an option as Java reads it from a variable."""
    return f'"{option}"' if " " in option else option
