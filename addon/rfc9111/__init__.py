"""What HTTP allows (RFC 9110, RFC 9111): pure functions of requests, stored responses and times.

The order to read it in, which is also that of the imports: `message` (fields, request, head); parsers that take any
text: `syntax`, `dates`, `entity_tags`, `directives`, `targeted`; the arithmetic: `age`, `freshness`; `copy` (a stored
response); `bypass` (what goes past the cache), `connection` (what is not passed on), `personal` (whom a page is for),
`vary` (which copy answers), `storing` (what may be stored), `cache_status` (what the client is told), `reuse` (serve,
or ask first), `validation` (asking, and what the answer changes), `answer` (what is sent), `ranges` (which part of
it), `invalidation` (what goes).

A request: `connection.protected_in_request` and `without_named`, `bypass_reason`, then `vary.choose` and
`reuse.decide`, then `answer` and `ranges.part` or, to the origin, `validation.conditional`. A response: for a 304
`validation.confirmed` and `updated`, else `storing.why_not_store` and `copy_of`. No origin: `reuse.without_origin`.
Both ways: `connection.end_to_end`.
"""
