"""The rules of HTTP (RFC 9110, RFC 9111): pure functions of requests, stored responses and times.

All modules use `message` (fields, request, head) and `copy` (a stored response).

`fields` has parsers that accept any text: `syntax`, `dates`, `entity_tags`, `directives`, `targeted`; `connection`
(fields that are not forwarded) and `cache_status`. `caching` has the arithmetic, `age` and `freshness`, and the
decisions: `bypass` (requests that bypass the cache), `personal` (responses for one user), `vary` (selection of a copy),
`storing` (what may be stored), `reuse` (serve or validate), `invalidation`. `conditional` has `validation`, `answer`
(the response from a copy) and `ranges`.

A request: `connection.protected_in_request` and `without_named`, `bypass_reason`, then `vary.choose` and
`reuse.decide`, then `answer` and `ranges.part` or, to the origin, `validation.conditional`. A response: for a 304
`validation.confirmed` and `updated`, else `storing.why_not_store` and `copy_of`. No origin: `reuse.without_origin`.
Both ways: `connection.end_to_end`.
"""
