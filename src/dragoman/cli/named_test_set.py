"""A test set of sacrebleu for ``evaluate --test-set``, and translations of it by a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.options import input_lines, is_given
from dragoman.cli.translated_lines import LineReport
from dragoman.saved.installed_models import found_model
from dragoman.workflows.progress import counting

if TYPE_CHECKING:
    from dragoman.text.sacrebleu_sets import SetFiles

test_set_options = declare.options("""
    --test-set SET
        Score against this test set of sacrebleu, such as wmt22, in place of REFERENCE files; it is
        downloaded at its first use.  HYPOTHESES, and the file of --baseline, may be a MODEL, which
        then translates the set.
    --language-pair PAIR
        With --test-set: source and target language of the set, such as en-de.
""")


@dataclass(frozen=True)
class NamedTestSet:
    """A test set of sacrebleu, on this machine."""

    name: str
    files: SetFiles

    @classmethod
    def chosen(cls, options: dict[str, Any], references: tuple[Path, ...]) -> NamedTestSet | None:
        """The set that the command line names; None if it names files of references.

        Changes the options that a set answers: the source text for metrics that read it, and the
        tokenizer, which is sacrebleu's for the target language.
        """
        test_set, pair = options["test_set"], options["language_pair"]
        if test_set is None and pair is None:
            return None
        if test_set is None or pair is None:
            raise click.UsageError(
                "--test-set and --language-pair name a set together, such as --test-set wmt22 "
                "--language-pair en-de"
            )
        if references:
            raise click.UsageError(
                f"{references[0]}: --test-set has references of its own; leave one of them out"
            )
        from dragoman.evaluation.metrics import metric_named
        from dragoman.evaluation.tokenizers import usual_tokenizer
        from dragoman.text.sacrebleu_sets import languages_of_set, set_files

        name = f"{test_set}/{pair}"
        found = cls(name, set_files(name))
        metrics = {*options["metrics"], *(["terms"] if options["glossary"] is not None else ())}
        if options["source_text"] is None and any(
            metric_named(one).reads_source for one in metrics
        ):
            options["source_text"] = found.files.source
        if not is_given("tokenize"):
            options["tokenize"] = usual_tokenizer(languages_of_set(name)[1])
        return found

    def translations(self, path: Path) -> list[str]:
        """The lines of a file or of standard input, or what a model makes of the sources."""
        model = found_model(path)
        if not model.is_dir():
            return list(input_lines((path,)))
        from dragoman.saved.directions import told_languages
        from dragoman.saved.model import config_of
        from dragoman.saved.system_parts import UNPROTECTED
        from dragoman.text.sacrebleu_sets import languages_of_set
        from dragoman.translation.translator import Translator

        sources, report, lines = list(input_lines((self.files.source,))), LineReport(None), []
        languages: dict[str, Any] = {}
        languages.update(told_languages(config_of(model), *languages_of_set(self.name)))
        with (
            Translator.load(model, terms=UNPROTECTED, **languages) as translator,
            counting(f"translating {self.name}", "lines", len(sources)) as count,
        ):
            for result in translator.stream_lines(sources, progress=count, nbest=1):
                report.add(result)
                lines.append(result.translations[0].text)
        return lines
