"""Translations of documents that people review in other tools, and the way back."""
