"""The families of models, each with its configuration and its model; none depends on another."""
