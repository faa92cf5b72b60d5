"""The actions of forms: each is what a command does."""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from bestbefore.addon.dashboard.source import ProxySource
from bestbefore.addon.proxy.tunnels.listing import request_lift
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rules import HostPattern

type Form = Mapping[str, object]

DONE = {
    "purge": "The copies of the object were removed; its history stays.",
    "forget": "The copies and the history of the object were removed, and its requests from the traffic log.",
    "refresh": "The object is fetched as soon as the limits of its host allow it.",
    "lift": "The tunnels are lifted within a second.",
}
"""What is said after an action."""


async def act(source: ProxySource, form: Form) -> str:
    """Do what a form asks for; return the path of the page to show then. Raises ValueError, and errors of the store."""
    action = ACTIONS.get(str(form.get("action")))
    if action is None:
        raise ValueError("there is no such action")
    return await action(source, form)


async def _purge(source: ProxySource, form: Form) -> str:
    url = Target.parse(str(form.get("url"))).url
    async with source.store() as store:
        await store.purge(url)
    return f"/objects?url={quote(url)}&done=purge"


async def _forget(source: ProxySource, form: Form) -> str:
    url = Target.parse(str(form.get("url"))).url
    async with source.store() as store:
        await store.forget(url)
    return "/objects?done=forget"


async def _refresh(source: ProxySource, form: Form) -> str:
    """Announce the object as changed: the proxy that has it in its schedule puts it at the front."""
    url = Target.parse(str(form.get("url"))).url
    async with source.store() as store:
        await store.planning.announce([url], changed=True)
    return f"/objects?url={quote(url)}&done=refresh"


async def _lift(source: ProxySource, form: Form) -> str:
    host, client = HostPattern.parse(str(form.get("host"))), form.get("client")
    request_lift(source.config.settings.state, host, str(client) if client else None)
    return "/tunnels?done=lift"


ACTIONS: Mapping[str, Callable[[ProxySource, Form], Awaitable[str]]] = {
    "purge": _purge,
    "forget": _forget,
    "refresh": _refresh,
    "lift": _lift,
}
