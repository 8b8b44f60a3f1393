"""reStructuredText: its blocks, its inline markup, and documents of it."""
