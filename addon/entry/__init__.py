"""Holds bestbefore_addon.py for mitmdump -s; alone here, since mitmproxy puts its folder on sys.path."""
