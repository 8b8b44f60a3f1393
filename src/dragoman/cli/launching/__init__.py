"""The launcher of processes that train together, which also restarts them."""
