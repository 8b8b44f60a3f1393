"""The Python client of a Dragoman server.

These files are also the distribution ``dragoman-client``, as the package ``dragoman_client``:
decision 104.
"""

from dragoman.client.asynchronous import AsyncClient
from dragoman.client.synchronous import Client
from dragoman.client.text_calls import TranslateOptions
from dragoman.client.values import CharacterUsage, GlossaryOffer, LanguageOffer
from dragoman.core.errors import (
    ConfigError,
    DataError,
    DragomanError,
    ServiceError,
    StorageError,
    UsageError,
)
from dragoman.core.version import __version__
from dragoman.translation.service.translated_text import (
    Detection,
    Link,
    Rendering,
    TokenScore,
    TranslatedSentence,
    TranslatedText,
)

__all__ = [
    "AsyncClient",
    "CharacterUsage",
    "Client",
    "ConfigError",
    "DataError",
    "Detection",
    "DragomanError",
    "GlossaryOffer",
    "LanguageOffer",
    "Link",
    "Rendering",
    "ServiceError",
    "StorageError",
    "TokenScore",
    "TranslateOptions",
    "TranslatedSentence",
    "TranslatedText",
    "UsageError",
    "__version__",
]
