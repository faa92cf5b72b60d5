"""The rules of HTTP (RFC 9110, RFC 9111): pure functions of requests, stored responses and times.

`message` (fields, request, head) and `copy` (a stored response) are what all speak of.

`fields` holds parsers that take any text: `syntax`, `dates`, `entity_tags`, `directives`, `targeted`; `connection`
(what is not passed on) and `cache_status` (what the client gets to know). `caching` holds the arithmetic, `age` and
`freshness`, and the decisions: `bypass` (what goes past the cache), `personal` (whom a page is for), `vary` (which copy
answers), `storing` (what may be stored), `reuse` (serve, or ask first), `invalidation` (what goes). `conditional` holds
`validation` (asking, and what the answer changes), `answer` (what is sent) and `ranges` (which part of it).

A request: `connection.protected_in_request` and `without_named`, `bypass_reason`, then `vary.choose` and
`reuse.decide`, then `answer` and `ranges.part` or, to the origin, `validation.conditional`. A response: for a 304
`validation.confirmed` and `updated`, else `storing.why_not_store` and `copy_of`. No origin: `reuse.without_origin`.
Both ways: `connection.end_to_end`.
"""
