"""Cross-lingual embeddings from text in each language alone: learned, mapped, measured and used."""
