"""The server: one translation service behind several doors, each of which speaks one protocol."""
