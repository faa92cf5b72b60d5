"""What an access log shows of updates."""
