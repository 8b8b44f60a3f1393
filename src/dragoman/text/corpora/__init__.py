"""Parallel text on disk: its parts, its cleaning, and the public corpora."""
