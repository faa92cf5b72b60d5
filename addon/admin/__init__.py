"""What is shown: metrics, the health page, the request log and the summary."""
