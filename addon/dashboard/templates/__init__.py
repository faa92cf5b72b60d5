"""The Jinja2 templates of the pages."""
