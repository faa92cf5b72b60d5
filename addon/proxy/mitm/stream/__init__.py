"""Requests and their responses inside mitmproxy's HTTP layer: where they go, the exchange, and how answers are sent."""
