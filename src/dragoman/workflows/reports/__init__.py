"""Pages, pictures and logs of runs, with Jinja2, matplotlib and TensorBoard."""
