"""What models are built from; a layer knows no family."""
