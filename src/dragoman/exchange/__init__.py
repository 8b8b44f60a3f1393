"""Foreign models in and out."""
