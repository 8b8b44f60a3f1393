"""The configuration reference, written from the configuration classes themselves.

    python -m dragoman.cli.reference > docs/configuration.md
    python -m dragoman.cli.reference server > docs/server-configuration.md

Keys, types, ranges, defaults and meanings are defined beside the classes that they configure.  This
module only lays them out, so the page always agrees with the code.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from dragoman.core.config import Config
from dragoman.core.sections import OneName, choice_in, choice_of, key_docstrings, keys_of, members
from dragoman.core.text_tables import anchor, markdown_table
from dragoman.recipe import ExperimentConfig
from dragoman.saved.system import TranslationSystem
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.training.objectives import ObjectiveConfig

_HEAD = """\
# Configuration reference

Generated from the code with `python -m dragoman.cli.reference > docs/configuration.md`; change
the docstring beside a field, not this page.

One YAML file describes a run completely: `dragoman train FILE` carries it out, `dragoman doctor
FILE` checks it first. It needs only the keys that differ from their defaults. A key whose default
is `null` may also be set to `null`. All unknown keys and values of the wrong type are reported at
once, each with its key. When there are none left, settings that contradict one another are
reported.

- **Numbers** are finite, and integers have at most 64 bits. A number may be written as text, since
  YAML reads `1e-4` as text; `true` and `false` are not numbers.
- **Paths** are relative to the folder of the file. Only a model named by `--set`, such as
  `--set training.start_from=runs/parent`, is relative to the current directory.
- **`--set training.max_steps=500`** overrides a value for one command.
- **Anchors and merge keys** of YAML work, up to 100,000 values and 50 levels.

With `base: other.yaml` a file contains only its differences from another file. Keys are merged one
by one. Some values replace those of the base as a whole: lists, `data.dev`, `data.test`,
`training.objective`, `training.tasks`, and a section with another `family`. Another
`training.optimizer.kind`, also by `--set`, leaves out settings that only the previous optimizer
has. The run directory gets the configuration that ran, with all defaults, as `config.yaml`.
"""

_SERVER_HEAD = """\
# Configuration of a server

Generated from the code with `python -m dragoman.cli.reference server >
docs/server-configuration.md`; change the docstring beside a field, not this page.

`dragoman serve --config FILE` reads one YAML file, which only needs the keys that differ from their
defaults; [running a server](server.md) has an example. An unknown key or a value of the wrong type
is an error that names the key. Relative paths are relative to the file's own folder.
"""

EXAMPLE = """\
seed: 1
source_language: en
target_language: de

data:
  train:
    - {path: text/manuals.tsv, source: en, target: de}
    - {source: text/news.en.gz, target: text/news.de.gz, weight: 0.5}
  dev: {path: text/dev.tsv, source: en, target: de}
  test:
    manuals: {path: text/test.tsv, source: en, target: de}

vocabulary:
  size: 16000

model:
  family: transformer
  encoder_layers: 6
  decoder_layers: 6
  d_model: 512
  d_ff: 2048
  heads: 8
  dropout: 0.1

training:
  step_tokens: 24576
  device_tokens: 8192
  schedule: {warmup_steps: 4000}
  max_steps: 50000
  validation_steps: 1000
  patience: 10

finish:
  calibrate: true

search:
  beam: 4

evaluation:
  metrics: [bleu, chrf]
"""
"""A configuration with every section."""


_NAMES: dict[type[Config], str] = {CorpusPart: "Part of the corpus"}
"""Names of sections whose keys do not end alike."""


_TOLD: dict[Any, str] = {
    TranslationSystem: "path of a model directory or of a system's YAML file, or the keys of such "
    "a file, which `dragoman translate --write-system` writes"
}
"""Links to values that are described elsewhere."""


@dataclass(frozen=True)
class _Section:
    """A configuration class, and the keys that hold such a section."""

    kind: type[Config]
    keys: list[str]

    @property
    def title(self) -> str:
        """The heading: the key or a shared name of several, and the family or kind."""
        if not self.keys[0]:
            return "Top level"
        name = self.name if self.is_shared else f"`{self.keys[0]}`"
        return name + _told_apart(self.kind)

    @property
    def is_shared(self) -> bool:
        """Whether several keys hold such a section."""
        return len(self.keys) > 1

    @property
    def name(self) -> str:
        """The name of a shared section: the common last part of its keys, if they have one."""
        ends = {key.rpartition(".")[2] for key in self.keys}
        return f"`{ends.pop()}`" if len(ends) == 1 else _NAMES[self.kind]

    @property
    def label(self) -> str:
        """The text of links to it."""
        if not self.is_shared:
            return self.title.replace(", ", " ")
        kind = self.kind.model_fields.get("kind")
        return self.name.lower() if kind is None else str(kind.default)

    @property
    def level(self) -> int:
        """Level of the heading: two for a part of the file, three for a nested section."""
        return 3 if "." in self.keys[0] else 2


def _told_apart(kind: type[Config]) -> str:
    """The mark that distinguishes a class from its alternatives, such as ", family recurrent"."""
    for name in ("family", "kind"):
        field = kind.model_fields.get(name)
        if field is not None and len(get_args(field.annotation)) == 1:
            return f", {name} {field.default}"
    return ", other kinds" if kind is ObjectiveConfig else ""


def reference() -> str:
    """The page, as Markdown."""
    example = f"## Example\n\n```yaml\n{EXAMPLE}```\n"
    return "\n".join([_HEAD, *_body(ExperimentConfig, example)])


def server_reference() -> str:
    """The page of the configuration of a server, as Markdown."""
    from dragoman.server.server_config import ServerConfig

    return "\n".join([_SERVER_HEAD, *_body(ServerConfig)])


def _body(root: type[Config], *between: str) -> list[str]:
    """Contents and sections of a page, with something between them."""
    sections = _sections(root)
    contents = "\n".join(
        f"{'  ' * (section.level - 2)}- [{section.title}](#{anchor(section.title)})"
        for section in sections
    )
    return [contents + "\n", *between, *(_render(section, sections) for section in sections)]


def _sections(root: type[Config]) -> list[_Section]:
    """Every class once, in the order of the file, with all keys that hold it."""
    sections: dict[type[Config], _Section] = {}
    for key, kind in _walk(root, ""):
        section = sections.setdefault(kind, _Section(kind, []))
        if key not in section.keys:  # two model families may share a part
            section.keys.append(key)
    return list(sections.values())


def _walk(kind: type[Config], key: str) -> Iterator[tuple[str, type[Config]]]:
    yield key, kind
    for name, field in keys_of(kind).items():
        choice = choice_of(field)
        if choice is not None and choice.told:
            continue
        for part in members(field, Config):
            if part in _TOLD:
                continue
            yield from _walk(part, f"{key}.{name}" if key else name)


def _render(section: _Section, sections: list[_Section]) -> str:
    links = {other.kind: f"[{other.label}](#{anchor(other.title)})" for other in sections}
    rows = _rows(section.kind, links)
    earlier = sections[: sections.index(section)]
    alternatives = [other for other in earlier if set(other.keys) & set(section.keys)]
    told = []
    for other in alternatives:
        rows_there = _rows(other.kind, links)
        same = [name for name, row in rows.items() if rows_there.get(name) == row]
        if len(same) > 1:
            told.append(f"As in {links[other.kind]}: {', '.join(same)}.")
            rows = {name: row for name, row in rows.items() if name not in same}
    intro = _text((section.kind.__doc__ or "").split("\n\n", maxsplit=1)[0])
    place = [_place(section, sections)] if section.is_shared else []
    table = [markdown_table(_COLUMNS, list(rows.values()))] if rows else []
    heading = f"{'#' * section.level} {section.title}"
    return "\n\n".join([heading, *place, intro, *table, *told]) + "\n"


_COLUMNS = ["key", "value", "default", "meaning"]


def _rows(kind: type[Config], links: dict[type[Config], str]) -> dict[str, list[str]]:
    """Rows of a table by key, without the family or kind that the heading names."""
    docstrings = key_docstrings(kind)
    return {
        f"`{name}`": [f"`{name}`", _words(field, links), _default(field), _text(docstrings[name])]
        for name, field in keys_of(kind).items()
        if name not in {"family", "kind"} or len(get_args(field.annotation)) > 1
    }


def _place(section: _Section, sections: list[_Section]) -> str:
    """The line below the heading that lists the keys of a shared section."""
    places = [f"`{key}`" for key in section.keys]
    for other in sections:
        if other.kind is CorpusPart and other is not section:
            within = f"of a [{other.label}](#{anchor(other.title)})"
            for key in other.keys:
                places = [_within(place, key, within) for place in places]
    return f"Keys: {', '.join(dict.fromkeys(places))}."


def _within(place: str, key: str, within: str) -> str:
    """A key in backticks, shortened if it lies within another one that is described elsewhere."""
    start = f"`{key}."
    return f"`{place.removeprefix(start)} {within}" if place.startswith(start) else place


def _text(docstring: str | None) -> str:
    """A docstring as one line of Markdown."""
    assert docstring, "every configuration class and field is documented"
    return " ".join(docstring.split()).replace("``", "`")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "" if isinstance(value, Config) else f"`{_yaml(value)}`"


def _yaml(value: Any) -> str:
    """A default as written in the file."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return json.dumps(value)


_PLAIN = {int: "integer", float: "number", bool: "true or false", str: "text"}
_BOUNDS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def _words(field: FieldInfo, links: dict[type[Config], str]) -> str:
    """The possible values in plain words, with their range."""
    if (choice := choice_of(field)) is not None:
        if choice.told:
            return choice.told
        return " or ".join(links[kind] for kind in members(field, Config))
    words = _names(field.metadata) or _type(field.annotation, links)
    if field.examples:
        words += ", such as " + ", ".join(f"`{_yaml(example)}`" for example in field.examples)
    words += _range(field)
    nullable = type(None) in get_args(field.annotation) and _default(field) != "`null`"
    return words + (", or `null`" if nullable else "")


def _range(field: FieldInfo) -> str:
    """The bounds of a number, such as " 1 to 8" or " > 0, < 1", and the least length of a list."""
    bounds = {
        name: int(bound) if bound == int(bound) else bound
        for constraint in field.metadata
        for name in (*_BOUNDS, "min_length")
        if (bound := getattr(constraint, name, None)) is not None
    }
    if (fewest := bounds.pop("min_length", None)) is not None:
        return f" (at least {fewest})"
    if set(bounds) == {"ge", "le"}:
        return f" {bounds['ge']} to {bounds['le']}"
    signs = [f"{sign} {bounds[name]}" for name, sign in _BOUNDS.items() if name in bounds]
    return f" {', '.join(signs)}" if signs else ""


def _names(marks: Iterable[Any]) -> str:
    """The names that a :class:`OneName` among these annotations allows; empty without any."""
    allowed = [name for mark in marks if isinstance(mark, OneName) for name in mark.names()]
    return ", ".join(f"`{name}`" for name in allowed)


def _type(annotation: Any, links: dict[type[Config], str]) -> str:
    choice, names = choice_in(annotation), _names(getattr(annotation, "__metadata__", ()))
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and annotation in links:
        return links[annotation]
    if told := names or _TOLD.get(annotation) or _PLAIN.get(annotation):
        return told
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in {tuple, list}:
        return f"list of: {_type(arguments[0], links)}"
    if origin is dict:
        return f"names, each with a {_type(arguments[1], links)}"
    members = [argument for argument in arguments if argument is not type(None)]
    if choice is not None:
        members = list(choice.at_hand())
    else:
        assert origin in {Union, types.UnionType}, f"no words for {annotation}"
    return " or ".join(_type(member, links) for member in members)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.write(server_reference() if sys.argv[1:] == ["server"] else reference())
