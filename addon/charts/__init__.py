"""SVG charts without dependencies, shared by reports, papers and pages of the proxy."""
