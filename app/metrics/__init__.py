"""Metrics in the text format of Prometheus, if METRICS_TOKEN is set."""
