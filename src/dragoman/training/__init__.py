"""Better weights: loss, optimizer, schedule, checkpoints, the loop."""
