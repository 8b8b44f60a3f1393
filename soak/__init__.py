"""What takes hours to show: kills, power losses, hostile input, overload; ``make soak`` runs it.

Each part works against real commands in real processes, within a share of the time, and tells what
it tried and what failed.  What a part finds becomes a test of the product.
"""
