"""Charts as SVG, drawn by hand and needing nothing else: what reports, papers and pages of the proxy share."""
