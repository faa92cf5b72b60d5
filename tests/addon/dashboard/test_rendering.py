"""How numbers are written, and that templates escape and do not guess."""

import doctest

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from bestbefore.addon.dashboard import rendering


def test_the_examples_hold() -> None:
    assert doctest.testmod(rendering).failed == 0


def test_text_of_the_web_is_escaped_and_a_missing_name_is_an_error() -> None:
    shown = rendering.render("message.html", {"message": "<b onclick='x'>&"})
    assert Markup(shown).striptags() == "<b onclick='x'>&"
    assert "<b" not in shown
    with pytest.raises(UndefinedError):
        rendering.render("message.html", {})
