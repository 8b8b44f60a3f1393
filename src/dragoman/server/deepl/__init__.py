"""DeepL's API, versions 2 and 3, for translation editors and computer-aided translation tools.

Facts are from DeepL's OpenAPI description (github.com/DeepLcom/openapi, 3.5) and its Python client.
"""

from dragoman.server.deepl.routes import DEEPL as DEEPL
