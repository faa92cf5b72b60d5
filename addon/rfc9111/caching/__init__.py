"""What a shared cache may store and reuse: age, freshness, Vary, invalidation (RFC 9111 3 and 4)."""
