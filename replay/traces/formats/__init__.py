"""The formats of traces, one file each; `table` names them."""
