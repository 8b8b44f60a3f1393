"""dragoman embed: from vectors to words, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import call, one_error
from planted_rotation import named, planted
from tiny_model import save_tiny_model

from dragoman.techniques.embedding.vectors_origin import (
    VectorsOrigin,
    read_origin,
    write_with_origin,
)
from dragoman.text.vocabularies import Vocabularies
from dragoman.text.word_vectors import WordVectors, read_vectors, write_vectors


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Vectors of two languages, s0, s1 ... and t0, t1 ..., and dictionaries of both."""
    truth = planted(rows=90, dimension=8)
    write_vectors(tmp_path / "s.vec", named(truth.x, "s"))
    write_vectors(tmp_path / "t.vec.gz", named(truth.z, "t"))
    lines = [f"s{row}\tt{other}\n" for row, other in enumerate(truth.translation)]
    (tmp_path / "seed.tsv").write_text("".join(lines[:20]), encoding="utf-8")
    (tmp_path / "all.tsv").write_text("".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_seed_dictionary_to_words(folder: Path) -> None:
    arguments = "embed map s.vec t.vec.gz --output mapped --seed-dictionary seed.tsv --patience 3"
    outcome = call(*arguments.split(), "--json")
    assert outcome.code == 0, outcome.err
    said = json.loads(outcome.out)
    assert said["output"] == ["mapped/s.vec", "mapped/t.vec.gz"]
    assert said["seed_pairs"] == 20
    assert said["iterations"] > 3
    origin = read_origin(folder / "mapped" / "t.vec.gz")
    assert [one.name for one in origin.inputs] == ["s.vec", "t.vec.gz"]
    assert origin.settings["map"]["learning"]["patience"] == 3
    mapped = ["mapped/s.vec", "mapped/t.vec.gz"]
    score = ["embed", "score", *mapped, "--dictionary", "all.tsv"]
    outcome = call(*score)
    first, _, last = outcome.out.splitlines()
    assert first.split() == ["CSLS", "P@1", "100.0", "P@5", "100.0"]
    assert last.startswith("90 words asked; of 90 words of the dictionary with a vector 90")
    outcome = call(*score, "--asked", 9, "--json")
    assert json.loads(outcome.out)["asked"] == 9
    expected = dict(line.split() for line in Path("all.tsv").read_text().splitlines())
    translate = ["embed", "translate", *mapped]
    outcome = call(*translate, stdin=b"s1, s2 x7!\n\n")
    assert outcome.out == f"{expected['s1']}, {expected['s2']} x7!\n\n"
    Path("in.txt").write_text("s3\n", encoding="utf-8")
    call(*translate, "--input", "in.txt", "--output", "out.txt")
    assert Path("out.txt").read_text(encoding="utf-8") == f"{expected['s3']}\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [
        "translate s.vec t.vec.gz --input in.txt --output in.txt",
        "translate s.vec t.vec.gz --input in.txt --output t.vec.gz",
        "translate s.vec t.vec.gz --input in.txt --output s.vec",
        "train other.txt in.txt --output in.txt",
        "train other.txt --held-out in.txt --output in.txt",
    ],
)
def test_what_is_read_is_never_overwritten(arguments: str) -> None:
    Path("in.txt").write_text("s3\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    words = arguments.split()
    line = one_error(call("embed", *words), 2)
    assert f"--output {words[-1]}: this is an input" in line
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("train text.json --output text", 2, "text.json: this is an input"),
        ("train other --held-out text.json --output text", 2, "text.json: this is an input"),
        ("train other --output notes", 2, "notes.json, which says how vectors are made, is"),
        ("train other --output m", 2, "--output m: this is a directory"),
        ("train other --output text.json/x.vec", 6, "a file is where a directory should be"),
        ("map s.vec t.vec.gz --output m --seed-dictionary m/s.vec", 2, "would replace m/s.vec"),
        ("map s.vec t.vec.gz --output m --seed-dictionary m/s.vec.json", 2, "m/s.vec.json; choose"),
        ("map s.vec s.vec.json --output new", 2, "rename one of them"),
        ("map s.vec t.vec.gz --output n --seed-dictionary seed.tsv", 2, "n/t.vec.gz.json, which"),
        ("map s.vec t.vec.gz --output text.json --seed-dictionary seed.tsv", 6, "a file is where"),
    ],
)
def test_what_stands_beside_vectors_is_never_overwritten(
    arguments: str, code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NAME.json beside them may be another file, and that is known before hours of learning."""
    for module, name in (("learning", "learn"), ("mapping", "self_learn")):
        never = f"dragoman.techniques.embedding.{module}.{name}"
        monkeypatch.setattr(never, lambda *_: pytest.fail("it learned"))
    for name in ("text.json", "other", "notes.json"):
        Path(name).write_text("s3\n", encoding="utf-8")
    for name in ("m/s.vec", "m/s.vec.json", "n/t.vec.gz.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("s3\ts4\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert message in one_error(call("embed", *arguments.split()), code)
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("folder")
def test_a_dictionary_used_as_it_is(folder: Path) -> None:
    said = "embed map s.vec t.vec.gz --output m --seed-dictionary all.tsv --no-self-learning"
    outcome = call(*said.split(), "--words", "50", "--json")
    found = json.loads(outcome.out)
    assert (found["iterations"], found["learning"], found["similarity"]) == (0, None, None)
    assert len(read_vectors(folder / "m" / "s.vec")) == 50


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("map s.vec t.vec.gz --output .", 2, "--output . would replace s.vec"),
        ("map s.vec s.vec --output m", 2, "have the same name, which they keep in m"),
        ("map s.vec t.vec.gz --output m", 3, "the two files have no word in common"),
        ("map s.vec wide.vec --output m", 3, "dimension 8, the target of 2; train both with"),
        ("map s.vec pieces.vec --output m", 3, "vectors of words, pieces.vec of pieces; train"),
        ("map s.vec t.vec.gz --output m --seed-dictionary seed.tsv --seed nothing", 2, "name one"),
        ("map s.vec t.vec.gz --output m --kept 0", 2, "--kept"),
        ("map same.vec t.vec.gz --output m --seed nothing", 3, "same.vec: all its vectors point"),
        (
            "map s.vec t.vec.gz --output m --no-self-learning --patience 50",
            2,
            "--patience is of self-learning; leave out one of the two",
        ),
        ("map s.vec t.vec.gz --output m --no-self-learning --neighbours 9", 2, "--neighbours is"),
        ("score s.vec t.vec.gz --dictionary foreign.tsv", 3, "foreign.tsv: 0 of its words have"),
        ("translate pieces.vec t.vec.gz", 3, "pieces.vec: vectors of pieces, which are no words"),
        ("translate s.vec pieces.vec", 3, "pieces.vec: vectors of pieces, which are no words"),
        ("score s.vec pieces.vec --dictionary all.tsv", 3, "pieces.vec of pieces; train both"),
        ("train text --output x.vec --side source", 2, "--side chooses a vocabulary"),
        ("train text --output x.vec --vocabulary m --lowercase", 2, "decides how text is split"),
        ("train text --output x.vec --vocabulary nowhere", 4, "nowhere: no such model or run"),
    ],
)
def test_what_is_refused(folder: Path, arguments: str, code: int, message: str) -> None:
    two = WordVectors(("a",), np.ones((1, 2), dtype=np.float32))
    write_vectors(folder / "wide.vec", two)
    write_with_origin(folder / "pieces.vec", two, VectorsOrigin(tokens="pieces"))
    lengths = np.arange(1, 10, dtype=np.float32)[:, None]
    same = WordVectors(tuple("abcdefghi"), lengths * np.linspace(0.1, 0.8, 8, dtype=np.float32))
    write_vectors(folder / "same.vec", same)
    (folder / "foreign.tsv").write_text("x\ty\n", encoding="utf-8")
    assert message in one_error(call("embed", *arguments.split()), code)
    assert not (folder / "m").exists()


def test_pieces_of_a_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gensim", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    save_tiny_model(tmp_path / "model")
    Path("text").write_text("a b a b c\n" * 30, encoding="utf-8")
    arguments = "embed train text --output p.vec --vocabulary model --dimension 4 --json"
    outcome = call(*arguments.split(), "--kind", "word2vec")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["vectors_of"] == "pieces"
    vectors = read_vectors("p.vec")
    assert found["vectors"] == len(vectors)
    source = Vocabularies.load("model").source
    pieces = source.pieces(source.encode("a b a b c"))
    assert "".join(pieces) == "▁a▁b▁a▁b▁c"
    assert {*vectors.words} == {*pieces}
    assert read_origin(Path("p.vec")).vocabulary is not None
