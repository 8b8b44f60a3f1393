"""Filtering of noisy parallel text by scores of models of both directions."""
