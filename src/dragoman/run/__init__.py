"""One run: its directory, its parents, its text, its tasks and its model."""
