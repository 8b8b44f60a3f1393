"""Pages, pictures and logs of runs: the doors to Jinja2, matplotlib and TensorBoard."""
