"""What runs or prepares several experiments, after a paper."""
