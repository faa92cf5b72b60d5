import pytest

from bestbefore.addon.commands.clients.address import client_address
from bestbefore.addon.errors import InputError


def test_an_address_has_the_form_of_the_logs_and_other_text_is_refused() -> None:
    assert client_address("2001:DB8:0::7") == "2001:db8::7"
    with pytest.raises(InputError, match="--client printer: expected an IP address"):
        client_address("printer")
