"""The user-facing layer: the command line, reports and plots."""
