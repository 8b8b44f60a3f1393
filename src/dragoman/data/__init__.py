"""Ids to batches of tensors."""
