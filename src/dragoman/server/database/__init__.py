"""The database of a server: keys, corrections, glossaries, document jobs, and usage."""
