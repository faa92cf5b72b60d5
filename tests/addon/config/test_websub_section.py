"""What [websub] may say."""

import pytest

from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.settings import Address

LISTEN = 'listen = "127.0.0.1:8090"'


def load(folder, *lines):
    (folder / "c.toml").write_text("\n".join(("[websub]", *lines)))
    return load_config(folder / "c.toml").websub


def test_it_is_off_without_keys_and_on_with_both(tmp_path):
    assert not load(tmp_path).enabled
    found = load(tmp_path, LISTEN, 'callback_url = "https://proxy.example.org/websub/"')
    assert (found.enabled, found.listen) == (True, Address("127.0.0.1", 8090))
    assert found.callback_url == "https://proxy.example.org/websub"


@pytest.mark.parametrize(("lines", "words"), [
    ([LISTEN], "callback_url is missing"),
    (['callback_url = "http://x/"'], "listen is missing"),
    ([LISTEN, 'callback_url = "x"'], "expected the URL by which hubs reach"),
    ([LISTEN, 'callback_url = "http://u:p@x/?a=b"'], "without user, query and fragment"),
    ([LISTEN, 'callback_url = 5'], "expected the URL by which hubs reach"),
    ([LISTEN, 'callback_url = "http://x/"', "secret = 1"], "secret"),
])  # fmt: skip
def test_errors_say_what_is_wrong(tmp_path, lines, words):
    with pytest.raises(ConfigError, match=words):
        load(tmp_path, *lines)
