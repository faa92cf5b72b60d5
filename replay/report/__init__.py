"""What a replay found, for people: `html` is the page, `chart` its picture, `tables` the numbers as CSV and JSON."""
