"""Optimizers, and how their state, gradients and parameters are shared among processes."""
