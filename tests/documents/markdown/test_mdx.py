"""MDX: modules, tags and expressions stay, and the text between them is translated."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("markdown_it")

from document_models import file_by
from linear_time import takes_linear_time

from dragoman.documents.filetypes import document_format
from dragoman.documents.markdown.markdown_inline import new_parser


def capitals(text: str) -> str:
    """In capitals, but for what is in braces, which a service copies."""
    return re.sub(r"\{[^{}]*\}|[^{}]+", lambda m: m[0] if m[0][0] == "{" else m[0].upper(), text)


MODULES = [
    "import A from 'a';\n",
    "import './style.css'\n",
    "import {\n  A,\n  B as C,\n} from 'a'\n",
    "import type {T} from 'a'\nimport * as all from 'b'\n",
    "export const meta = {\n  title: `a ${b} {`,\n\n  list: [1, 'two )'],\n};\n",
    "export default function Page({children}) {\n  return <p>words here</p>\n}\n",
    "export default Layout\n",
    "export const short = (a) =>\n  a + 1 // and { a comment\n",
    "export {one} from 'b'\n",
    "export * from 'c'\n",
]


@pytest.mark.parametrize("name", ["a.md", "a.mdx"])
@pytest.mark.parametrize("module", MODULES)
def test_modules_stay(module: str, name: str) -> None:
    assert file_by(capitals, name, f"{module}\nsome words\n") == f"{module}\nSOME WORDS\n"


@pytest.mark.parametrize(
    "line", ["export the file to disk", "import all of it from there", "export default settings"]
)
def test_words_are_no_module(line: str) -> None:
    found = file_by(capitals, "a.md", f"{line} now\n")
    assert found == f"{line.upper()} NOW\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<Tabs>\nwords\n</Tabs>\n", "<Tabs>\nWORDS\n</Tabs>\n"),
        ('<Tab title="A title">a *b*</Tab>\n', '<Tab title="A title">A *B*</Tab>\n'),
        (
            "<Tabs\n  values={[\n    {label: 'A > b'},\n  ]}>\n  <Tab>\n\n    words\n\n  </Tab>\n"
            "</Tabs>\n",
            "<Tabs\n  values={[\n    {label: 'A > b'},\n  ]}>\n  <Tab>\n\n    WORDS\n\n  </Tab>\n"
            "</Tabs>\n",
        ),
        ("<>\nwords\n</>\n", "<>\nWORDS\n</>\n"),
        ("a <>b</> c\n", "A <>B</> C\n"),
        (
            "a <Icon name={x > 1} /> b {props.name} c\n",
            "A <Icon name={x > 1} /> B {props.name} C\n",
        ),
        ("{/* a comment\n over lines */}\nwords\n", "{/* a comment\n over lines */}\nWORDS\n"),
        ("a {/* comment */} b\n", "A {/* comment */} B\n"),
        ("{list.map((one) => (\n  <li>{one}</li>\n))}\n", None),
        ("a <Link to='/b'>c d</Link> e\n", "A <Link to='/b'>C D</Link> E\n"),
        ("<Ui.Item {...props}>f</Ui.Item> g\n", "<Ui.Item {...props}>F</Ui.Item> G\n"),
        ("        - deep\n        - items\n", "        - DEEP\n        - ITEMS\n"),
        ("<style>{`\n  a { color: red }\n`}</style>\n", None),
        ("<pre>\n  some code\n</pre>\n", None),
        ("- a\n\n  <Note>\n\n  b\n\n  </Note>\n", "- A\n\n  <Note>\n\n  B\n\n  </Note>\n"),
        ("# Head <Badge text='new' /> {#anchor}\n", "# HEAD <Badge text='new' /> {#anchor}\n"),
        (
            "| a | {b} |\n|---|---|\n| <C d={1} /> e | f |\n",
            "| A | {b} |\n|---|---|\n| <C d={1} /> E | F |\n",
        ),
        ("<!-- old comment -->\na < b\n", "<!-- old comment -->\nA \\< B\n"),
        ("a \\{b\\} \\< c\n", "A \\{b\\} \\< C\n"),
        (":::tip Title\n\na\n\n:::\n", ":::tip TITLE\n\nA\n\n:::\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_text_between_tags_and_expressions_is_translated(
    source: str, expected: str | None, newline: str
) -> None:
    wanted = source if expected is None else expected
    found = file_by(capitals, "a.mdx", source.replace("\n", newline))
    assert found == wanted.replace("\n", newline)


@pytest.mark.parametrize("said", ["a {b} c", "<B>", "{", "a } {/* b", "<a", "export const a = 1"])
def test_no_translation_becomes_javascript(said: str) -> None:
    def kinds(text: str) -> list[str]:
        tokens = new_parser(is_mdx=True).parse(text)
        inner = [child.type for token in tokens for child in token.children or []]
        return [*(token.type for token in tokens), *(kind for kind in inner if "text" not in kind)]

    source = "words\n\n- more\n"
    assert kinds(file_by(lambda _: said, "a.mdx", source)) == kinds(source)


PARTS = ["<A>", "</A>", "<A b='c'", "/>", ">", "{", "}", "{d}", "{/* e */}", "`", "'", "<", "</>"]
PARTS += ["export const f = ", "import g from 'h'", "words", " ", "\n", "\n\n", "    ", "- ", "|"]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PARTS), max_size=20).map("".join))
def test_a_document_comes_back_as_it_was(text: str) -> None:
    assert file_by(str, "a.mdx", text) == text


@pytest.mark.parametrize(
    "line", ["{\n", "{'\n", "<a b={\n", "<a b='\n", "export const a = {\n\n", "<pre>\n", "(", "`${"]
)
def test_time_grows_with_the_length(line: str) -> None:
    parser = new_parser(is_mdx=True)
    assert takes_linear_time(lambda size: parser.parse(line * size), 4000)


def test_mdx_is_a_format_of_its_own() -> None:
    form = document_format("docs/a.MDX")
    assert (form.name, form.media_type, form.suffixes) == ("MDX", "text/mdx", (".mdx",))
