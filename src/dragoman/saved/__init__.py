"""A trained system on disk."""
