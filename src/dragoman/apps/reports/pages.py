"""Pages of HTML from the templates of this folder: the one door to Jinja2.

What is put into a page is escaped, unless it is ``Markup``.
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
    """A page.

    Args:
        template: name of a file in ``templates``.
        values: what it asks for, all of it.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dragoman.apps.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
