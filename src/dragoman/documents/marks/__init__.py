"""Marks, the markup within a sentence: how they are read, placed and written."""
