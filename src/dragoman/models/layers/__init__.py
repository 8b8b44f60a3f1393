"""The layers that models are built from; a layer depends on no family."""
