"""Terms: glossaries, their files, their marks in text, and words that may be terms."""
