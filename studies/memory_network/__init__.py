"""The end-to-end memory network beside a Transformer: questions about short stories."""
