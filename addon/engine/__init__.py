"""The engine, sans-IO: takes an event and the time, returns a decision. Imports rfc9111, rules and policies only."""
