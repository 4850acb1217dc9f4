"""Evaluation: labelled sets, generated pages, metrics, tuned thresholds."""
