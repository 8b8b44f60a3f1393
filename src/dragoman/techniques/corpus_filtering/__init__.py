"""Filtering of noisy parallel text by what models of both directions say about it."""
