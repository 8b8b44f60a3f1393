"""Codes of templates in pages."""

from __future__ import annotations

import re

import pytest
from document_models import file_by
from hypothesis import given
from hypothesis import strategies as st
from linear_time import takes_linear_time

from dragoman.documents.html import read_html
from dragoman.documents.marks.markup_tokens import html_tokens
from dragoman.documents.template_codes import TemplateCodes

VALUES = [
    "{{ a.b }}",
    "{{ a < b }}",
    "{{ shown ? '&#9660;' : '&#9654;' }}",
    '{{ x|default:"<b>none</b>" }}',
    "{{{ raw.html }}}",
    "{!! $html !!}",
    "{{> partial }}",
    '{{< ref "page.md" >}}',
    '{% url "home" a.id %}',
    "{%- now 'Y' -%}",
    "<%= user.name %>",
    "<%- locals.body -%>",
    "<%== raw %>",
    "<?= $a->b ?>",
    "<?php echo $a > 1 ? 'x' : '<b>y</b>'; ?>",
    "<?php the_author(); ?>",
    "${order.total < 5 ? 'a' : 'b'}",
    "#{bean.name}",
    "[[${user.name}]]",
    "[(${user.html})]",
    "{$user.name|escape:'html'}",
    "{=$a}",
    "{button -> f:format.raw()}",
    "{button -&gt; f:format.raw()}",
    "{f:translate(key: 'a.b')}",
    "{count|thousands}",
    "{@html body}",
    "<@spring.message code='a'/>",
    "@lang('messages.hello')",
    "{n, plural, =0 {no files} one {a file} other {{{n}} files}}",
]
CONTROLS = [
    ("{% if a > b %}", "{% endif %}"),
    ("{%- for a in b -%}", "{%- endfor -%}"),
    ("{% cache 500 sidebar %}", "{% endcache %}"),
    ("{{#if a}}", "{{/if}}"),
    ("{{^items}}", "{{/items}}"),
    ("{{ if gt .A 1 }}", "{{ end }}"),
    ("{{ range $i, $e := .Pages }}", "{{- end -}}"),
    ("{{% note %}}", "{{% /note %}}"),
    ('{{< tab name="x" >}}', "{{< /tab >}}"),
    ("<% if a > b %>", "<% end %>"),
    ("<%- if a -%>", "<%- end -%>"),
    ("<%= form_for @user do |f| %>", "<% end %>"),
    ("<% items.forEach(function(i) { %>", "<% }); %>"),
    ("<?php if ($a > 1): ?>", "<?php endif; ?>"),
    ("<?php foreach ($a as $b) { ?>", "<?php } ?>"),
    ("<#if a gt 3>", "</#if>"),
    ("<@layout.page title='x'>", "</@layout.page>"),
    ('<%block name="body">', "</%block>"),
    ("{if $a > 3}", "{/if}"),
    ("{foreach from=$a item=b}", "{/foreach}"),
    ("{#if a > 3}", "{/if}"),
    ("@if (a > (b + 1)) {", "}"),
    ("@for (i of items; track i.id) {", "}"),
    ("@if (count($a) > 1)", "@endif"),
    ("@foreach($a as $b)", "@endforeach"),
    ("#if($a > 3)", "#end"),
]
COMMENTS = ["{# a > b #}", "{{! a }}", "{{!-- a }} --}}", "{{-- a --}}", "<%-- <b> --%>"]
COMMENTS += ["<%# a %>", "<#-- a > b -->", "{* a *}", "{% comment %}a <b>{% endcomment %}"]


@pytest.mark.parametrize("code", VALUES)
def test_a_value_is_a_word_of_its_sentence(code: str) -> None:
    before = f"<p>Hello {code} and <b>welcome</b>.</p>"
    (text,) = read_html(before).texts
    assert file_by(str, "a.html", before) == before
    after = file_by(lambda said: " ".join(reversed(said.upper().split())), "a.html", before)
    assert after.count(code) == 1
    outside = re.sub("<[^>]*>", " ", after.replace(code, " "))
    assert sorted(re.findall(r"\w+", outside)) == ["AND", "HELLO", "WELCOME"]
    assert text.text.startswith("Hello ")


@pytest.mark.parametrize(("begin", "end"), CONTROLS)
def test_control_parts_texts_and_stays_between_them(begin: str, end: str) -> None:
    before = f"<p>One {begin}\n  two {end} three</p>"
    assert [one.text for one in read_html(before).texts] == ["One", "two", "three"]
    after = file_by(str.upper, "a.html", before)
    assert after == f"<p>ONE {begin}\n  TWO {end} THREE</p>"


@pytest.mark.parametrize("code", COMMENTS)
def test_a_comment_is_not_read(code: str) -> None:
    before = f"<p>One {code} two</p>"
    assert [one.text for one in read_html(before).texts] == ["One two"]
    assert file_by(str.upper, "a.html", before) == f"<p>ONE {code} TWO</p>"


@pytest.mark.parametrize(
    "tag",
    [
        '<a href="{% url "home" a>b %}">',
        "<option value='x' {% if a > b %}selected{% endif %}>",
        '<input value="<?php echo $a["b"] > 1 ?>" <?= $c > 1 ? "checked" : "" ?>>',
        "<div class={{ a > b }} data-<%= x > 1 %>=y>",
        '<a title="{{ x|default:">" }}">',
        "<td {# a > b #}>",
    ],
)
def test_codes_in_a_tag_do_not_end_it(tag: str) -> None:
    (token, *rest) = html_tokens(f"{tag}x")
    assert (token.raw, [one.raw for one in rest]) == (tag, ["x"])


@pytest.mark.parametrize(
    "text",
    [
        "Write to me@if.example or follow @endlich and #hashtags.",
        "A set {a, b} has 2 parts; 50 % of {them} (or more) are {see below}.",
        "Give { and }, {{ or }, {% or <% and [[ or ${ back, # and @.",
        "Set {for example this} and {if any}.",
        "Press #end or @else, {/ or {#.",
    ],
)
def test_prose_has_no_codes(text: str) -> None:
    tokens = list(html_tokens(text))
    assert {one.kind for one in tokens} == {"text"}


def test_titles_have_codes_but_no_tags() -> None:
    before = "<title>{% block title %}One <b>{{ a }}{% endblock %}</title>"
    expected = ["{% block title %}", "One ", "<b>", "{{ a }}", "{% endblock %}"]
    assert [one.raw for one in html_tokens(before)][1:-1] == expected


def test_a_code_does_not_reach_over_the_end_of_a_title() -> None:
    kinds = [one.kind for one in html_tokens("<title>a {{ b</title>}} c")]
    assert kinds == ["open", "text", "close", "text"]


@pytest.mark.parametrize(
    "sign",
    [
        "{{",
        "{%",
        "<%",
        "<?php ",
        "{a|",
        "${",
        "@if(",
        "<#if ",
        "{a,plural,",
        "{% comment %}",
        "[[${",
    ],
)
def test_codes_that_do_not_end_take_little_time(sign: str) -> None:
    assert takes_linear_time(lambda times: list(html_tokens("<p>" + sign * times)), 5000)


SIGNS = ["{", "}", "{{", "}}", "{%", "%}", "<%", "%>", "<?php", "?>", "${", "@if", "(", ")", "@end"]
SIGNS += ["#if(", "#end", "<#", "<@", "<b", ">", '"', "'", "a", " ", "\n", "=", "endif", "comment"]


@given(st.lists(st.sampled_from(SIGNS), max_size=30).map("".join))
def test_tokens_with_codes_join_to_the_text(text: str) -> None:
    assert "".join(one.raw for one in html_tokens(text)) == text
    assert "".join(one.raw for one in html_tokens(f"<title>{text}")) == f"<title>{text}"
    document = read_html(text)
    assert all(one.text for one in document.texts)


def test_a_place_may_be_asked_for_twice() -> None:
    codes = TemplateCodes("@if (a) { b }")
    assert codes.at(0) == codes.at(0) == (9, "control")
    assert codes.at(12) == codes.at(12) == (13, "control")
