"""LibreTranslate's API, for clients of self-hosted servers.

It answers like LibreTranslate (https://docs.libretranslate.com), with three differences: entities
in HTML stay entities, paths are never built from a client's input, and letters, case and
punctuation of translations stay as the model wrote them.
"""

from dragoman.server.libretranslate.routes import LIBRETRANSLATE as LIBRETRANSLATE
