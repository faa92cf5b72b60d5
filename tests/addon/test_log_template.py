"""Templates of log lines."""

import re

import pytest

from bestbefore.addon.log_template import FIELDS, LogTemplate


def test_a_template_is_filled_with_the_values_of_its_fields() -> None:
    template = LogTemplate.parse('{status} {{"{url}"}}!')
    assert template.filled(dict.fromkeys(FIELDS, "-") | {"status": "200", "url": "http://a/"}) == '200 {"http://a/"}!'


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{urll}", "there is no field {urll}; did you mean {url}?"),
        ("{zzz}", "there is no field {zzz}; expected one of time, "),
        ("{url:>10}", "there is no field {url}"),
        ("{url", "expected {NAME} for each field"),
        ("{}", "there is no field {}"),
        ("jsn", "expected one of line, json, combined, squid, or a template"),
    ],
)
def test_a_wrong_template_is_refused_with_what_was_expected(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        LogTemplate.parse(text)
