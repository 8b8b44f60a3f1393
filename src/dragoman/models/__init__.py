"""Tensors to scores: the families of translation models, under one interface."""
