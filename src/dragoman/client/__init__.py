"""The Python client of a Dragoman server."""
