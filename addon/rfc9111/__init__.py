"""What HTTP allows (RFC 9110, RFC 9111): pure functions of requests, stored responses and times."""
