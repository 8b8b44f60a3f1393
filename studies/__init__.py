"""Measurements and generators that no user's run needs; see README.md."""
