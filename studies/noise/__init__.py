"""Noise of known kinds in a clean parallel corpus, and how much of it a filter finds."""
