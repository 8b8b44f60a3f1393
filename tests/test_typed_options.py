"""Keyword arguments that type checkers and editors know."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

from mypy import api

from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig
from dragoman.translation import call_options as known

SNIPPET = """
import dragoman

translator = dragoman.load("runs/my", device="cpu", workers=2, precision="auto")
translator.translate(["three euros"], beam=8, sampling={"top_p": 0.9}, prefix=None)
for several in translator.translate_nbest(["three euros"], nbest=5):
    print(several[0].confidence)
translator.translate(["three euros"], beem=8)
translator.translate_nbest(["three euros"], beam="8")
dragoman.load("runs/my", presicion="auto")
"""

READ = (
    "dragoman",
    "dragoman.api",
    "dragoman.translation",
    "dragoman.translation.described_translator",
    "dragoman.translation.line_translator",
    "dragoman.translation.call_options",
    "dragoman.translation.outputs",
    "dragoman.translation.translator",
    "collections.*",
    "typing",
    "pathlib",
)
"""Modules that mypy reads for the snippet; all others are Any there."""


def test_they_are_the_fields_of_the_classes_that_read_them() -> None:
    search = set(known.SearchOptions.__annotations__)
    assert search == set(SearchConfig.model_fields)
    of_lines = set(known.LineOptions.__annotations__) - search
    assert of_lines == {"prefix", "glossary", "numbers", "progress"}
    system = set(known.SystemOptions.__annotations__)
    assert system == set(TranslationSystem.model_fields) - {"models", "device"}


def test_choices_are_those_of_the_classes() -> None:
    for ours, theirs in (
        (known.SearchOptions, SearchConfig),
        (known.SystemOptions, TranslationSystem),
    ):
        scope = {"EarlyEnd": SearchConfig.model_fields["early_end"].annotation}
        hints = get_type_hints(ours, localns=scope | {"GivenGlossary": object})
        for name, field in theirs.model_fields.items():
            if "Literal" in str(field.annotation) and name in hints:
                assert str(hints[name]).removesuffix(" | None") in {
                    str(field.annotation),
                    f"typing.Optional[{field.annotation}]",
                }, name


def test_mypy_refuses_options_that_do_not_exist(tmp_path: Path) -> None:
    """With the real signatures, and without the modules that they do not need."""
    script, settings = tmp_path / "snippet.py", tmp_path / "mypy.ini"
    script.write_text(SNIPPET, encoding="utf-8")
    settings.write_text(
        f"[mypy]\nmypy_path = {Path(__file__).parents[1] / 'src'}\nfollow_imports = skip\n"
        + "".join(f"[mypy-{module}]\nfollow_imports = silent\n" for module in READ),
        encoding="utf-8",
    )
    printed, _, _ = api.run(
        ["--config-file", str(settings), "--cache-dir", str(tmp_path / "cache"), str(script)]
    )
    errors = [line for line in printed.splitlines() if ": error: " in line]
    found = [(line.split(":")[1], line.rpartition("[")[2]) for line in errors]
    assert found == [("8", "call-arg]"), ("9", "arg-type]"), ("10", "call-arg]")], printed
    assert 'Unexpected keyword argument "beem" for "translate"' in errors[0]
