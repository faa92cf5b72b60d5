"""Leases of contacts: of several processes on a store, one contacts the origin for an object."""
