"""Strings of programs in JSON: nested keys, i18next, Chrome's messages, ARB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from typing_extensions import override

from dragoman.documents.document_format import DocumentFormat, FileLanguages, is_same_language
from dragoman.documents.filetypes.spliced_document import (
    Slot,
    SplicedDocument,
    fixed,
    replacement,
    space_before,
)
from dragoman.documents.json_text import JsonMember, JsonNode, json_string, read_json
from dragoman.documents.strings.icu_messages import read_message
from dragoman.documents.strings.plural_rules import (
    CATEGORIES,
    NumberKind,
    has_count,
    translated_forms,
    unused_forms,
)
from dragoman.documents.strings.string_syntax import shown_syntax
from dragoman.text.character_encoding import decode
from dragoman.text.language_codes import is_language_tag
from dragoman.text.string_files.keyed_string import Key

_ESCAPED = re.compile(r"\\u(?!00[01])", re.IGNORECASE)
_FORM = re.compile(rf"(.+?)(_ordinal)?_({'|'.join(CATEGORIES)})")


class JsonFile(DocumentFormat):
    """JSON whose values are strings of a program.  Keys stay as they are.

    Files of Chrome's extensions and of Flutter (ARB) are known by their content.
    """

    name = "JSON"
    family = "translation files"
    suffixes = (".json", ".arb")
    media_type = "application/json"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding = decode(content, is_page=False)
        root = read_json(text)
        strings = _Strings(text, root, languages)
        return SplicedDocument(
            text, encoding, list(strings.slots()), source_language=strings.source_language
        )


class _Strings:
    def __init__(self, text: str, root: JsonNode, languages: FileLanguages) -> None:
        self._text, self._root, self._languages = text, root, languages
        # Where all is escaped that is not ASCII, the translation is, too.
        self._ascii_only = text.isascii() and _ESCAPED.search(text) is not None
        self.source_language = languages.agreed_source(self._language())
        self._syntax = shown_syntax(_values(root))

    def slots(self) -> Iterator[Slot]:
        if _is_chrome(self._root):
            for member in self._root.members:
                message = member.node.get("message")
                assert message is not None
                yield self._slot(message, (member.name,))
            return
        if _is_arb(self._root):
            yield from self._arb()
            return
        wrapper = _wrapper(self._root)
        if wrapper is not None and self.source_language == wrapper.name:
            raw = json_string(self._languages.target)
            yield fixed(wrapper.key_start, wrapper.key_stop, raw)
        yield from self._all(self._root if wrapper is None else wrapper.node)

    def _language(self) -> str | None:
        if _is_arb(self._root):
            return self._root.text("@@locale")
        wrapper = _wrapper(self._root)
        source = self._languages.source
        if wrapper is None or (source and not is_same_language(wrapper.name, source)):
            return None
        return wrapper.name

    def _arb(self) -> Iterator[Slot]:
        for member in self._root.members:
            if member.name == "@@locale":
                raw = json_string(self._languages.target.replace("-", "_"))
                yield fixed(member.node.start, member.node.stop, raw)
            elif not member.name.startswith("@") and member.node.kind == "string":
                yield self._slot(member.node, (member.name,))

    def _all(self, root: JsonNode) -> Iterator[Slot]:
        waiting: list[tuple[Key, JsonNode]] = [((), root)]
        while waiting:
            key, node = waiting.pop()
            plurals = _plurals(node.members)
            done: set[str] = set()
            for group in plurals:
                yield from self._plural(group, key)
                done.update(one.name for one in group.values())
            members = [(one.name, one.node) for one in node.members if one.name not in done]
            items = [(str(at), one) for at, one in enumerate(node.items)]
            for name, one in [*members, *items]:
                if one.kind == "string":
                    yield self._slot(one, (*key, name))
                elif one.kind != "other":
                    waiting.append(((*key, name), one))

    def _slot(self, node: JsonNode, key: Key) -> Slot:
        value = read_message(node.value, self._languages.target, syntax=self._syntax)
        return replacement(node.start, node.stop, value, self._raw, key=key)

    def _plural(self, group: dict[str, JsonMember], key: Key) -> Iterator[Slot]:
        """The forms of the target language.  Other forms stay, unused."""
        given = {name: one.node.value for name, one in group.items()}
        other, target = group["other"], self._languages.target
        kind: NumberKind = "ordinal" if "_ordinal_" in other.name else "cardinal"
        wanted = translated_forms(given, target, kind, self._syntax)
        for name, value in (unused_forms(given, target, self._syntax) | wanted).items():
            if name in group:
                node, own = group[name].node, (*key, group[name].name)
                yield replacement(node.start, node.stop, value, self._raw, given[name], key=own)
        added = [name for name in wanted if name not in group]
        if added:
            values = [wanted[name] for name in added]
            base = other.name.removesuffix("other")
            # As the member "other" is written, from the comma or bracket in front of it.
            between = self._text[other.key_stop : other.node.start]
            before = space_before(self._text, other.key_start)

            def write(found: Sequence[str]) -> str:
                return "".join(
                    f",{before}{json_string(base + name)}{between}{self._raw(one)}"
                    for name, one in zip(added, found, strict=True)
                )

            keys = [(*key, base + name) for name in added]
            yield Slot(other.node.stop, other.node.stop, values, write, keys=keys)

    def _raw(self, text: str) -> str:
        return json_string(text, ascii_only=self._ascii_only)


def _values(root: JsonNode) -> Iterator[str]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.kind == "string":
            yield node.value
        waiting += [*(member.node for member in node.members), *node.items]


def _is_chrome(root: JsonNode) -> bool:
    """Whether each member has a message, as in ``_locales/en/messages.json``."""
    return bool(root.members) and all(
        member.node.text("message") is not None
        and {key.name for key in member.node.members} <= {"message", "description", "placeholders"}
        for member in root.members
    )


def _is_arb(root: JsonNode) -> bool:
    return root.text("@@locale") is not None or any(
        member.name.startswith("@") and member.node.kind == "object" for member in root.members
    )


def _wrapper(root: JsonNode) -> JsonMember | None:
    """The only member of a document, if its name is a language."""
    if len(root.members) != 1:
        return None
    (member,) = root.members
    return member if member.node.kind == "object" and is_language_tag(member.name) else None


def _plurals(members: Sequence[JsonMember]) -> list[dict[str, JsonMember]]:
    """Members that are forms of a plural, such as ``file_one`` and ``file_other`` in i18next.

    Or all of an object, as ``one`` and ``other`` in files of i18n-js and of Rails.
    """
    groups: dict[str, dict[str, JsonMember]] = {}
    if all(member.name in CATEGORIES and member.node.kind == "string" for member in members):
        groups[""] = {member.name: member for member in members}
    for member in members:
        found = _FORM.fullmatch(member.name)
        if found and member.node.kind == "string":
            groups.setdefault(found[1] + (found[2] or ""), {})[found[3]] = member
    return [
        group
        for group in groups.values()
        if "other" in group and (len(group) > 1 or has_count(group["other"].node.value))
    ]
