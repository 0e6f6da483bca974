"""Messages for clients that may not read the metrics."""

SEND_TOKEN = "Send the header Authorization: Bearer and the METRICS_TOKEN."
