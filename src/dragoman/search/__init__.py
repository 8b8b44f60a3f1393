"""Scores to hypotheses: greedy, beam and sampling over any scorer."""
