"""The report of a replay: `html` is the page, `chart` its picture, `tables` the numbers as CSV and JSON."""
