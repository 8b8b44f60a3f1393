"""Tables of results: trains what is not trained, translates, scores, and writes what was found."""
