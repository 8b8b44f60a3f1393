"""LibreTranslate's API, as self-hosted clients speak it.

It answers as their server does (https://docs.libretranslate.com), except that entities in HTML stay
entities, that no path is ever built from what a client says, and that letters, case and punctuation
of translations stay as the model wrote them.
"""

from dragoman.server.libretranslate.routes import LIBRETRANSLATE as LIBRETRANSLATE
