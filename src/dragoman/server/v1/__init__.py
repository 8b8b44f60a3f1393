"""Dragoman's own API, ``/v1``: everything that the service can tell, as JSON."""

from dragoman.server.v1.routes import V1 as V1
