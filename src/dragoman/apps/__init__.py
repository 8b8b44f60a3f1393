"""Doors to the world: the command line, reports and plots."""
