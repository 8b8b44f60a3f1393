"""``evaluate --test-set``: a test set of sacrebleu in place of files of references."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sacrebleu
from command_line import CommandLine, one_error
from corpora_web import Web
from registered_sets import REFERENCES, SOURCES, Register, register, wmt_xml  # noqa: F401
from tiny_model import save_tiny_model

from dragoman.text.examples import Direction

SET = ("--test-set", "small", "--language-pair", "en-de")
FAR = Direction(source_language="en", target_language="ko", tags=("<2ko>",))
NEAR = Direction(source_language="en", target_language="de-AT", tags=("<2de-AT>",))


@pytest.fixture
def hypotheses(tmp_path: Path) -> Path:
    path = tmp_path / "hypotheses"
    path.write_text("\n".join([*REFERENCES[0][:3], "a b c d e"]) + "\n", encoding="utf-8")
    return path


def test_lines_are_scored_against_all_references(
    web: Web,
    register: Register,  # noqa: F811
    hypotheses: Path,
    dragoman: CommandLine,
) -> None:
    register(web)
    found = json.loads(dragoman("evaluate", hypotheses, *SET, "--json").out)
    lines = hypotheses.read_text(encoding="utf-8").splitlines()
    assert found["scores"][0]["value"] == sacrebleu.corpus_bleu(lines, REFERENCES).score
    assert "nrefs:2" in found["scores"][0]["signature"]
    piped = dragoman("evaluate", "-", *SET, "--json", stdin=hypotheses.read_bytes())
    assert json.loads(piped.out) == found
    rates = dragoman("evaluate", hypotheses, *SET, "--metric", "numbers", "--json")
    assert rates.code == 0, rates.err  # whose sources are known


def test_a_model_translates_the_set(
    web: Web,
    register: Register,  # noqa: F811
    tmp_path: Path,
    hypotheses: Path,
    dragoman: CommandLine,
) -> None:
    register(web, xml=wmt_xml())
    plain = save_tiny_model(tmp_path / "plain")
    chrf = ("--metric", "chrf", "--json")
    outcome = dragoman("evaluate", plain, *SET, *chrf)
    assert outcome.code == 0, outcome.err
    source = "\n".join(line.replace("&amp;", "&") for line in SOURCES).encode()
    (tmp_path / "out").write_text(dragoman("translate", plain, stdin=source).out, encoding="utf-8")
    assert outcome.out == dragoman("evaluate", tmp_path / "out", *SET, *chrf).out
    compared = dragoman("evaluate", hypotheses, *SET, "--baseline", plain, *chrf)
    assert json.loads(compared.out)["comparisons"]
    tags = ("<2ko>", "<2de-AT>")
    many = save_tiny_model(tmp_path / "many", tags=tags, directions=(FAR, NEAR))
    assert dragoman("evaluate", many, *SET).code == 0  # the set's de is the model's de-AT
    other = save_tiny_model(tmp_path / "other", tags=("<2ko>",), directions=(FAR,))
    refused = one_error(dragoman("evaluate", other, *SET), 2)
    assert "the model does not translate into de; languages there: ko" in refused


def test_the_tokenizer_is_that_of_the_language(
    web: Web,
    register: Register,  # noqa: F811
    hypotheses: Path,
    dragoman: CommandLine,
) -> None:
    register(web, pair="en-zh")
    named = ("--test-set", "small", "--language-pair", "en-zh")
    assert "tok:zh" in dragoman("evaluate", hypotheses, *named).out
    assert "tok:13a" in dragoman("evaluate", hypotheses, *named, "--tokenize", "13a").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("x.de", "--test-set", "wmt2"), 2, "--test-set and --language-pair name a set together"),
        (("x.de", "y.de", *SET), 2, "y.de: --test-set has references of its own"),
        (("x.de",), 2, "Missing argument 'REFERENCE...'"),
        (("x.de", "--test-set", "wmt2", "--language-pair", "en-de"), 2, "did you mean 'wmt2"),
        (("x.de", "--test-set", "wmt22", "--language-pair", "en-d"), 2, "did you mean 'en-de'"),
        (("x.de", *SET), 9, "small/en-de: cannot be downloaded (Not Found); check"),
        (("x.de", *SET, "--evalb"), 2, "--test-set: --evalb prints"),
    ],
)
def test_what_cannot_be_scored(
    web: Web,
    register: Register,  # noqa: F811
    dragoman: CommandLine,
    words: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    register(web)
    web.files.clear()
    assert said in one_error(dragoman("evaluate", *words), code)
