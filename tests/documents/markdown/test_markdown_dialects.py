"""What generators of sites add to Markdown stays where it is; the text between is translated."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("markdown_it")

from document_models import file_by
from linear_time import takes_linear_time

from dragoman.documents.markdown.markdown_inline import new_parser


def capitals(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # Jekyll, Jinja and Hugo
        ("a\n{% if x %}\nb\n{% endif %}\nc\n", "A\n{% if x %}\nB\n{% endif %}\nC\n"),
        ('a {% b %} c {{< d "e" >}} f\n', 'A {% b %} C {{< d "e" >}} F\n'),
        ('{{< a\n  b="c" >}}\nd\n', '{{< a\n  b="c" >}}\nD\n'),
        ("{{% note %}}\na\n{{% /note %}}\n", "{{% note %}}\nA\n{{% /note %}}\n"),
        ("{% raw %}\na\n\nb\n{% endraw %}\nc\n", "{% raw %}\na\n\nb\n{% endraw %}\nC\n"),
        ("{{< code >}}\na\n{{< /code >}}\nb\n", "{{< code >}}\na\n{{< /code >}}\nB\n"),
        ("{% if a %}b\n{% endif %}\n", "{% if a %}B\n{% endif %}\n"),
        ("{% raw %}\na\n", "{% raw %}\nA\n"),
        # kramdown, and what stands for a table of contents
        ("a\n{: .note }\n\n# b {#c .d}\n", "A\n{: .note }\n\n# B {#c .d}\n"),
        ("[TOC]\n\na [toc] b\n", "[TOC]\n\nA [TOC] B\n"),
        # MkDocs
        ('!!! note "a b"\n    c\n\n    - d\n\ne\n', '!!! note "A B"\n    C\n\n    - D\n\nE\n'),
        ("???+ tip inline end\n    a\nb\n", "???+ tip inline end\n    A\nB\n"),
        ('=== "a"\n\n    b\n\n=== "c"\n\n    d\n', '=== "A"\n\n    B\n\n=== "C"\n\n    D\n'),
        ('- a\n\n    !!! note "b"\n        c\n', '- A\n\n    !!! note "B"\n        C\n'),
        ('> !!! note "note"\n>     b\n', '> !!! note "NOTE"\n>     B\n'),
        (
            "!!! note\n    ```\n    a\n    ```\n    b\n",
            "!!! note\n    ```\n    a\n    ```\n    B\n",
        ),
        ("??? what is this\n", "??? WHAT IS THIS\n"),
        (
            "a\n/// note | b c\n    type: d\n\ne\n///\n",
            "A\n/// note | B C\n    type: d\n\nE\n///\n",
        ),
        ('--8<-- "a.md"\n--8<-- "b.md"\nc\n', '--8<-- "a.md"\n--8<-- "b.md"\nC\n'),
        ("a\n\n*[B]: c d\n*[E]: f\n", "A\n\n*[B]: C D\n*[E]: F\n"),
        ("a (1)\n{ .b }\n", "A (1)\n{ .b }\n"),
        ("[a](b){ .c .d } e\n", "[A](b){ .c .d } E\n"),
        ('![a](b "c"){: .d e="f g" } { h } i\n', '![A](b "C"){: .d e="f g" } { H } I\n'),
        ("**a**{.b} `c`{ #d }\n", "**A**{.b} `c`{ #d }\n"),
        # Definitions
        ("a\n: b\n: c\nd\n: e\n", "A\n: B\n: C\nD\n: E\n"),
        ("a\n\n:   b\nlazy\n\n    d\n\ne\n", "A\n\n:   B\nLAZY\n\n    D\n\nE\n"),
        ("> a\n> : - b\n>   - c\n", "> A\n> : - B\n>   - C\n"),
        ("a\n:   ```\n    b\n    ```\n    c\n", "A\n:   ```\n    b\n    ```\n    C\n"),
        (":b and :\n", ":B AND :\n"),
        # Addresses with tags of templates
        ("[a]({{ b.c }}/d) e\n", "[A]({{ b.c }}/d) E\n"),
        ('[a]({{< ref "b" >}}#c "d")\n', '[A]({{< ref "b" >}}#c "d")\n'),
        ("[a][b]\n\n[b]: {% link b.md %} 'c'\n", "[A][b]\n\n[b]: {% link b.md %} 'c'\n"),
        ("[a](<b c>) {{ d }} [e](f g) {{h}}\n", "[A](<b c>) {{ d }} [E](F G) {{h}}\n"),
        # Docusaurus, VitePress, Pandoc, MyST
        ("(a-b)=\n# c\n(d e)= f\n", "(a-b)=\n# C\n(D E)= F\n"),
        (":::tip tip {.tip}\na\n:::\nb\n", ":::tip TIP {.tip}\nA\n:::\nB\n"),
        (":::note[a b]\nc\n:::\n", ":::note[A B]\nC\n:::\n"),
        (
            "::: {.x}\na\n\n:::: code-group\n::::\n:::\n",
            "::: {.x}\nA\n\n:::: code-group\n::::\n:::\n",
        ),
        (":::{note} a\n:class: b\nc\n:::\n", ":::{note} A\n:class: b\nC\n:::\n"),
        (":::{tab-item} a b\nc\n:::\n", ":::{tab-item} A B\nC\n:::\n"),
        (":::{figure} a.png\nb\n:::\n", ":::{figure} a.png\nB\n:::\n"),
        (":::{code} python\na\n:::\nb\n", ":::{code} python\na\n:::\nB\n"),
        ("::: c ::: d\n", "::: C ::: D\n"),
        # MDX
        ("import A, {b} from '@c/d';\n\na\n", "import A, {b} from '@c/d';\n\nA\n"),
        ("import all of it from 'Settings'\n", "IMPORT ALL OF IT FROM 'SETTINGS'\n"),
        # MyST
        ("a\n% b c\n%d e\n% f\n\ng\n", "A\n% b c\n%d E\n% f\n\nG\n"),
        ('a\n\n+++ {"b": "c"}\n\nd\n', 'A\n\n+++ {"b": "c"}\n\nD\n'),
        ("{#a .b}\nc\n", "{#a .b}\nC\n"),
        (":a: b c\n:d e: f\n\n  g\n", ":a: B C\n:d e: F\n\n  G\n"),
        (":tada: a b\nc d e f g h\n", ":tada: A B C D E F\nG H\n"),
        ("a {ref}`b c <d>` e {term}`f`\n", "A {ref}`b c <d>` E {term}`f`\n"),
        ("a :py:func:`b` {x} `c`\n", "A :py:func:`b` {x} `c`\n"),
        # Footnotes and notices
        (
            "a[^1]\n\n[^1]: b\n\n    c *d*\n\n    - e\n\nf\n",
            "A[^1]\n\n[^1]: B\n\n    C *D*\n\n    - E\n\nF\n",
        ),
        ("[^a]: b\nc\n[^d]:\n    e\n", "[^a]: B\nC\n[^d]:\n    E\n"),
        ("[^a]: b\n\n    ```\n    c\n    ```\n", "[^a]: B\n\n    ```\n    c\n    ```\n"),
        ("> [!NOTE]\n> a\n", "> [!NOTE]\n> A\n"),
        ("> [!note]- a b\n> c\n", "> [!note]- A B\n> C\n"),
        # Directly below and above HTML
        ("<p>a</p>\n:::\n:::tip\nb\n:::\n", "<p>A</p>\n:::\n:::tip\nB\n:::\n"),
        ("<p>a</p>\n::::{b} c\nd\n::::\n<p>e</p>\n", "<p>A</p>\n::::{b} c\nD\n::::\n<p>E</p>\n"),
        ("</div>\n{: .a}\nb\n", "</div>\n{: .a}\nB\n"),
        ("<div>\n{: .a}\n<p>b</p>\n</div>\n", "<div>\n{: .a}\n<p>B</p>\n</div>\n"),
        ("{{< a >}}\n<p>b</p>\n{{</ a >}}\nc\n", "{{< a >}}\n<p>B</p>\n{{</ a >}}\nC\n"),
        (
            "<ul>\n{% for a in b %}\n      <li>c</li>\n{% endfor %}\n</ul>\n{% d %}\ne `f`\n",
            "<ul>\n{% for a in b %}\n      <li>C</li>\n{% endfor %}\n</ul>\n{% d %}\nE `f`\n",
        ),
        ("<p>a</p>\n(b)=\n# c\n", "<p>A</p>\n(b)=\n# C\n"),
        ('<p>a</p>\n--8<-- "b"\nc\n', '<p>A</p>\n--8<-- "b"\nC\n'),
        ('<p>a</p>\n!!! note "b"\n    c\n', '<p>A</p>\n!!! note "B"\n    C\n'),
        ("<p>a</p>\n% b\nc\n", "<p>A</p>\n% b\nC\n"),
        ("|a|\n|-|\n|b|\n:::\n", "|A|\n|-|\n|B|\n:::\n"),
        ("- a\n:::\nb\n", "- A\n:::\nB\n"),
        ("<pre>\n:::\na\n</pre>\n", "<pre>\n:::\na\n</pre>\n"),
        (
            "<div><pre>\n{% a %}\nb\n:::\n</pre></div>\n",
            "<div><pre>\n{% a %}\nb\n:::\n</pre></div>\n",
        ),
        ("<!--\n:::\na\n-->\n", "<!--\n:::\na\n-->\n"),
        # Formulas
        ("$$\na = b\n$$\nc\n", "$$\na = b\n$$\nC\n"),
        ("a $b^2 = \\$c$ d $$e$$ f\n", "A $b^2 = \\$c$ D $$e$$ F\n"),
        ("$5 and $6, US$ and A$\n", "$5 AND $6, US$ AND A$\n"),
        ("a %1$tY b %1$tY c\n", "A %1$tY B %1$tY C\n"),
        ("$$ a\n$$\n", "$$ A\n$$\n"),
        ("$$a\n= b$$\nc\n", "$$a\n= b$$\nC\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_of_dialects_stay(source: str, expected: str, newline: str) -> None:
    written = source.replace("\n", newline)
    assert file_by(capitals, "a.md", written) == expected.replace("\n", newline)


PARTS = ["{% raw %}", "{% endraw %}", "{{< a", ">}}", "{% b %}", "!!! c", ' "d"', "=== ", "    "]
PARTS += [
    ":::",
    ":::{code}",
    ":::tip",
    ": ",
    "/// note",
    "{ .g }",
    "](",
    "[h",
    "*[I]: j",
    "(k)=",
    "[TOC]",
    "$$",
    "$",
    "$e$",
    "f",
    " ",
    "\n",
    "\n\n",
    "> ",
    "- ",
]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PARTS), max_size=20).map("".join))
def test_a_document_comes_back_as_it_was(text: str) -> None:
    """But for white space within paragraphs, which means nothing."""
    assert file_by(lambda words: words, "a.md", text).split() == text.split()


@pytest.mark.parametrize(
    "said",
    [
        *(
            "{% raw %}",
            "!!! note\n    b",
            ":::",
            "$$",
            "[TOC]",
            "$a$",
            "import a from 'b'",
            "% a",
            "+++",
        ),
        *(": a", "a\n: b", "{ .b }", "(a)=", "*[A]: b", '--8<-- "a"', "/// note"),
    ],
)
def test_no_translation_becomes_such_a_line(said: str) -> None:
    def kinds(text: str) -> list[str]:
        return [token.type for token in new_parser().parse(text)]

    found = file_by(lambda _: said, "a.md", "text\n\nmore\n")
    assert kinds(found) == kinds("text\n\nmore\n")


def test_notes_within_notes_end_somewhere() -> None:
    deep = "".join("    " * depth + "!!! note\n" for depth in range(500)) + "    " * 500 + "a\n"
    assert file_by(capitals, "a.md", deep) == deep


@pytest.mark.parametrize(
    "line",
    [
        "{% raw %}\n",
        "$$\na\n",
        "{% a\n",
        ":::math\n",
        "!!! a\n    b\n",
        ":::note a  {\n",
        "$a$ $b\\",
    ],
)
def test_time_grows_with_the_length(line: str) -> None:
    parser = new_parser()
    assert takes_linear_time(lambda size: parser.parse(line * size), 8000)
