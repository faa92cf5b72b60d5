"""Commands for those who keep a proxy running."""
