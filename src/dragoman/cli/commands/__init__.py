"""Commands, a module for each or for those of one subject."""
