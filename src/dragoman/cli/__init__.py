"""The command line: commands, their options, input and output."""
