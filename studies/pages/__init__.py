"""Pages of results, made from the data in docs/techniques.yaml and docs/results/data."""
