"""The rules of a shared cache for storing and reuse: age, freshness, Vary, invalidation (RFC 9111 3 and 4)."""
