"""What is said to those who may not read the metrics."""

SEND_TOKEN = "Send the header Authorization: Bearer and the METRICS_TOKEN."
