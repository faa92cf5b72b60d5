"""The actions of forms: each is what a command does."""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from bestbefore.addon.admin.sanitize import plain_word
from bestbefore.addon.dashboard.comparison.comparison import PolicyComparison
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
    "offline": "The proxy contacts no origin, and answers from its store.",
    "online": "The proxy contacts origins again.",
}
"""What is said after an action."""


@dataclass(frozen=True, slots=True)
class Actor:
    """What forms act on."""

    source: ProxySource
    comparison: PolicyComparison

    async def act(self, form: Form) -> str:
        """Do what a form asks for; return the path of the page to show then. Raises ValueError, errors of the store."""
        action = ACTIONS.get(str(form.get("action")))
        if action is None:
            raise ValueError("there is no such action")
        return await action(self, form)


async def _purge(actor: Actor, form: Form) -> str:
    url = Target.parse(str(form.get("url"))).url
    async with actor.source.store() as store:
        await store.purge(url)
    return f"/objects?url={quote(url)}&done=purge"


async def _forget(actor: Actor, form: Form) -> str:
    url = Target.parse(str(form.get("url"))).url
    async with actor.source.store() as store:
        await store.forget(url)
    return "/objects?done=forget"


async def _refresh(actor: Actor, form: Form) -> str:
    """Announce the object as changed: the proxy that has it in its schedule puts it at the front."""
    url = Target.parse(str(form.get("url"))).url
    async with actor.source.store() as store:
        if await store.planning.candidate(url) is None:
            raise ValueError(f"{plain_word(url)}: it is not in the schedule of background fetches")
        await store.planning.announce([url], changed=True)
    return f"/objects?url={quote(url)}&done=refresh"


async def _lift(actor: Actor, form: Form) -> str:
    host, client = HostPattern.parse(str(form.get("host"))), form.get("client")
    request_lift(actor.source.config.settings.state, host, str(client) if client else None)
    return "/tunnels?done=lift"


async def _offline(actor: Actor, _form: Form) -> str:
    actor.source.switch(offline=True)
    return "/?done=offline"


async def _online(actor: Actor, _form: Form) -> str:
    actor.source.switch(offline=False)
    return "/?done=online"


async def _compare(actor: Actor, form: Form) -> str:
    days, percent = (_number(form, name) for name in ("days", "stale_percent"))
    actor.comparison.start(actor.source.config, actor.source.config_file, days, percent / 100.0)
    return "/policies"


async def _cancel(actor: Actor, _form: Form) -> str:
    actor.comparison.cancel()
    return "/policies"


def _number(form: Form, name: str) -> float:
    text = str(form.get(name)).strip().removesuffix("%")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a number")
    return number


ACTIONS: Mapping[str, Callable[[Actor, Form], Awaitable[str]]] = {
    "purge": _purge,
    "forget": _forget,
    "refresh": _refresh,
    "lift": _lift,
    "offline": _offline,
    "online": _online,
    "compare": _compare,
    "cancel": _cancel,
}
