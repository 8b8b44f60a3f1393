"""Strings to numbers: metrics and significance. No torch here."""
