"""Holds bestbefore_addon.py, the file that mitmdump -s loads; alone here since mitmproxy puts this folder on sys.path."""
