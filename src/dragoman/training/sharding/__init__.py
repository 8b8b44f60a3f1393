"""Memory layout of parameters, gradients and optimizer state, and sharing among processes."""
