"""Parallel text on disk: its parts, its cleaning, and what is known of public corpora."""
