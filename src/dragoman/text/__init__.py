"""Strings to ids and back: reading, cleaning, vocabularies. No torch here."""
