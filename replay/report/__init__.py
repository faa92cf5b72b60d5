"""The report of a replay: `html` makes the page, `chart` its chart, and `count_files` the counts as CSV and JSON."""
