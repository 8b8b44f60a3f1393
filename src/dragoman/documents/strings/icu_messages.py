"""Messages of ICU: sentences with arguments, some of which choose a branch (``plural``).

Each branch is translated within the whole sentence that it is in, and a target language gets the
branches that its grammar has.  Syntax: ICU User Guide, Formatting Messages.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from typing_extensions import override

from dragoman.documents.marks.marked_document import MarkedDocument
from dragoman.documents.marks.marked_text import MarkedText, escaped
from dragoman.documents.strings.plural_alternatives import read_alternatives
from dragoman.documents.strings.plural_rules import choose_source, plural_forms
from dragoman.documents.strings.string_placeholders import filled_in, same_tags
from dragoman.documents.strings.string_syntax import ANY, StringSyntax
from dragoman.documents.strings.string_values import (
    KeptValue,
    PlainValue,
    StringValue,
    are_unchanged,
    mark_string,
)
from dragoman.text.icu_syntax import (
    MOST_SENTENCES,
    QUOTED,
    IcuBranch,
    IcuChoice,
    IcuMessage,
    NoIcuMessageError,
    argument_spans,
    count_sentences,
    has_choice,
    joined_texts,
    read_choices,
    unquoted,
)

_MUST_BE_DOUBLED = re.compile(r"(?<=[{}#|])'|'(?=['{}#|]|$)")
_PLAIN = 5
"""A number whose ordinal is written as most ordinals are."""


def read_message(
    source: str, language: str, *, is_markup: bool = False, syntax: StringSyntax = ANY
) -> StringValue:
    """A string as a message or alternatives.  An invalid message stays as it is.

    ``syntax`` is that of its placeholders if it has no branches.
    """
    if not has_choice(source):
        alternatives = None if is_markup else read_alternatives(source, language, syntax)
        return PlainValue(source, None, syntax) if alternatives is None else alternatives
    try:
        return MessageValue(source, language, is_markup=is_markup)
    except NoIcuMessageError:
        return KeptValue(source)


class MessageValue(StringValue):
    """A message with branches, translated into a language.

    Args:
        doubles: whether each apostrophe is written twice, as Java's ``MessageFormat`` needs it.
    """

    def __init__(
        self, source: str, language: str, *, is_markup: bool = False, doubles: bool = False
    ) -> None:
        self.source = source
        message = read_choices(source)
        if count_sentences(message) > MOST_SENTENCES:
            raise NoIcuMessageError("too many branches")
        how = _Style(is_markup, doubles)
        self._parts = list(_prepared(_whole(message), language, None, how))
        self.texts = [
            text for part in self._parts if isinstance(part, _Leaf) for text in part.texts
        ]

    @override
    def joined(self, translations: Sequence[str]) -> str:
        waiting = iter(translations)
        written, same = [], True
        for part in self._parts:
            if isinstance(part, str):
                written.append(part)
                continue
            mine = [next(waiting) for _ in part.texts]
            same = same and are_unchanged(part.texts, mine)
            written.append(part.joined(mine))
        return self.source if same and not self._has_more_forms() else "".join(written)

    def _has_more_forms(self) -> bool:
        names = [branch.name for branch in _all_branches(read_choices(self.source))]
        raw = "".join(part if isinstance(part, str) else part.source for part in self._parts)
        written = [branch.name for branch in _all_branches(read_choices(raw))]
        return set(written) != set(names)


class _Sample(NamedTuple):
    """A number that a branch is for."""

    number: int
    argument: str
    """See :class:`IcuChoice`."""


class _Style(NamedTuple):
    """How a message is written."""

    is_markup: bool
    doubles: bool
    """Whether each apostrophe is written twice."""


class _Leaf:
    """A sentence of a message, for one choice of all its branches."""

    def __init__(self, source: str, sample: _Sample | None, how: _Style) -> None:
        self.source = source
        quoted = [(match.start(), match.end()) for match in QUOTED.finditer(source)]
        arguments = argument_spans(source)
        spans = dict.fromkeys(arguments, "")
        for span in filled_in(source):
            if not any(span[0] < stop and start < span[1] for start, stop in (*spans, *quoted)):
                spans[span] = ""
        hashes = [] if sample is None else [one.span() for one in re.finditer("#", source)]
        hashes = [one for one in hashes if not _is_within(one, [*spans, *quoted])]
        atoms = {one: source[slice(*one)] for one in [*spans, *hashes]}
        if sample is not None:
            counts = [one for one in arguments if _is_count(source[slice(*one)], sample.argument)]
            atoms |= dict.fromkeys(sorted([*hashes, *counts])[:1], str(sample.number))
        ordered = dict(sorted(atoms.items()))
        doubles = how.doubles or "''" in source
        signs = "{}" if sample is None else "{}#"

        def reading(raw: str) -> str:
            return unquoted(html.unescape(raw) if how.is_markup else raw)

        def writing(text: str) -> str:
            written = _quoted(text, signs, doubles=doubles)
            return escaped(written) if how.is_markup else written

        parts = mark_string(source, ordered, reading, writing, finds_entities=not how.is_markup)
        self._document = MarkedDocument(list(parts))
        self.texts: list[MarkedText] = self._document.texts

    def joined(self, translations: Sequence[str]) -> str:
        text = self._document.joined(translations)
        try:
            written = sorted(text[slice(*span)] for span in argument_spans(text))
        except NoIcuMessageError:
            return self.source
        wanted = sorted(self.source[slice(*span)] for span in argument_spans(self.source))
        return text if written == wanted and same_tags(self.source, text) else self.source


def _is_within(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= stop for start, stop in others)


def _is_count(argument: str, name: str) -> bool:
    """Whether an argument is just the number of a name, as ``{n}``."""
    argument_name, *kind = (one.strip() for one in argument[1:-1].split(","))
    return bool(name) and argument_name == name and kind in ([], ["number"])


def _prepared(
    message: IcuMessage, language: str, sample: _Sample | None, how: _Style
) -> Iterator[str | _Leaf]:
    """The fixed parts of a message, and its sentences."""
    for part in message:
        if isinstance(part, str):
            yield _Leaf(part, sample, how)
            continue
        yield part.head
        for branch, number in _branches(part, language):
            yield branch.selector
            inner = sample if number is None else _Sample(number, part.argument)
            yield from _prepared(branch.message, language, inner, how)
            yield "}"
        yield part.tail


def _branches(choice: IcuChoice, language: str) -> Iterator[tuple[IcuBranch, int | None]]:
    """The branches that the target language needs, each with a number that it is for."""
    if choice.kind == "select":
        yield from ((member, None) for member in choice.branches)
        return
    given = {member.name: member for member in choice.branches}
    for member in choice.branches:
        if member.name.startswith("="):
            yield member, int(member.name[1:])
    forms = plural_forms(language, "cardinal" if choice.kind == "plural" else "ordinal")
    pattern = given["other"].selector
    for name, form in forms.items():
        has_number = name in given and _writes_number(given[name], choice.argument)
        chosen = choose_source(form, name, given, has_number=has_number)
        selector = given[name].selector if name in given else pattern.replace("other", name)
        branch = replace(given[chosen], selector=selector, name=name)
        number = form.sample(writes_number=chosen == name or form.is_singular)
        # "5th" for any number, as "3th" is none.
        is_plain = choice.kind == "selectordinal" and chosen == "other" and _PLAIN in form.numbers
        yield branch, _PLAIN if is_plain else number


def _writes_number(branch: IcuBranch, name: str) -> bool:
    raw = "".join(span if isinstance(span, str) else "#" for span in branch.message)
    return "#" in raw or any(_is_count(raw[slice(*span)], name) for span in argument_spans(raw))


def _whole(message: IcuMessage) -> IcuMessage:
    """The same with the text around a choice in each of its branches."""
    at = next((i for i, part in enumerate(message) if not isinstance(part, str)), None)
    if at is None:
        return message
    choice = message[at]
    assert isinstance(choice, IcuChoice)
    before, after = message[:at], message[at + 1 :]
    around = "".join(
        part_around for part_around in (*before, *after) if isinstance(part_around, str)
    )
    has_choice_behind = any(not isinstance(part_around, str) for part_around in after)
    spreads = (has_choice_behind or _has_words(around)) and not (
        choice.kind != "select" and "#" in around
    )
    branches = tuple(
        replace(
            branch,
            message=_whole(
                joined_texts((*before, *branch.message, *after) if spreads else branch.message)
            ),
        )
        for branch in choice.branches
    )
    changed = replace(choice, branches=branches)
    return (changed,) if spreads else joined_texts((*before, changed, *_whole(after)))


def _has_words(raw: str) -> bool:
    end, rest = 0, []
    for start, stop in argument_spans(raw):
        rest.append(raw[end:start])
        end = stop
    return any(map(str.isalpha, "".join([*rest, raw[end:]])))


def _all_branches(message: IcuMessage) -> Iterator[IcuBranch]:
    for part in message:
        if not isinstance(part, str):
            for branch in part.branches:
                yield branch
                yield from _all_branches(branch.message)


def _quoted(text: str, signs: str, *, doubles: bool) -> str:
    """Text as a message writes it, with the necessary or with all apostrophes doubled."""
    text = text.replace("'", "''") if doubles else _MUST_BE_DOUBLED.sub("''", text)
    return re.sub(f"[{signs}]+", lambda found: f"'{found[0]}'", text)
