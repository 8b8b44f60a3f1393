"""Back-translation: text without translations becomes training pairs, round after round."""
