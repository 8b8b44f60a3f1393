"""How German text addresses its reader: what a domain tag visibly changes."""
