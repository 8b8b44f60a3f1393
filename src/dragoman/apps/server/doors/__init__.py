"""Protocols that a server speaks: one module, or package, for each."""
