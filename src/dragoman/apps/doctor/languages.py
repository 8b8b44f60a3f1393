"""Checks that the training text is in the languages that the configuration declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dragoman.apps.doctor.findings import Finding, ok, warning
from dragoman.apps.doctor.text_checks import Texts
from dragoman.evaluation.languages import why_not_judged, wrong_language_share

_MUCH = 0.03  # of the lines; in clean text the identifier takes at most 0.01 for foreign


def check_languages(texts: Texts, *, reads_source: bool) -> Iterator[Finding]:
    """Check each language of either side, as far as it can be told from others here."""
    fine: dict[str, None] = {}
    unchecked: dict[str, None] = {}
    for (side, language), lines in _lines(texts, reads_source).items():
        if (reason := why_not_judged(language)) is not None:
            unchecked[reason.partition("; it knows")[0]] = None
        elif (share := wrong_language_share(lines, language)) is None:
            unchecked[f"{side} text in {language} has no letters"] = None
        elif share > _MUCH:
            yield warning(
                "language",
                f"{share:.0%} of the {side} lines declared as {language} are in another language; "
                f"remove them, or correct {side}_language",
            )
        else:
            fine[language] = None
    if fine:
        yield ok("language", f"the text is in the languages declared: {', '.join(fine)}")
    for reason in unchecked:
        yield ok("language", f"not checked: {reason}")


def _lines(texts: Texts, reads_source: bool) -> dict[tuple[str, str], list[str]]:
    """The text of the sample by side and declared language, as far as there is any."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for example, _ in texts.sample:
        if reads_source and example.source:
            found["source", example.source_language].append(example.source)
        found["target", example.target_language].append(example.target)
    return dict(found)
