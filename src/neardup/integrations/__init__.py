"""neardup inside other people's programs. Each needs its extra, and none is imported here."""
