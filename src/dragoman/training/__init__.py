"""Training: losses, optimizer, schedule, checkpoints, and the training loop."""
