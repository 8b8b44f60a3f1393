"""A JSON Schema of recipes, by which editors complete keys, explain them and mark mistakes.

It is made from the configuration classes, as the reference is.  It knows keys, types, ranges and
names; values that contradict one another are found by reading the recipe.

    python -m dragoman.recipe.schema > src/dragoman/recipe/recipe.schema.json
"""

from __future__ import annotations

import json
import sys
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import CoreRef, GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from typing_extensions import override

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError
from dragoman.core.sections import OneName, OneOf, flat_sections, key_docstrings
from dragoman.recipe.reading import ExperimentConfig

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BASE = {
    "type": "string",
    "description": "Another recipe; this file has only the differences from it.",
}


def recipe_schema() -> dict[str, Any]:
    """The schema of the YAML files that ``dragoman train`` reads.

    Nothing is required: a key may come from the file that ``base`` names.  Names that installed
    packages add, such as those of model families, are among its names.
    """
    schema = ExperimentConfig.model_json_schema(schema_generator=_Generator)
    schema["properties"] = {"base": _BASE, **schema["properties"]}
    return {"$schema": _DIALECT, **schema, "title": "A recipe of Dragoman"}


def schema_file() -> Path:
    """The schema in the installed package, of what comes with it."""
    return Path(str(files(__package__) / "recipe.schema.json"))


def schema_text() -> str:
    """The schema as it is written to a file."""
    return json.dumps(recipe_schema(), indent=1, ensure_ascii=False) + "\n"


class _Generator(GenerateJsonSchema):
    """Pydantic's schemas of our configurations, with flat sections, choices and docstrings."""

    @cached_property
    def _begun(self) -> set[type[BaseModel]]:
        """The classes among which a key chooses that have a definition, or will have."""
        return set()

    @override
    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        kind = schema["cls"]
        if not issubclass(kind, Config):
            return made
        properties = made.get("properties", {})
        for name in flat_sections(kind):
            properties |= self.resolve_ref_schema(properties.pop(name))["properties"]
        for key, text in key_docstrings(kind).items():
            if key in properties:  # the name of a flat section is not a key
                properties[key] = _described(properties[key], text)
        made.pop("required", None)
        return {**_described(made, kind.__doc__ or ""), "properties": properties}

    @override
    def function_plain_schema(
        self, schema: core_schema.PlainValidatorFunctionSchema
    ) -> JsonSchemaValue:
        mark = getattr(schema["function"]["function"], "__self__", None)
        if isinstance(mark, OneName):
            return {"enum": list(mark.names())}
        if isinstance(mark, OneOf):
            return self._choice(mark)
        return super().function_plain_schema(schema)

    def _choice(self, choice: OneOf) -> JsonSchemaValue:
        """One of several configurations: that of its key, or any of them without the key.

        A file without the key may have it from its base.
        """
        kinds = {}
        for name in choice.names():
            try:
                kinds[name] = self._kind(choice.find(name))
            except ConfigError:  # of another package, and unusable here
                kinds[name] = {}
        known = {json.dumps(kind): kind for kind in kinds.values()}
        return {
            "type": "object",
            "properties": {choice.key: {"enum": list(kinds)}},
            "allOf": [_where(choice.key, name, kind) for name, kind in kinds.items()],
            "if": {"not": {"required": [choice.key]}},
            "then": {"anyOf": list(known.values())},
        }

    def _kind(self, kind: type[BaseModel]) -> JsonSchemaValue:
        """A reference to the schema of a class, which may hold another of its kind."""
        schema = kind.__pydantic_core_schema__
        _, reference = self.get_cache_defs_ref_schema(CoreRef(schema["ref"]))
        if kind not in self._begun:
            self._begun.add(kind)
            self.generate_inner(schema)
        return reference


def _where(key: str, name: str, kind: JsonSchemaValue) -> JsonSchemaValue:
    named = {"properties": {key: {"const": name}}, "required": [key]}
    return {"if": named, "then": kind}


def _described(schema: JsonSchemaValue, docstring: str) -> JsonSchemaValue:
    """A schema with the first paragraph of a docstring, and without pydantic's title."""
    paragraph = " ".join(docstring.split("\n\n", maxsplit=1)[0].split()).replace("``", "`")
    rest = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    return {"description": paragraph, **rest} if paragraph else rest


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.write(schema_text())
