"""The pages: each module reads what its template shows."""
