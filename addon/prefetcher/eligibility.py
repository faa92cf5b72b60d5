"""The eligibility of objects for prefetching. A GET should be safe, but some log out, unsubscribe or confirm.

So only objects are eligible that are stored, have a validator, and were requested at least twice without Cookie and
credentials; whose URL looks neither like a secret nor like an action; and that are not limited to a single client.
"""

import re
from enum import StrEnum
from functools import lru_cache
from urllib.parse import unquote_plus, urlsplit

from bestbefore.addon.proxy.access.reach import LOOPBACK, PUBLIC, RANGES, Reach
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Request, Target

MIN_REQUESTS = 2
"""How many requests without Cookie and credentials an object needs, in the days that count, to be prefetched."""
ASKED_RANGES = ("", *sorted(RANGES))
"""The ranges of addresses by which requests are counted; empty: public ones."""
LONGEST_URL = 4096
TOO_MANY_KEYS = 64
SEGMENTS_KNOWN = 4096
"""Of how many segments of paths, those seen last, it is known whether they are refused: most paths share folders."""


class Refusal(StrEnum):
    """The reason why an object is not prefetched: a log field and a metric label."""

    USERINFO = "userinfo"
    SECRET = "secret-in-query"  # noqa: S105 - no password, but the name of a reason
    TOKEN = "token-in-path"  # noqa: S105 - likewise
    """A segment of the path looks random, as in a link that grants access to anyone who has it."""
    DEED = "deed"
    """Path or query name an action."""
    TOO_LONG = "too-long"
    NO_COPY = "no-copy"
    """There is no copy to validate: evicted, without validator, or not a 200."""
    PERSONAL = "personal"
    """Fetched with Cookie or credentials, sets a cookie, or is bound to one."""
    PRIVATE_ADDRESS = "private-address"
    """It came from a private range in which no client has requested it."""


_SECRETS = frozenset((
    "auth", "authorization", "code", "credential", "credentials", "hash", "hmac", "jwt", "key", "nonce", "otp", "pass",
    "passwd", "password", "pin", "pwd", "secret", "session", "sessionid", "sid", "sig", "sign", "signature", "state",
    "ticket", "token",
))  # fmt: skip
"""Words that mark a key, of the query or of a parameter in the path, as secret: it consists of one, or ends with one,
as `access_token`, `X-Amz-Signature` and `apiKey`."""
_SECRET_ENDINGS = (
    "token", "secret", "password", "passwd", "signature", "apikey", "authkey", "accesskey", "secretkey", "passkey",
    "rsskey", "feedkey", "session", "sessionid", "sessid",
)  # fmt: skip
"""Endings that also count without a word boundary before them, as in `PHPSESSID`."""
_SHORT_SECRETS = frozenset(("k", "t"))
"""Secret only as whole keys, not as a word in keys such as `don-t` or `k-means`."""
_DEEDS = frozenset((
    "accept", "ack", "acknowledge", "activate", "add", "addtocart", "approve", "ban", "buy", "cancel", "checkout",
    "claim", "clear", "confirm", "create", "cron", "deactivate", "decline", "delete", "deny", "destroy", "disable",
    "dismiss", "downvote", "drop", "enable", "erase", "exec", "execute", "flush", "follow", "halt", "invite", "invoke",
    "join", "kill", "lock", "logoff", "logon", "login", "logout", "optin", "optout", "pay", "poweroff", "poweron",
    "publish", "purchase", "purge", "reboot", "redeem", "register", "reject", "reload", "remove", "renew", "resend",
    "reset", "restart", "restore", "revoke", "rollback", "rsvp", "save", "send", "shutdown", "signin", "signoff",
    "signout", "signup", "submit", "subscribe", "suspend", "terminate", "toggle", "transfer", "trash", "trigger",
    "unban", "unblock", "unfollow", "uninstall", "unlink", "unlock", "unpublish", "unsubscribe", "update", "upvote",
    "verify", "vote", "wipe", "wpcron",
))  # fmt: skip
"""Whole segments of a path and values or keys of a query, spelt without `-`, `_`, `.` and case; and the first of two
words of a segment, as in `confirm-email`. Not words that name pages or lists as often, such as `start`, `open`,
`order`, `install` and `archive`."""
MIN_TOKEN = 16
"""The shortest token, in characters: 64 bits in hexadecimal digits, the least that cannot be guessed. Names of files by
content, made by build tools (8 digits), and of videos (11) are shorter."""
_RUN = re.compile(rf"[A-Za-z0-9_-]{{{MIN_TOKEN},}}")
_HEX_RUN = re.compile(rf"[0-9A-Fa-f]{{{MIN_TOKEN},}}|[0-9A-Fa-f]{{8}}(?:-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}")
_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_CHANGES_AT_LEAST = 0.25
"""The least share of changes between letters, capitals and digits per character of a token: 0.44 in random text (0.4
without capitals), about 0.2 in `CamelCase`, less than 0.1 in words and dates."""
_SEAM = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_NOT_A_LETTER = re.compile(r"[^a-z0-9]+")


def refused_url(url: str) -> Refusal | None:
    """Return why this URL is not prefetched; None if it may be."""
    if len(url) > LONGEST_URL:
        return Refusal.TOO_LONG
    parts = urlsplit(url)
    if "@" in parts.netloc:
        return Refusal.USERINFO
    pairs = _pairs(parts.path, parts.query) if parts.query or ";" in parts.path else []
    if len(pairs) > TOO_MANY_KEYS:
        return Refusal.TOO_LONG
    if any(_is_secret(unquote_plus(key)) for key, _, _ in pairs):
        return Refusal.SECRET
    refusals = {_refused_segment(unquote_plus(segment.partition(";")[0])) for segment in parts.path.split("/")}
    if Refusal.TOKEN in refusals:
        return Refusal.TOKEN
    if Refusal.DEED in refusals:
        return Refusal.DEED
    in_pairs = (unquote_plus(text) for key, _, value in pairs for text in (key, value))
    return Refusal.DEED if any(map(_is_deed, in_pairs)) else None


def _pairs(path: str, query: str) -> list[tuple[str, str, str]]:
    """Return keys and values of a query, and of the parameters in a path, as in `/page;jsessionid=1`."""
    parameters = [one for segment in path.split("/") for one in segment.partition(";")[2].split(";")]
    return [pair.partition("=") for pair in [*parameters, *re.split("[&;]", query)] if pair]


@lru_cache(maxsize=SEGMENTS_KNOWN)
def _refused_segment(segment: str) -> Refusal | None:
    """Return why an object with such a segment in its path is not prefetched; None if it may be."""
    if len(segment) >= MIN_TOKEN and _is_token(segment):
        return Refusal.TOKEN
    stem, dot, _ = segment.partition(".")
    is_deed = _is_deed(stem) or (dot and _is_deed(segment)) or _begins_a_deed(stem)
    return Refusal.DEED if is_deed else None


def _is_deed(word: str) -> bool:
    lower = word.lower()
    return (lower if lower.isalnum() and lower.isascii() else _NOT_A_LETTER.sub("", lower)) in _DEEDS


def _is_secret(key: str) -> bool:
    words = [word.lower() for word in _SEAM.split(key) if word]
    is_short = len(words) == 1 and words[0] in _SHORT_SECRETS
    return is_short or any(word in _SECRETS or word.endswith(_SECRET_ENDINGS) for word in words)


def _is_token(segment: str) -> bool:
    """Whether part of a segment looks random: neither a number, nor words, however these are joined."""
    if any(not run.isdigit() and not run.isalpha() for run in _HEX_RUN.findall(segment)):
        return True
    return any(len(_CHANGE.findall(run)) >= _CHANGES_AT_LEAST * len(run) for run in _RUN.findall(segment))


def _begins_a_deed(stem: str) -> bool:
    if stem.isalnum() and stem.islower() and stem.isascii():
        return False  # one word
    words = [word.lower() for word in _SEAM.split(stem) if word]
    return len(words) == 2 and words[0] in _DEEDS


def fetch_of(copies: tuple[Copy, ...], asked_from: tuple[str, ...], user_agent: str) -> tuple[Request, Reach] | Refusal:
    """Return the request for prefetching an object, and the addresses it may reach; or the reason for refusing it.

    Of several variants the one validated last is fetched, which a client requested last. `asked_from`: the ranges of
    private addresses from which clients have requested it. The request has the fields that Vary names, with a client's
    normalised values, including User-Agent: another value would fetch another variant. (Via still names the proxy.)
    """
    usable = [copy for copy in copies if copy.has_validator and copy.head.status == 200 and not copy.partition]
    if not usable:
        return Refusal.NO_COPY
    usable = [copy for copy in usable if not _is_personal(copy)]
    if not usable:
        return Refusal.PERSONAL
    copy = max(usable, key=lambda copy: copy.response_time_s)
    if copy.range and copy.range not in asked_from and LOOPBACK not in asked_from:
        return Refusal.PRIVATE_ADDRESS
    selecting = [(name.title(), value) for name, value in copy.selecting if value is not None]
    fields = Fields(selecting)
    if "user-agent" not in dict(copy.selecting):
        fields = Fields([("User-Agent", user_agent), *selecting])
    return Request("GET", Target.parse(copy.url), fields), Reach(frozenset({copy.range})) if copy.range else PUBLIC


def _is_personal(copy: Copy) -> bool:
    selects_by_credentials = any(name in ("cookie", "authorization") for name, _ in copy.selecting)
    fetched_with = copy.fetched_with_cookie or copy.fetched_with_authorization
    return bool(copy.personal or copy.client) or fetched_with or copy.sets_cookie or selects_by_credentials
