"""The steps, each after the one that it names."""
