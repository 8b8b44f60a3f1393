from __future__ import annotations

import pytest

from dragoman.text.language_codes import (
    base_language,
    is_language_tag,
    meant,
    related_languages,
    spelling,
)


@pytest.mark.parametrize(
    "name",
    ["en", "pt-BR", "zh_Hans", "nds", "KO", "deu_Latn", "zh-Hant-TW", "es-419", "en_XX", "ilo",
     "eng", "ace_Arab", "sr-Latn-RS", "ca-valencia", "de-CH-1996", "sl_rozaj", "nan", "tet",
     "ber", "vls"],
)  # fmt: skip
def test_languages(name: str) -> None:
    assert is_language_tag(name)


@pytest.mark.parametrize(
    "name",
    ["", "x", "kind", "origin", "source text", "domain_1", "src", "tgt", "url", "en-", "-en", "xx",
     "is_valid", "de-DE-DE", "en\n", "zh-Hans-Hans", "es-41", "key", "doc", "new", "old", "tmp",
     "csv", "ref", "hyp", "out", "row", "idx", "ext", "bin", "map", "max", "pos", "ner",
     "en-foobar", "ca-wrong1", "de" + "-1996" * 9, "ſv", "ＥＮ"],
)  # fmt: skip
def test_no_languages(name: str) -> None:
    assert not is_language_tag(name)


FLORES_200 = """
    ace acm acq aeb afr ajp aka als amh apc arb ars ary arz asm ast awa ayr azb azj bak bam ban bel
    bem ben bho bjn bod bos bug bul cat ceb ces cjk ckb crh cym dan deu dik dyu dzo ell eng epo est
    eus ewe fao fij fin fon fra fur fuv gaz gla gle glg grn guj hat hau heb hin hne hrv hun hye ibo
    ilo ind isl ita jav jpn kab kac kam kan kas kat kaz kbp kea khk khm kik kin kir kmb kmr knc kon
    kor lao lij lim lin lit lmo ltg ltz lua lug luo lus lvs mag mai mal mar min mkd mlt mni mos mri
    mya nld nno nob npi nso nus nya oci ory pag pan pap pbt pes plt pol por prs quy ron run rus sag
    san sat scn shn sin slk slv smo sna snd som sot spa srd srp ssw sun swe swh szl tam taq tat tel
    tgk tgl tha tir tpi tsn tso tuk tum tur twi tzm uig ukr umb urd uzn vec vie war wol xho ydd yor
    yue zho zsm zul
"""


def test_all_languages_of_flores_200_are_known() -> None:
    assert [code for code in FLORES_200.split() if not is_language_tag(code)] == []


def test_codes_of_iso_639_for_one_language_are_equal() -> None:
    for same in (("de", "deu", "ger"), ("he", "heb", "iw"), ("id", "ind", "in"), ("eng", "EN")):
        assert len(set(map(spelling, same))) == 1
    assert spelling("por_BR") == spelling("pt-BR") == "pt-br"
    assert base_language("eng_Latn") == "en"
    # Of several languages that a macrolanguage has, each stays itself.
    assert len({spelling(one) for one in ("zh", "yue", "cmn", "wuu", "fa", "prs", "sr", "sh")}) == 8


def test_labels_that_are_no_languages_stay() -> None:
    assert [spelling(one) for one in ("source", "xx", "jp", "2de")] == ["source", "xx", "jp", "2de"]


def test_spellings_of_one_language() -> None:
    assert len({spelling(name) for name in ("zh-Hans", "zh_Hans", "ZH-HANS", "zh_hans")}) == 1
    assert spelling("de") != spelling("de-AT")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("DE", "de"),
        ("zh_hans", "zh-Hans"),
        ("zh", "zh-Hans"),
        ("de-AT", "de"),
        ("2de", "<2de>"),
        ("<2DE>", "<2de>"),
        ("<2zh>", "<2zh-Hans>"),
        ("ui", "<ui>"),
        ("<offise>", "<office>"),
    ],
)
def test_what_was_meant(name: str, known: str) -> None:
    there = [f"<2{one}>" for one in ("fr", "de", "zh-Hans")] if "2" in name else ["fr", "de"]
    assert meant(name, [*there, known, "<ui>"]) == f"; did you mean {known!r}?"


@pytest.mark.parametrize("name", ["xx", "ko", "fi", "<2dk>", "<p>", "<>", ""])
def test_nothing_was_meant(name: str) -> None:
    assert not meant(name, ["fr", "de", "<2de>", "<ui>"])


@pytest.mark.parametrize(
    ("language", "near"),
    [
        ("gsw", ["deu_Latn"]),
        ("no", ["nob_Latn"]),
        ("zh-TW", ["zho_Hant"]),
        ("fr", []),
        ("source", []),
        ("", []),
    ],
)
def test_languages_near_to_others(language: str, near: list[str]) -> None:
    known = ["deu_Latn", "eng_Latn", "target", "zho_Hans", "zho_Hant", "nob_Latn"]
    assert related_languages(language, known) == near
