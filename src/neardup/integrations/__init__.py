"""Integrations with other programs. Each needs its extra, and none is imported here."""
