"""The style sheet, the script and the icon, which bear nothing of the web."""
