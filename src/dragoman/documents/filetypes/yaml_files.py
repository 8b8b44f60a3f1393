"""Strings of programs in YAML, as Rails has them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml
from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages, is_same_language
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument, fixed, replacement
from dragoman.documents.json_text import json_string
from dragoman.documents.strings.icu_messages import read_message
from dragoman.documents.strings.plural_rules import (
    CATEGORIES,
    has_count,
    translated_forms,
    unused_forms,
)
from dragoman.documents.strings.string_syntax import shown_syntax
from dragoman.text.character_encoding import decode, line_of
from dragoman.text.string_files.keyed_string import Key
from dragoman.text.string_files.yaml_entries import is_string, language_key, read_nodes

_PYTHON = "tag:yaml.org,2002:python/"
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


class YamlFile(DocumentFormat):
    """YAML whose values are strings of a program.  Keys, comments and anchors stay as they are.

    The language at the top of a file of Rails becomes the target language.
    """

    name = "YAML"
    family = "translation files"
    suffixes = (".yml", ".yaml")
    media_type = "application/yaml"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding = decode(content, is_page=False)
        strings = _Strings(text, read_nodes(text), languages)
        return SplicedDocument(
            text, encoding, list(strings.slots()), source_language=strings.source_language
        )


class _Strings:
    def __init__(self, text: str, root: yaml.Node | None, languages: FileLanguages) -> None:
        self._text, self._root, self._languages = text, root, languages
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._wrapper = _wrapper(root, languages)
        self._seen: set[int] = set()
        self._syntax = shown_syntax(_values(root))
        said = None if self._wrapper is None else str(self._wrapper.value)
        self.source_language = languages.agreed_source(said)

    def slots(self) -> Iterator[Slot]:
        if self._wrapper is not None:
            start, stop = self._place(self._wrapper)
            target = self._languages.target
            raw = target if _reads_as(target, target) else json_string(target)
            yield fixed(start, stop, raw)
        waiting: list[tuple[Key, yaml.Node]] = [] if self._root is None else [((), self._root)]
        while waiting:
            key, node = waiting.pop()
            if id(node) in self._seen:
                continue
            self._seen.add(id(node))
            self._check_tag(node)
            if isinstance(node, yaml.MappingNode):
                self._check_keys(node)
                if _is_plural(node):
                    yield from self._plural(node, key)
                else:
                    waiting += [((*key, self._name(one)), value) for one, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                waiting += [((*key, str(at)), one) for at, one in enumerate(node.value)]
            elif is_string(node):
                yield self._slot(node, key)

    def _name(self, key: yaml.Node) -> str:
        """A part of keys; that of the language at the top is the same in all languages."""
        return "" if key is self._wrapper else str(key.value)

    def _slot(self, node: yaml.ScalarNode, key: Key) -> Slot:
        value = read_message(node.value, self._languages.target, syntax=self._syntax)
        start, stop = self._place(node)
        return replacement(start, stop, value, lambda text: self._raw(node, text), key=key)

    def _plural(self, node: yaml.MappingNode, key: Key) -> Iterator[Slot]:
        """Forms of a plural.  Those that the target language lacks stay, unused."""
        given = {key.value: value.value for key, value in node.value}
        members = {key.value: (key, value) for key, value in node.value}
        wanted = translated_forms(given, self._languages.target, syntax=self._syntax)
        forms = wanted | unused_forms(given, self._languages.target, self._syntax)
        # Of forms with one text, by aliases, "other" decides on it: it is for most numbers.
        for name in sorted(forms, key=lambda one: one != "other"):
            if name in members and self._is_first(members[name][1], node):
                scalar = members[name][1]
                start, stop = self._place(scalar)

                def write(text: str, scalar: yaml.ScalarNode = scalar) -> str:
                    return self._raw(scalar, text)

                yield replacement(start, stop, forms[name], write, given[name], key=(*key, name))
        other = members["other"][0]
        between = ", " if node.flow_style else f"{self._newline}{' ' * other.start_mark.column}"
        place = other.start_mark.index
        for name in wanted:
            if name not in members:
                yield Slot(
                    place,
                    place,
                    [wanted[name]],
                    lambda found, name=name: f"{name}: {_double(found[0])}{between}",  # type: ignore[misc]
                    keys=[(*key, name)],
                )

    def _is_first(self, scalar: yaml.ScalarNode, plural: yaml.MappingNode) -> bool:
        """Whether a form is written in its plural, and not as an alias, and was not met before."""
        if id(scalar) in self._seen:
            return False
        start, end = plural.start_mark.index, plural.end_mark.index
        if not start <= scalar.start_mark.index < end:
            return False
        self._seen.add(id(scalar))
        return True

    def _place(self, node: yaml.ScalarNode) -> tuple[int, int]:
        """Span of a scalar, without its anchor and tag."""
        start, stop = node.start_mark.index, node.end_mark.index
        found = _PROPERTIES.match(self._text, start, stop)
        return (found.end() if found else start), stop

    def _raw(self, node: yaml.ScalarNode, text: str) -> str:
        """A string in the style in which its source is written, if it can be."""
        start, stop = self._place(node)
        old = self._text[start:stop]
        if node.style in ("|", ">"):
            raw = _block(old.replace("\r\n", "\n"), text, folded=node.style == ">")
            raw = _double(text) + "\n" if raw is None else raw
            return raw.replace("\n", self._newline)
        if node.style == "'" and "\n" not in text and not _UNSAFE.search(text):
            return "'" + text.replace("'", "''") + "'"
        # Within brackets "?" would end the string, and none that has one is written so there.
        is_safe = "?" not in text or "?" in old
        if node.style is None and is_safe and _reads_as(text, text):
            return text
        return _double(text)

    def _check_tag(self, node: yaml.Node) -> None:
        if str(node.tag).startswith(_PYTHON):
            raise DataError(
                f"the tag !!python at line {node.start_mark.line + 1} makes a program run; "
                "remove it"
            )

    def _check_keys(self, node: yaml.MappingNode) -> None:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                continue
            if key.value in seen:
                raise DataError(
                    f"the key {key.value[:80]!r} occurs twice, at lines {seen[key.value] + 1} "
                    f"and {line_of(self._text, key.start_mark.index)}; remove one"
                )
            seen[key.value] = key.start_mark.line


def _wrapper(root: yaml.Node | None, languages: FileLanguages) -> yaml.ScalarNode | None:
    """The only key of a document, if it is its language."""
    key = language_key(root)
    if key is None or (languages.source and not is_same_language(key.value, languages.source)):
        return None
    return key


def _values(root: yaml.Node | None) -> Iterator[str]:
    waiting = [] if root is None else [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif is_string(node):
            yield node.value


def _is_plural(node: yaml.MappingNode) -> bool:
    names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    return (
        len(names) == len(node.value)
        and "other" in names
        and set(names) <= set(CATEGORIES)
        and all(is_string(value) for _, value in node.value)
        and (len(names) > 1 or has_count(node.value[0][1].value))
    )


def _reads_as(raw: str, text: str) -> bool:
    """Whether something can be written as a plain scalar, wherever it is."""
    if any(sign in raw for sign in "[]{},\n") or _UNSAFE.search(raw):
        return False
    try:
        node = yaml.compose(f"- {raw}", yaml.SafeLoader)
    except yaml.YAMLError:
        return False
    if not isinstance(node, yaml.SequenceNode) or len(node.value) != 1:
        return False
    (found,) = node.value
    return is_string(found) and found.style is None and bool(found.value == text)


def _block(old: str, text: str, *, folded: bool) -> str | None:
    """A string as a block with the head of the old block, or None if a block cannot hold it."""
    head, _, body = old.partition("\n")
    lines = body.split("\n")
    indents = [line[: len(line) - len(line.lstrip(" "))] for line in lines if line.strip()]
    first = re.match(r"\s*", text)
    starts_with_space = first is not None and bool(first[0])
    if not indents or starts_with_space or _UNSAFE.search(text) or "\r" in old:
        return None
    indent = min(indents, key=len)
    kept = text.rstrip()
    if folded and re.search(r"\n[ \t]", kept):
        return None
    parts = re.split(r"(\n+)", kept) if folded else kept.split("\n")
    if folded:
        joined = "".join(
            f"{part}\n" if number % 2 else indent + part for number, part in enumerate(parts)
        )
    else:
        joined = "\n".join(indent + line if line else "" for line in parts)
    end = body[len(body.rstrip()) :]
    return f"{head}\n{joined}{end}"


def _double(text: str) -> str:
    """A string in double quotation marks."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json_string(text))
