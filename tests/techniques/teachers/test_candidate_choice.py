"""The choice among translations of a line, against formulas and models read by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_server import Items, chat_server
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, SavedError
from dragoman.data.batches import make_batch
from dragoman.evaluation.similarity import Closest
from dragoman.saved.model import load_model
from dragoman.techniques.teachers.candidate_choice import (
    ChoiceByAgreement,
    ChoiceByReference,
    ChoiceByScorer,
    Choosable,
    choice_of,
)
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher
from dragoman.techniques.teachers.taught_corpus import teach_corpus
from dragoman.techniques.teachers.teacher_config import TeacherConfig, read_teacher
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import BOS, EOS
from dragoman.translation.corpus_origin import model_digest
from dragoman.translation.synthesis import GivenLine, SyntheticCorpus

EN_DE = Direction(source_language="en", target_language="de")
LINES = [
    Choosable("a b c", ("c b a", "e e e e e e", "b", "d a")),
    Choosable("d", ("a",)),
    Choosable("e d c b", ("a a", "b b", "c c c", "d e a b c")),
]


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("scorer") / "model", directions=(EN_DE,))


def mean_log_probability(path: Path, source: str, target: str) -> float:
    """Of the pieces of a translation, one by one in float64."""
    saved = load_model(path, "cpu")
    model = saved.model.double()
    source_ids = saved.vocabularies.source.encode(source)
    target_ids = saved.vocabularies.target.encode(target)
    batch = make_batch([source_ids], [target_ids])
    memory = model.encode(batch.source, batch.source_mask)
    found = []
    for length, piece in enumerate([*target_ids, EOS]):
        read = torch.tensor([[BOS, *target_ids[:length]]])
        hidden, _ = model.decode(read, memory, model.start(memory))
        found.append(model.logits(hidden)[0, -1].log_softmax(-1)[piece].item())
    return sum(found) / len(found)


class TestByScorer:
    def test_the_likeliest_per_piece_is_chosen(self, scorer: Path) -> None:
        best = [
            max(line.candidates, key=lambda one: mean_log_probability(scorer, line.source, one))
            for line in LINES
        ]
        assert any(one != line.candidates[0] for line, one in zip(LINES, best, strict=True))
        with ChoiceByScorer(scorer, EN_DE) as choice:
            assert choice(LINES) == best
            assert choice([]) == []

    def test_what_it_cannot_read_comes_last(self, tmp_path: Path) -> None:
        path = save_tiny_model(tmp_path / "model", directions=(EN_DE,), max_source_pieces=3)
        with ChoiceByScorer(path, EN_DE) as choice:
            assert choice([Choosable("a b", ("a b c d e", "b a"))]) == ["b a"]
            assert choice([Choosable("a b c d e", ("b", "a"))]) == ["b"]

    def test_of_another_direction_is_refused(self, scorer: Path) -> None:
        french = Direction(source_language="en", target_language="fr")
        with (
            pytest.raises(ConfigError, match=r"scorer .*does not translate into fr"),
            ChoiceByScorer(scorer, french),
        ):
            pass


class TestByAgreement:
    def test_the_one_nearest_to_all_is_chosen_and_of_two_the_first(self) -> None:
        options = ("guten Tag allerseits", "guten Morgen allerseits", "guten Morgen an alle", "xyz")
        lines = [Choosable("x", options), Choosable("y", ("a", "b"))]
        assert ChoiceByAgreement()(lines) == ["guten Morgen allerseits", "a"]

    def test_a_reference_decides_where_there_is_one(self) -> None:
        options = ("guten Tag allerseits", "guten Morgen allerseits", "guten Morgen an alle", "xyz")
        choice = ChoiceByReference(Closest("chrf"))
        lines = [Choosable("x", options, "xyw"), Choosable("x", options)]
        assert choice(lines) == ["xyz", "guten Morgen allerseits"]


class TestOfATeacher:
    OPTIONS = ("d d d", "a b", "e c a", "b")

    def taught(self, address: str, output: Path, **settings: Any) -> SyntheticCorpus:
        config = TeacherConfig(
            url=address, check_language=False, candidates=4, temperature=1, **settings
        )
        lines = [GivenLine(text, number) for number, text in enumerate(("a b", "c"), 1)]
        return teach_corpus(RemoteTeacher(config, EN_DE), lines, output, known="source")

    def test_the_scorer_is_asked_and_named(self, tmp_path: Path, scorer: Path) -> None:
        def several(_: object, lines: Items) -> Any:
            return tuple([{**one, "text": option} for one in lines] for option in self.OPTIONS)

        with chat_server(several) as server:
            corpus = self.taught(server.address, tmp_path / "made", scorer=scorer)
            with pytest.raises(ConfigError, match="made with other settings"):
                self.taught(server.address, tmp_path / "made")
        best = {
            source: max(self.OPTIONS, key=lambda one: mean_log_probability(scorer, source, one))
            for source in ("a b", "c")
        }
        rows = [json.loads(row) for row in gzip.decompress(corpus.path.read_bytes()).splitlines()]
        assert {row["source"]: row["target"] for row in rows} == best
        assert rows[0]["method"] == "openai API, likeliest by the scorer of 4"
        assert corpus.origin["teacher"]["scorer"] == model_digest(scorer)

    def test_a_missing_scorer_costs_no_request(self, tmp_path: Path) -> None:
        with chat_server() as server:
            with pytest.raises(SavedError, match="absent: no such model"):
                self.taught(server.address, tmp_path / "made", scorer=tmp_path / "absent")
            assert not server.bodies

    def test_settings_that_do_not_fit(self, tmp_path: Path, scorer: Path) -> None:
        (tmp_path / "teacher.yaml").write_text("url: http://localhost:1/v1\nscorer: model\n")
        with pytest.raises(ConfigError, match=r"scorer.*with one candidate"):
            read_teacher(str(tmp_path / "teacher.yaml"))
        settings = "candidates=2", "temperature=1"
        config = read_teacher(str(tmp_path / "teacher.yaml"), settings)
        assert config.scorer == tmp_path / "model"
        with pytest.raises(ConfigError, match="closest to the reference is asked for, too"):
            choice_of(config, EN_DE, Closest("bleu"))
