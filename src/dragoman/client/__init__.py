"""The client of a server of ours, for programs in Python."""
