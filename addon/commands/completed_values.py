"""The values of options that shells complete."""

import click

STORES = ("embedded", "redis://", "rediss://", "unix:///", "redis+cluster://", "redis+sentinel://")
"""The embedded store, and how the URLs of others begin."""


def complete_words(_ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the words that an option takes beside other values: those in lower case of its metavar."""
    named = (param.metavar or "").split("|")
    return [word for word in named if word.isalpha() and word.islower() and word.startswith(incomplete)]


def complete_store(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the address of a store, as far as it is the same for all."""
    return [store for store in STORES if store.startswith(incomplete)]
