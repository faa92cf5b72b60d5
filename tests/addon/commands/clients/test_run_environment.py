"""The variables that a command gets."""

from pathlib import Path

from bestbefore.addon.commands.clients.run_environment import run_environment

PROXY = "http://127.0.0.1:8080"
BUNDLE = Path("/state/ca-bundle.pem")


def test_the_proxy_and_its_certificate_are_in_the_variables_that_programs_read() -> None:
    made = run_environment({"PATH": "/bin"}, PROXY, BUNDLE, None, None, is_local=True)
    assert made["PATH"] == "/bin"
    for name in ("http_proxy", "HTTPS_PROXY", "npm_config_https_proxy", "YARN_HTTPS_PROXY"):
        assert made[name] == PROXY
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "npm_config_cafile"):
        assert made[name] == str(BUNDLE)
    assert made["no_proxy"] == ""
    assert (made["NODE_USE_ENV_PROXY"], made["PERL_LWP_ENV_PROXY"]) == ("1", "1")
    assert made.keys().isdisjoint({"JAVA_TOOL_OPTIONS", "SYSTEM_WGETRC"})
    assert "YARN_HTTPS_CA_FILE_PATH" not in made, "Yarn 2 stops at names that it does not know"


def test_wget_gets_a_file_of_settings() -> None:
    made = run_environment({}, PROXY, BUNDLE, None, Path("/cache/1.wgetrc"), is_local=True)
    assert made["SYSTEM_WGETRC"] == "/cache/1.wgetrc"


def test_hosts_without_proxy_are_the_users_else_this_machine_where_the_proxy_is_another() -> None:
    made = run_environment({"NO_PROXY": ".example.org"}, PROXY, BUNDLE, None, None, is_local=True)
    assert (made["no_proxy"], made["NO_PROXY"]) == (".example.org", ".example.org")
    assert run_environment({}, PROXY, BUNDLE, None, None, is_local=False)["no_proxy"] == "localhost,127.0.0.1,::1"


def test_java_gets_properties_after_those_of_the_user() -> None:
    given = {"JAVA_TOOL_OPTIONS": "-Xmx1g", "no_proxy": "a.org, .b.org"}
    made = run_environment(given, "http://me:pw@[::1]:8080", BUNDLE, Path("/my cache/1.p12"), None, is_local=True)
    options = made["JAVA_TOOL_OPTIONS"]
    assert options.startswith("-Xmx1g -Dhttp.proxyHost=::1 -Dhttps.proxyHost=::1 -Dhttp.proxyPort=8080 ")
    assert " -Dhttp.nonProxyHosts=a.org|*.b.org " in options
    assert ' "-Djavax.net.ssl.trustStore=/my cache/1.p12" ' in options
    assert "pw" not in options
