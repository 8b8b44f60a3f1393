from typing import Any

from dragoman.workflows.reports.error_tables import finish_text


def kind(title: str, lines: int, of: int, message: str) -> dict[str, Any]:
    example = {"line": 7, "translation": "Ein Wort", "message": message}
    return {"title": title, "lines": lines, "of": of, "examples": [example]}


def test_the_worst_kinds_with_an_example_each() -> None:
    kinds = [
        kind("placeholders wrong", 17, 41, "'{n}' is missing"),
        kind("repeated", 1, 1000, "it repeats itself"),
    ]
    summary = {"lines": 1000, "wrong": 18, "kinds": kinds, "unchecked": {"wrong_language": "no"}}
    assert finish_text({"errors": {"dev": summary}}).splitlines() == [
        "Errors on dev, 1,000 lines checked: 18 lines have any",
        "  placeholders wrong    17 of 41  line 7: '{n}' is missing: 'Ein Wort'",
        "  repeated            1 of 1,000  line 7: it repeats itself: 'Ein Wort'",
        "  not checked, wrong_language: no",
    ]


def test_few_kinds_are_listed() -> None:
    kinds = [kind(f"kind {number}", 9, 9, "") for number in range(9)]
    summary = {"lines": 9, "wrong": 9, "kinds": kinds, "unchecked": {}}
    assert len(finish_text({"errors": {"dev": summary}}).splitlines()) == 1 + 6


def test_nothing_to_tell() -> None:
    summary: dict[str, Any] = {"lines": 3, "wrong": 0, "kinds": [], "unchecked": {}}
    assert finish_text({"errors": {"dev": summary}}) == (
        "Errors on dev, 3 lines checked: none found"
    )
    assert finish_text({}) == ""
