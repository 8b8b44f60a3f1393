"""Text without translations in another language than declared."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dragoman.data import declared_language
from dragoman.data.declared_language import declared_texts, warn_of_other_languages
from dragoman.evaluation.languages import ForeignLines
from dragoman.text.corpora.corpus_part import CorpusPart

GERMAN = ["Zwei junge Männer spielen im Park Fußball.", "Die Kinder laufen heute zum Strand."]
ENGLISH = ["Two young men are playing football.", "The children are running to the beach."]


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, CorpusPart]:
    """Pairs, German text, and text half of which is English; only a filter keeps German."""
    texts = {"right": GERMAN * 8, "half": GERMAN * 4 + ENGLISH * 4, "other": ENGLISH * 8}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    right, half, other = (str(tmp_path / name) for name in texts)
    values = {
        "pairs": {"source": other, "target": other},
        "right": {"target": right, "transforms": [{"kind": "copy"}]},
        "half": {"target": half, "transforms": [{"kind": "dummy_source"}]},
        "filtered": {"target": half, "transforms": [{"kind": "filter", "last_line": 8}]},
    }
    made = {key: CorpusPart.model_validate(one) for key, one in values.items()}
    return {key: part.resolved("en", "de") for key, part in made.items()}


def test_parts_without_sources_are_judged_by_themselves(parts: dict[str, CorpusPart]) -> None:
    pytest.importorskip("py3langid", exc_type=ImportError)
    found = {text.key: text.share for text in declared_texts(parts)}
    assert found == {"right": 0, "half": 0.5, "filtered": 0}


def test_a_warning_names_part_file_share_and_language(
    parts: dict[str, CorpusPart], caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("py3langid", exc_type=ImportError)
    warn_of_other_languages(parts)
    (message,) = caplog.messages
    assert message.startswith("half (")
    assert "/half): 50% of its lines, declared as de, seem to be in another language" in message
    first = len(GERMAN) * 4 + 1
    assert f"(line {first} '{ENGLISH[0]}', line {first + 1} " in message
    assert message.count("line ") == 3
    assert "; look at them, and remove those that are" in message


@pytest.mark.parametrize(("share", "warned"), [(0.04, 3), (0.03, 0), (None, 0)])
def test_a_few_lines_are_no_reason_for_a_warning(
    share: float | None,
    warned: int,
    parts: dict[str, CorpusPart],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = None if share is None else ForeignLines(share, ())
    monkeypatch.setattr(declared_language, "foreign_lines", lambda *_: found)
    warn_of_other_languages(parts)
    assert len(caplog.messages) == warned


def test_what_cannot_be_judged_is_no_reason_for_a_warning(
    parts: dict[str, CorpusPart],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(declared_language, "why_not_judged", lambda _: "nobody knows it")
    monkeypatch.setattr(declared_language, "foreign_lines", lambda *_: None)
    with caplog.at_level(logging.INFO):
        warn_of_other_languages(parts)
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert all("its language is not judged: nobody knows it" in one for one in caplog.messages)
