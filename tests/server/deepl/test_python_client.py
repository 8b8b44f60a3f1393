"""DeepL's own client, unchanged, against a server of ours."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deepl
import pytest
from api_server import ApiServer, deepl_server
from deepl.api_data import MultilingualGlossaryDictionaryEntries as Dictionary
from echo_service import EchoService
from office_files import body_of, docx, run

from dragoman.documents.filetypes.office_files import DocxFile


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    service = EchoService(("de", "en"), ("de", "fr"), ("en", "de"), ("en", "fr"))
    with deepl_server(tmp_path_factory.mktemp("deepl"), service=service) as found:
        yield found


@pytest.fixture
def client(server: ApiServer) -> Iterator[deepl.DeepLClient]:
    client = deepl.DeepLClient("any:fx", server_url=server.address)
    yield client
    client.close()  # type: ignore[no-untyped-call]


def test_a_text(client: deepl.DeepLClient) -> None:
    found = client.translate_text("Hello you. Hello?", target_lang="DE")
    assert isinstance(found, deepl.TextResult)
    assert found.text == "HELLO YOU.de HELLO?de"
    assert found.detected_source_lang == "EN"
    assert found.billed_characters == 17
    assert found.model_type_used is None


def test_a_list_is_one_request_of_the_service(client: deepl.DeepLClient, server: ApiServer) -> None:
    texts = ["ein Hund", "", "zwei\nZeilen."]
    found = client.translate_text(texts, source_lang="DE", target_lang="EN-US")
    assert isinstance(found, list)
    assert [str(one) for one in found] == ["EIN HUNDen", "", "ZWEIen\nZEILEN.en"]
    assert [one.text for one in server.service.calls[-1]] == texts


def test_each_text_of_a_list_has_its_own_language(client: deepl.DeepLClient) -> None:
    found = client.translate_text(["der Hund", "a dog"], target_lang="FR")
    assert isinstance(found, list)
    assert [one.detected_source_lang for one in found] == ["DE", "EN"]


def test_all_options_are_understood(client: deepl.DeepLClient, server: ApiServer) -> None:
    found = client.translate_text(
        "Come in",
        source_lang="EN",
        target_lang="de",
        context="A door.",
        split_sentences=deepl.SplitSentences.NO_NEWLINES,
        preserve_formatting=True,
        formality=deepl.Formality.LESS,
        outline_detection=False,
        model_type="prefer_quality_optimized",
    )
    assert isinstance(found, deepl.TextResult)
    assert found.model_type_used == "quality_optimized"
    asked = server.service.calls[-1][0]
    assert (asked.source, asked.target) == ("EN", "DE")
    assert asked.context == "A door."
    assert asked.split == "flowing"
    assert asked.tags == ("<informal>",)


@pytest.mark.parametrize(
    ("given", "split"), [(None, "sentences"), ("1", "sentences"), ("0", "none")]
)
def test_sentences_are_split_as_asked(
    client: deepl.DeepLClient, server: ApiServer, given: str | None, split: str
) -> None:
    client.translate_text("One. Two", target_lang="DE", split_sentences=given)
    assert server.service.calls[-1][0].split == split


@pytest.mark.parametrize(
    ("formality", "tags"),
    [("default", ()), ("more", ("<formal>",)), ("prefer_less", ("<informal>",))],
)
def test_formality_is_a_tag(
    client: deepl.DeepLClient, server: ApiServer, formality: str, tags: tuple[str, ...]
) -> None:
    client.translate_text("Come in", target_lang="DE", formality=formality)
    assert server.service.calls[-1][0].tags == tags


def test_formality_falls_back_only_if_that_is_asked_for(
    client: deepl.DeepLClient, server: ApiServer
) -> None:
    client.translate_text("Come in", target_lang="FR", formality="prefer_more")
    assert server.service.calls[-1][0].tags == ()
    with pytest.raises(deepl.DeepLException, match="'formality' is not supported for given"):
        client.translate_text("Come in", target_lang="FR", formality="more")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('Open <x id="7"/> now', {"tag_handling": "xml"}, 'OPEN <x id="7"/> NOWde'),
        (
            "Open <keep>Settings</keep>.",
            {"tag_handling": "xml", "ignore_tags": "keep"},
            "OPEN <keep>Settings</keep>.de",
        ),
        (
            "<p>One <b>two</b> x &lt; &lt;i&gt;</p>",
            {"tag_handling": "html", "tag_handling_version": "v2"},
            "<p>ONE <b>TWO</b> X &lt; &lt;i&gt;de</p>",  # a tag that is text is not translated
        ),
    ],
)
def test_markup_stays_in_place(
    client: deepl.DeepLClient, text: str, options: dict[str, str], expected: str
) -> None:
    found = client.translate_text(text, source_lang="EN", target_lang="DE", **options)  # type: ignore[arg-type]
    assert str(found) == expected


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({}, ["One.", "Two"]),
        ({"outline_detection": False}, ["One.Two"]),
        ({"outline_detection": False, "splitting_tags": ["a"]}, ["One.", "Two"]),
        ({"non_splitting_tags": "a,b"}, ["One.Two"]),
    ],
)
def test_tags_split_texts_as_asked(
    client: deepl.DeepLClient, server: ApiServer, options: dict[str, Any], texts: list[str]
) -> None:
    client.translate_text(
        "<a>One.</a><a>Two</a>",
        source_lang="EN",
        target_lang="DE",
        tag_handling="xml",
        split_sentences="nonewlines",
        **options,
    )
    asked = server.service.calls[-1]
    assert [one.text for one in asked] == texts
    assert {one.split for one in asked} == {"flowing"}


def test_sentences_of_pages_go_on_across_lines(
    client: deepl.DeepLClient, server: ApiServer
) -> None:
    client.translate_text("<p>One</p>", target_lang="DE", tag_handling="html")
    assert server.service.calls[-1][0].split == "flowing"


def test_markup_that_is_broken_is_refused_by_the_second_version_only(
    client: deepl.DeepLClient,
) -> None:
    broken = "<a>x<b></a>"
    for version in (None, "v1"):
        found = client.translate_text(
            broken, target_lang="DE", tag_handling="xml", tag_handling_version=version
        )
        assert str(found) == "<a>Xde<b></a>"
    with pytest.raises(deepl.DeepLException, match="mismatched tag at line 1, column 10"):
        client.translate_text(
            broken, target_lang="DE", tag_handling="xml", tag_handling_version="v2"
        )


def test_a_document(client: deepl.DeepLClient, server: ApiServer, tmp_path: Path) -> None:
    source, target = tmp_path / "mine.html", tmp_path / "theirs.html"
    source.write_text("<p>Hello <b>you</b></p>")
    glossary = client.create_glossary("Mine", "EN", "DE", {"dog": "Hund"})
    status = client.translate_document_from_filepath(
        source,
        target,
        source_lang="EN",
        target_lang="DE",
        formality=deepl.Formality.LESS,
        glossary=glossary,
    )
    assert status.done and status.billed_characters == len("Hello you")
    assert target.read_text() == "<p>HELLO <b>YOUde</b></p>"
    asked = server.service.calls[-1][0]
    assert asked.tags == ("<informal>",)
    assert asked.glossary is not None and asked.glossary.terms[0].targets == ("Hund",)


def test_a_document_is_fetched_once(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload("Hallo", filename="größe.txt", target_lang="DE")
    while not client.translate_document_get_status(handle).done:
        pass
    response = client.translate_document_download(handle)
    assert response is not None and response.content == b"HALLOde"
    disposition = response.headers["Content-Disposition"]
    assert disposition == (
        "attachment; filename=gr__e.de.txt; filename*=UTF-8''gr%C3%B6%C3%9Fe.de.txt"
    )
    assert response.headers["Content-Type"] == "text/plain"
    with pytest.raises(deepl.DeepLException, match="Not found"):
        client.translate_document_download(handle)


def test_a_document_of_word(client: deepl.DeepLClient) -> None:
    content = docx(f"<w:p>{run('Hello')}</w:p>")
    handle = client.translate_document_upload(content, filename="a.docx", target_lang="DE")
    while not client.translate_document_get_status(handle).done:
        pass
    response = client.translate_document_download(handle)
    assert response is not None
    assert response.headers["Content-Type"] == DocxFile.media_type
    assert body_of(response.content) == f"<w:p>{run('HELLOde')}</w:p>"


def test_a_document_that_cannot_be_translated(client: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DocumentTranslationException, match="not UTF-8") as caught:
        client.translate_document(b"Gr\xfc\xdfe", io.BytesIO(), filename="a.txt", target_lang="DE")
    assert caught.value.document_handle is not None


def test_a_document_in_the_target_language_is_an_error(client: deepl.DeepLClient) -> None:
    before = client.get_usage().character.count
    with pytest.raises(
        deepl.DocumentTranslationException, match="Source and target language are equal"
    ):
        client.translate_document(b"der Hund", io.BytesIO(), filename="a.txt", target_lang="DE")
    assert client.get_usage().character.count == before
    # A text stays as it is.
    found = client.translate_text("Hello.", source_lang="EN", target_lang="EN-GB")
    assert isinstance(found, deepl.TextResult)


def test_a_file_that_is_not_read_is_called_so(client: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DeepLException, match="Invalid file: files of the format"):
        client.translate_document_upload("text", filename="a.invalid", target_lang="DE")


def test_languages_have_the_codes_that_the_client_knows(client: deepl.DeepLClient) -> None:
    sources = {one.code: one.name for one in client.get_source_languages()}
    assert sources == {"DE": "German", "EN": "English"}
    targets = client.get_target_languages()
    assert [one.code for one in targets] == ["DE", "EN-GB", "EN-US", "FR"]
    assert [one.supports_formality for one in targets] == [True, False, False, False]
    for one in targets:
        client.translate_text(
            "das", source_lang="EN" if one.code in "DE FR" else "DE", target_lang=one
        )


def test_usage_counts_the_characters_of_texts(client: deepl.DeepLClient) -> None:
    usage = client.get_usage()
    assert usage.character.valid and not usage.any_limit_reached


def test_a_glossary_of_one_direction(client: deepl.DeepLClient, server: ApiServer) -> None:
    pairs = {(one.source_lang, one.target_lang) for one in client.get_glossary_languages()}
    assert pairs == {("de", "en"), ("de", "fr"), ("en", "de"), ("en", "fr")}
    terms = {"dog": "Hund", "Polish": "polnisch", "polish": "polieren", "a,b": 'say "x"'}
    made = client.create_glossary("Mine", "EN-GB", "DE", terms)
    assert (made.name, made.ready, made.entry_count) == ("Mine", True, 4)
    assert (made.source_lang, made.target_lang) == ("EN", "DE")
    assert client.get_glossary_entries(made) == terms
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert made.glossary_id in [one.glossary_id for one in client.list_glossaries()]

    client.translate_text_with_glossary("a dog", made)
    used = server.service.calls[-1][0].glossary
    assert used is not None
    assert {one.source: one.targets for one in used.terms} == {
        source: (target,) for source, target in terms.items()
    }
    assert [one.case_sensitive for one in used.terms] == [False, True, True, False]

    client.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)


def test_a_glossary_from_csv(client: deepl.DeepLClient) -> None:
    made = client.create_glossary_from_csv("C", "EN", "DE", '"a,b",x,en,de\r\n\r\nc,"d ""e"""\r\n')
    assert client.get_glossary_entries(made) == {"a,b": "x", "c": 'd "e"'}


def test_a_glossary_of_several_directions(client: deepl.DeepLClient, server: ApiServer) -> None:
    made = client.create_multilingual_glossary(
        "Many", [Dictionary("EN", "DE", {"dog": "Hund"}), Dictionary("EN", "FR", {"dog": "chien"})]
    )
    assert {(one.target_lang, one.entry_count) for one in made.dictionaries} == {
        ("DE", 1),
        ("FR", 1),
    }
    client.translate_text("a dog", source_lang="EN", target_lang="FR", glossary=made)
    used = server.service.calls[-1][0].glossary
    assert used is not None and used.terms[0].targets == ("chien",)

    renamed = client.update_multilingual_glossary_name(made, "Some")
    assert renamed.name == "Some" and len(renamed.dictionaries) == 2
    client.update_multilingual_glossary_dictionary(made, Dictionary("EN", "DE", {"cat": "Katze"}))
    assert _entries(client, made.glossary_id) == {"dog": "Hund", "cat": "Katze"}
    client.replace_multilingual_glossary_dictionary(made, Dictionary("EN", "DE", {"cat": "Kater"}))
    assert _entries(client, made.glossary_id) == {"cat": "Kater"}
    client.translate_text("a cat", source_lang="EN", target_lang="DE", glossary=made.glossary_id)
    used = server.service.calls[-1][0].glossary
    assert used is not None and used.terms[0].targets == ("Kater",)

    client.update_multilingual_glossary_dictionary_from_csv(made, "DE", "EN", "Hund,dog")
    found = client.get_multilingual_glossary(made.glossary_id)
    assert {(one.source_lang, one.target_lang) for one in found.dictionaries} == {
        ("EN", "DE"),
        ("EN", "FR"),
        ("DE", "EN"),
    }
    client.delete_multilingual_glossary_dictionary(made, source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.GlossaryNotFoundException, match="Dictionary not found: en to de"):
        _entries(client, made.glossary_id)
    # Only those of one direction are glossaries of version 2.
    assert made.glossary_id not in [one.glossary_id for one in client.list_glossaries()]
    assert made.glossary_id in [one.glossary_id for one in client.list_multilingual_glossaries()]
    client.delete_multilingual_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_multilingual_glossary(made.glossary_id)


def test_the_first_of_several_glossaries_goes_first(
    client: deepl.DeepLClient, server: ApiServer
) -> None:
    one = client.create_glossary("1", "EN", "DE", {"dog": "Hund", "caf\u00e9": "Café"})
    other = client.create_glossary(
        "2", "EN", "DE", {"dog": "Köter", "cafe\u0301": "Kaffee", "cow": "Kuh"}
    )
    client.translate_text(
        "a dog", source_lang="EN", target_lang="DE", glossary_ids=[one, other.glossary_id]
    )
    used = server.service.calls[-1][0].glossary
    assert used is not None
    assert {term.source: term.targets[0] for term in used.terms} == {
        "dog": "Hund",
        "caf\u00e9": "Café",
        "cow": "Kuh",
    }


def test_what_there_is_not_is_refused_at_once(client: deepl.DeepLClient) -> None:
    for call in (
        lambda: client.rephrase_text("text"),
        lambda: client.correct_text("text"),
        client.get_all_style_rules,
        client.list_translation_memories,
    ):
        with pytest.raises(deepl.DeepLException, match="Not supported by this server"):
            call()


def _entries(client: deepl.DeepLClient, glossary: str) -> dict[str, str]:
    found = client.get_multilingual_glossary_entries(glossary, "EN", "DE")
    lines = str(found.dictionaries[0].entries).splitlines()
    return dict(line.split("\t", 1) for line in lines)
