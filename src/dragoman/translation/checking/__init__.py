"""Errors that show in a source and its translation alone; no model and no PyTorch are needed."""
