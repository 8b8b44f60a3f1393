"""The server: one translation service behind several APIs, each of one protocol."""
