"""The command line: commands, their options, and what lies between them and people."""
