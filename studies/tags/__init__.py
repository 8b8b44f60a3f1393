"""Tags that a model has learned to move, beside tags that follow its attention."""
