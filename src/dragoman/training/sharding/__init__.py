"""How parameters, gradients and optimizer state lie in memory, and how processes share them."""
