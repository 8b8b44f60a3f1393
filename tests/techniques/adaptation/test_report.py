"""A language that a model did not know before has no score before in the report."""

from __future__ import annotations

import pytest

from dragoman.techniques.adaptation.report import AdaptationReport, AdaptationScore

NEW = AdaptationScore("dev_ko", "domain", "en-ko", 60, "chrF2", None, 6.5, None, None)
KNOWN = AdaptationScore("dev_de", "general", "en-de", 60, "chrF2", 40.0, 39.5, (-1.0, 0.1), 0.2)


def test_a_new_set_shows_what_it_has_now_alone() -> None:
    assert NEW.difference is None and KNOWN.difference == -0.5
    assert NEW.cells()[4:] == ["-", "6.50", "-", "-", "-"]
    assert KNOWN.cells()[4:7] == ["40.00", "39.50", "-0.50"]


@pytest.mark.parametrize(
    ("ended", "remedy"),
    [("training.bounds", "a wider --may-lose"), ("training.max_steps: 9", "a higher training.sch")],
)
def test_what_to_change_where_nothing_was_gained(ended: str, remedy: str) -> None:
    outcome = AdaptationReport("model", 9, 0, ended, (KNOWN,)).outcome()
    assert ended in outcome and remedy in outcome


def test_a_report_with_a_new_set_is_read_as_it_was_written() -> None:
    report = AdaptationReport("model", 10, 8, "training.max_steps: 10", (NEW, KNOWN))
    values = report.to_json()
    assert [score["difference"] for score in values["scores"]] == [None, -0.5]
    assert AdaptationReport.from_json(values) == report
    assert "| dev_ko | en-ko | 60 | chrF2 | - | 6.50 | - | - | - |" in report.markdown()
