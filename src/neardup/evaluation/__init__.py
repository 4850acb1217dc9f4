"""Measuring: labelled sets, generated pages, scores, tuned thresholds."""
