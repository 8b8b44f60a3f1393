"""A probabilistic chart parser that learns its grammar from a treebank, beside the neural ones."""
