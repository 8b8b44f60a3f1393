"""The server: one translation service behind several APIs."""
