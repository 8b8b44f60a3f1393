"""Foreign files: their text out, and its translation in again, markup and layout kept."""
