"""What Marian itself makes of a model that ``dragoman export --to marian`` wrote."""
