"""The readers of trace formats, one file each; `table` lists them."""
