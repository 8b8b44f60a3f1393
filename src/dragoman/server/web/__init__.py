"""The web page: static files, and the door that serves them."""
