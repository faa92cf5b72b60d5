"""Sans-IO: an event and now_s in, what to do out. Imports rfc9111, rules and policies only."""
