"""HTML pages from the templates in this folder; the only module that uses Jinja2.

Values are escaped unless they are ``Markup``.
"""

from __future__ import annotations

from typing import Any

from dragoman.core.errors import MissingExtraError

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:
    raise MissingExtraError.of("Jinja2", "jinja2", "matplotlib") from error

__all__ = ["Markup", "render"]


def render(template: str, **values: Any) -> str:
    """Render a page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dragoman.workflows.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
