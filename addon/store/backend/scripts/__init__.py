"""The Lua scripts of the backend, each of which runs within the server as one step."""
