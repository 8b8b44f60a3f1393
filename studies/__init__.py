"""Measurements and generators that are not needed to use Dragoman; see README.md."""
