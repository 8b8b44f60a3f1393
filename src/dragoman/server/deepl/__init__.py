"""DeepL's API, versions 2 and 3: what translation editors and computer-aided tools speak.

Facts are from DeepL's OpenAPI description (github.com/DeepLcom/openapi, 3.5) and its Python client.
"""

from dragoman.server.deepl.routes import DEEPL as DEEPL
