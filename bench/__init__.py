"""Ratios, measured in one run. `make bench` runs them all; each module also runs alone."""
