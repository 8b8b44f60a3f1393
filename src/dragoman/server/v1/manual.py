"""The documentation page of an API, made from its OpenAPI description.

It is plain HTML without scripts, and loads only its own style sheet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

STYLE = Path(__file__).with_name("manual.css").read_text(encoding="utf-8")

Schema = Mapping[str, Any]

_WORDS = {
    "string": "string",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
}


def manual_page(spec: Schema, address: str) -> str:
    """The page, as HTML.

    The address of the server, for examples, ends with a slash.
    """
    operations = list(_operations(spec))
    schemas: Mapping[str, Schema] = spec["components"]["schemas"]
    links = "".join(
        f'<li><a href="#{_anchor(method, path)}"><code>{_name(method, path)}</code></a></li>'
        for method, path, _ in operations
    )
    sections = "".join(_section(*operation, schemas, address) for operation in operations)
    kinds = "".join(_kind(name, schemas[name]) for name in schemas)
    title = escape(f"{spec['info']['title']} {spec['info']['version']}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}: programming interface</title>\n"
        '<link rel="stylesheet" href="docs.css">\n</head>\n<body>\n'
        f"<header><h1>{title}: programming interface</h1>"
        f"{_prose(spec['info'].get('description', ''))}"
        '<p>The same for programs, after OpenAPI: <a href="openapi.json"><code>openapi.json</code>'
        "</a>.</p></header>\n"
        f'<nav aria-label="Requests"><ul>{links}</ul></nav>\n<main>\n{sections}'
        f'<section id="kinds"><h2>Kinds of values</h2>{kinds}</section>\n</main>\n'
        "</body>\n</html>\n"
    )


def _operations(spec: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, by_method in spec["paths"].items():
        for method, operation in by_method.items():
            yield method.upper(), path, operation


def _section(
    method: str, path: str, operation: Schema, schemas: Mapping[str, Schema], address: str
) -> str:
    parts = [f"<h2><code>{_name(method, path)}</code></h2>", _prose(operation["description"])]
    if found := operation.get("parameters"):
        parts.append("<h3>Parameters</h3>" + _rows(map(_parameter, found)))
    given = _given(operation)
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _followed(content["schema"], schemas)
        given += _body(media, schema)
        parts.append(f"<h3>Body</h3><p><code>{escape(media)}</code></p>" + _fields(schema))
    parts.append(f"<h3>Example</h3><pre>{escape(_curl(method, path, given, address))}</pre>")
    answers = ((code, one) for code, one in operation["responses"].items() if code < "3")
    for code, answer in answers:
        kinds = [_type(value["schema"]) for value in answer.get("content", {}).values() if value]
        parts.append(f"<h3>Answer</h3><p>{escape(code)}: {', '.join(kinds) or 'no content'}</p>")
    return f'<section id="{_anchor(method, path)}">{"".join(parts)}</section>\n'


def _kind(name: str, schema: Schema) -> str:
    about = _prose(schema.get("description", ""))
    return f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3>{about}{_fields(schema)}'


def _fields(schema: Schema) -> str:
    required = schema.get("required", [])
    fields: Mapping[str, Schema] = schema.get("properties", {})
    return _rows(
        (
            name,
            _type(field),
            "required" if name in required else _default(field),
            field.get("description", ""),
        )
        for name, field in sorted(fields.items(), key=lambda item: item[0] not in required)
    )


def _parameter(one: Schema) -> tuple[str, str, str, str]:
    need = "required" if one.get("required") else _default(one["schema"])
    return one["name"], _type(one["schema"]), f"{one['in']}; {need}", one.get("description", "")


def _default(field: Schema) -> str:
    return f"default {json.dumps(field['default'])}" if "default" in field else ""


def _rows(rows: Iterator[tuple[str, str, str, str]] | map[tuple[str, str, str, str]]) -> str:
    """A table of names, types (as HTML), necessity and description."""
    body = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{kind}</td>'
        f"<td>{escape(need)}</td><td>{_inline(about)}</td></tr>"
        for name, kind, need, about in rows
    )
    return f"<table>{body}</table>" if body else ""


def _type(schema: Schema) -> str:  # noqa: PLR0911 - one for each kind of schema
    """A type in words, as HTML."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return f'<a href="#{escape(name)}">{escape(name)}</a>'
    if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return " or ".join(f"<code>{escape(json.dumps(value))}</code>" for value in values)
    if several := schema.get("anyOf", schema.get("oneOf")):
        return " or ".join(dict.fromkeys(map(_type, several)))
    if items := schema.get("prefixItems"):
        return f"list of {len(items)}: {', '.join(map(_type, items))}"
    if schema.get("type") == "array":
        return f"list of {_several(_type(schema.get('items', {})))}"
    if schema.get("type") == "object" and (inner := schema.get("additionalProperties")):
        of = _type(inner) if isinstance(inner, dict) else "anything"
        return f"object of names, each with {of}"
    return _WORDS.get(schema.get("type", ""), "anything")


def _several(kind: str) -> str:
    return f"{kind}s" if kind in ("string", "number", "whole number") else kind


def _followed(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else schema


def _curl(method: str, path: str, given: Sequence[str], address: str) -> str:
    """A curl command that sends the request, with placeholders in capitals."""
    words: Sequence[str] = [] if method == "GET" else ["-X", method]
    named = re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), path)
    command = " ".join(["curl", *words, address.rstrip("/") + named])
    return " \\\n  ".join([command, *given])


def _given(operation: Schema) -> list[str]:
    """Options of curl for the required headers of a request, and for a key if required."""
    needs_key = {} not in operation.get("security", [{}])
    found = ["-H 'Authorization: Bearer KEY'"] if needs_key else []
    for one in operation.get("parameters", []):
        if one["in"] == "header" and one.get("required"):
            found.append(f"-H '{one['name']}: {one['name'].rpartition('-')[2].upper()}'")
    return found


def _body(media: str, schema: Schema) -> list[str]:
    if media == "multipart/form-data":
        fields = [(name, schema["properties"][name]) for name in schema["required"]]
        return [
            f"-F {name}={'@' if 'contentMediaType' in field else ''}{name.upper()}"
            for name, field in fields
        ]
    example = next(iter(schema.get("examples", [])), None)
    if example is None:
        return []
    body = json.dumps(example, ensure_ascii=False)
    return ["-H 'Content-Type: application/json'", f"-d '{body}'"]


def _prose(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in text.strip().split("\n\n") if part)


def _inline(text: str) -> str:
    """HTML of a text with code between grave accents."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))


def _name(method: str, path: str) -> str:
    return escape(f"{method} {path}")


def _anchor(method: str, path: str) -> str:
    return re.sub(r"\W+", "-", f"{method} {path}".lower()).strip("-")
