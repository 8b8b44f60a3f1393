"""What a server keeps: keys, corrections, glossaries, document jobs, and how much was used."""
