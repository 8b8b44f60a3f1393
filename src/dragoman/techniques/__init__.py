"""Published techniques, which prepare, run or follow single experiments."""
