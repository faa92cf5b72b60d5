"""The proxy: everything that happens to one request.

Core (pure, no I/O, time is an argument): `rfc9111` says what HTTP allows, `engine` turns an event and a moment into
what to do, `rules` holds the records that configuration is parsed into. Shell: `proxy` (mitmproxy and the network),
`store` (what outlives the process), `admin` (what is shown), `commands`, `cli`, `config`, `clock`.
The shell imports the core, never the other way round; both import `policies`.
"""
