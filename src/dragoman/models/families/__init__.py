"""The families of models, each its configuration and its model; none knows another."""
