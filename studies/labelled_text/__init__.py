"""Whether text that is written from a label is of the kind that the label names."""
