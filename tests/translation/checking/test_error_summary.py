from dragoman.translation.checking.error_summary import CheckedLine, summarise_errors
from dragoman.translation.checking.line_checks import TranslationChecks

LINES = [
    CheckedLine(1, "Wait 5 minutes", "5 Minuten warten", "1 Minute warten"),
    CheckedLine(2, "Wait 7 minutes", "7 Minuten warten", "7 Minuten warten"),
    CheckedLine(4, "Wait {n} minutes", "{n} Minuten warten", "{x} Minuten warten"),
    CheckedLine(5, "Version", "Version", "Version"),
    CheckedLine(6, "Wait a minute", "Eine Minute warten", "1 Minute warten"),
]


def test_each_kind_counts_once_for_a_line() -> None:
    summary = summarise_errors(TranslationChecks(), LINES)
    assert (summary.lines, summary.wrong) == (5, 3)
    numbers, placeholders = summary.counts
    assert (numbers.kind, numbers.lines, numbers.of) == ("numbers", 2, 3)
    assert numbers.share == 2 / 3
    # Both 5 and 1 are wrong in the first line; the first of them is the example.
    assert [one.finding.text for one in numbers.examples] == ["5", "1"]
    assert (placeholders.kind, placeholders.lines, placeholders.of) == ("placeholders", 1, 1)
    example = placeholders.to_json()["examples"][0]
    assert example["line"] == 4
    assert example["message"] == "'{n}' is missing"
    assert example["translation"] == "{x} Minuten warten"
    assert summary.to_json()["kinds"][0]["title"] == "numbers wrong"


def test_few_examples_of_many_errors() -> None:
    summary = summarise_errors(TranslationChecks(), LINES[:1] * 9)
    (numbers,) = summary.counts
    assert (numbers.lines, numbers.of, len(numbers.examples)) == (9, 9, 5)
    assert summarise_errors(TranslationChecks(), []).counts == ()
