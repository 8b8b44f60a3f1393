from __future__ import annotations

import pytest

from dragoman.translation.service.codes import fitting

KNOWN = ["de", "en", "he", "nb", "pt", "pt-BR", "zh-Hans", "zh-Hant"]


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("EN", ["en"]),
        ("en_GB", ["en"]),
        ("EN-US", ["en"]),
        (" de ", ["de"]),
        ("pt_br", ["pt-BR", "pt"]),
        ("PT-PT", ["pt", "pt-BR"]),
        ("zh-CN", ["zh-Hans", "zh-Hant"]),
        ("zt", ["zh-Hant", "zh-Hans"]),
        ("zh-tw", ["zh-Hant", "zh-Hans"]),
        ("ZH", ["zh-Hans", "zh-Hant"]),
        ("iw", ["he"]),
        ("no", ["nb"]),
        ("nl", []),
        ("", []),
        ("d", []),
    ],
)
def test_codes_mean_the_languages_that_are_there(code: str, meant: list[str]) -> None:
    assert fitting(code, KNOWN) == meant
