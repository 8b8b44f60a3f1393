"""Models that travel: packed into archives, and installed from these."""
