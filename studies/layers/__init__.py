"""Table 1 of "Attention Is All You Need", measured: what a layer costs and how it grows."""
