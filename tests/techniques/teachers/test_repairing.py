"""Lines that a model is not sure of, judged and repaired by a server that misbehaves on demand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_server import deepl_server
from chat_server import ChatServer, Items, chat_server, lines_of
from command_line import Outcome, call, one_error
from hypothesis import given
from hypothesis import strategies as st
from planted_calibration import plant_calibration
from tiny_model import save_tiny_model

import dragoman
from dragoman.core.errors import ConfigError
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.teachers.repairing import Doubt, direction_of
from dragoman.text.examples import Direction

EN_DE = Direction(source_language="en", target_language="de")
TEXTS = ["a b c", "d", "", "e d c b", "b a", "c c c", "a e", "d d", "b", "b b", "c a"]
Drafts = list[tuple[str, float]]
GIVEN = [place for place, text in enumerate(TEXTS) if text]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("student") / "model"
    return plant_calibration(save_tiny_model(path, directions=(EN_DE,)))


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads four pieces, so that the fourth line has no translation."""
    path = tmp_path_factory.mktemp("short") / "model"
    return plant_calibration(save_tiny_model(path, directions=(EN_DE,), max_source_pieces=4))


@pytest.fixture(scope="module")
def drafts(model: Path) -> Drafts:
    """Each line as the model translates it, with its confidence."""
    with dragoman.load(model, confidence=True) as translator:
        found = translator.translate_nbest(TEXTS)
    return [(best.text, best.confidence or 0.0) for best, *_ in found]


def least_confident(drafts: Drafts, lines: int) -> list[int]:
    return sorted(sorted(GIVEN, key=lambda place: drafts[place][1])[:lines])


def act(**by_text: str | None) -> Callable[[ChatServer, Items], Items]:
    """Answers with the given text for a line, named without spaces; others keep their drafts."""

    def answer(_: ChatServer, lines: Items) -> Items:
        wanted = {one["id"]: by_text.get(one["text"].replace(" ", "")) for one in lines}
        return [{"id": one["id"], "text": wanted[one["id"]] or one["draft"]} for one in lines]

    return answer


class Work:
    """A folder in which lines are repaired."""

    def __init__(self, folder: Path, model: Path, texts: list[str] = TEXTS) -> None:
        self.folder, self._model = folder, model
        (folder / "in.txt").write_text("".join(f"{text}\n" for text in texts))

    def repair(self, address: str, *options: object) -> Outcome:
        """Repair, whatever the confidence below which lines are doubtful."""
        return call(
            *("translate", self._model, "--input", self.folder / "in.txt"),
            *("--output", self.folder / "out.txt", "--repair", address, "--repair-below", 1),
            *("--repair-set", "check_language=false", "--repair-set", "concurrency=1", *options),
        )

    @property
    def output(self) -> list[str]:
        return (self.folder / "out.txt").read_text().splitlines()

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out.txt.repair/report.json").read_text())
        return found

    @property
    def rows(self) -> dict[int, dict[str, Any]]:
        packed = (self.folder / "out.txt.repair/pairs.jsonl.gz").read_bytes()
        found = [json.loads(row) for row in gzip.decompress(packed).splitlines()]
        return {row["line"] - 1: row for row in found}


class TestALanguageModel:
    def test_judges_and_repairs_the_least_confident_lines(
        self, tmp_path: Path, model: Path, drafts: Drafts
    ) -> None:
        right, wrong, refused = asked = least_confident(drafts, 3)
        repairs = {
            TEXTS[wrong].replace(" ", ""): "besser",
            TEXTS[refused].replace(" ", ""): "I'm sorry, but I can't translate this.",
        }
        work = Work(tmp_path, model)
        with chat_server(*[act(**repairs)] * 3) as server:
            outcome = work.repair(server.address, "--repair-share", 0.3)
        assert outcome.code == 0, outcome.err
        first, *again = server.bodies
        assert lines_of(first) == [
            {"id": number, "text": TEXTS[place], "draft": drafts[place][0]}
            for number, place in enumerate(asked, 1)
        ]
        assert "draft of its translation" in first["messages"][0]["content"]
        assert [lines_of(body)[0]["text"] for body in again] == [TEXTS[refused]] * 2
        expected = [text for text, _ in drafts]
        expected[wrong] = "besser"
        assert work.output == expected
        found = work.report
        assert {name: count for name, count in found["lines"].items() if count} == {
            "all": len(GIVEN), "asked": 3, "changed": 1, "unchanged": 1, "refused": 1,
        }  # fmt: skip
        assert found["spent"]["requests"] == 3
        assert "asked for 3 of 10 lines, 1 changed, 1 unchanged, 1 answers did" in outcome.err
        self.check_origins(work.rows, drafts, right, wrong, refused)

    def check_origins(
        self,
        rows: dict[int, dict[str, Any]],
        drafts: Drafts,
        right: int,
        wrong: int,
        refused: int,
    ) -> None:
        assert list(rows) == GIVEN
        assert {place: row["target"] for place, row in rows.items() if place != wrong} == {
            place: drafts[place][0] for place in GIVEN if place != wrong
        }
        changed = rows[wrong]
        assert (changed["model"], changed["method"]) == ("llm-1", "openai API, repair")
        assert (changed["draft"], changed["repair"]) == (drafts[wrong][0], "changed")
        assert changed["confidence"] == pytest.approx(drafts[wrong][1])
        assert (rows[right]["repair"], rows[refused]["repair"]) == ("unchanged", "refused")
        others = [row for place, row in rows.items() if place not in {right, wrong, refused}]
        assert all(row["method"] == "beam 4" and "repair" not in row for row in others)

    def test_repairs_with_its_own_instructions(self, tmp_path: Path, model: Path) -> None:
        prompt = tmp_path / "prompt.txt"
        prompt.write_text("Repair {source_language}-{target_language}!")
        with chat_server(act()) as server:
            Work(tmp_path, model).repair(server.address, "--repair-set", f"prompt={prompt}")
        assert server.bodies[0]["messages"][0]["content"] == "Repair English-German!"

    def test_of_several_repairs_a_scorer_here_chooses(self, tmp_path: Path, model: Path) -> None:
        def several(_: ChatServer, lines: Items) -> Any:
            return tuple([{"id": 1, "text": text}] for text in ("d d d d d", "b a", "c"))

        work = Work(tmp_path, model, ["a b c"])
        settings = "candidates=3", "temperature=1", f"scorer={model}", "max_length_ratio=9"
        given = [word for one in settings for word in ("--repair-set", one)]
        with chat_server(several) as server:
            work.repair(server.address, "--repair-share", 1, *given)
        with dragoman.load(model) as translator:
            scored = {
                text: found.log_probability / found.tokens
                for text in ("d d d d d", "b a", "c")
                for found in translator.score(["a b c"], [text])
            }
        assert work.output == [max(scored, key=scored.__getitem__)]


class TestALineWithoutADraft:
    """The fourth line is too long for the model."""

    def test_comes_first_and_is_translated(self, tmp_path: Path, short: Path) -> None:
        work = Work(tmp_path, short)
        with chat_server(act(edcb="neu")) as server:
            outcome = work.repair(server.address, "--repair-share", 0.1)
        assert outcome.code == 0, outcome.err
        assert lines_of(server.bodies[0]) == [{"id": 1, "text": "e d c b"}]
        assert work.output[3] == "neu"
        assert work.rows[3]["draft"] == ""

    def test_that_nobody_translates_is_left_empty(self, tmp_path: Path, short: Path) -> None:
        work = Work(tmp_path, short)
        with chat_server(*[lambda *_: "no"] * 3) as server:
            outcome = work.repair(server.address, "--repair-share", 0.1)
        assert outcome.code == 3
        assert "the first is line 4: neither" in outcome.err
        assert (len(work.output), work.output[3]) == (len(TEXTS), "")
        assert work.report["lines"]["untranslated"] == 1


class TestOnce:
    def test_a_larger_share_asks_only_for_further_lines(
        self, tmp_path: Path, model: Path, drafts: Drafts
    ) -> None:
        work = Work(tmp_path, model)
        with chat_server(*[act()] * 9) as server:
            for share in (0.2, 0.2, 0.5):
                assert work.repair(server.address, "--repair-share", share).code == 0
        few, more = least_confident(drafts, 2), least_confident(drafts, 5)
        further = [TEXTS[place] for place in more if place not in few]
        assert server.texts == [*(TEXTS[place] for place in few), *further]
        assert work.report["lines"]["asked"] == 5

    def test_a_bound_keeps_answers_and_writes_no_output(self, tmp_path: Path, model: Path) -> None:
        work = Work(tmp_path, model)
        small = "--repair-share", 0.4, "--repair-set", "lines_per_request=2"
        with chat_server(*[act()] * 9) as server:
            outcome = work.repair(server.address, *small, "--repair-set", "max_requests=1")
            assert (outcome.code, len(server.bodies)) == (12, 1)
            assert not (tmp_path / "out.txt").exists()
            assert work.repair(server.address, *small).code == 0
        assert len(server.texts) == len(set(server.texts)) == 4

    def test_another_teacher_is_refused(self, tmp_path: Path, model: Path) -> None:
        work = Work(tmp_path, model)
        with chat_server(*[act()] * 9) as server:
            work.repair(server.address)
            outcome = work.repair(server.address, "--repair-set", "temperature=0.5")
        assert "made with other settings (teacher" in one_error(outcome, 2)


def test_a_translation_service_translates_anew(tmp_path: Path, model: Path, drafts: Drafts) -> None:
    work = Work(tmp_path, model)
    with deepl_server(tmp_path) as server:
        settings = "--repair-set", "api=deepl", "--repair-set", "max_length_ratio=9"
        assert work.repair(server.address, "--repair-share", 0.2, *settings).code == 0
        asked = [request.text for call in server.service.calls for request in call]
    expected = [text for text, _ in drafts]
    for place in least_confident(drafts, 2):
        expected[place] = f"{TEXTS[place].upper()}de"
    assert work.output == expected
    assert asked == [TEXTS[place] for place in least_confident(drafts, 2)]


class TestDoubt:
    @given(
        st.lists(st.none() | st.floats(0, 1), max_size=30),
        st.floats(0.001, 1),
        st.floats(0, 1),
    )
    def test_the_share_is_never_exceeded(
        self, confidences: list[float | None], share: float, below: float
    ) -> None:
        places = Doubt(share, below).places(dict(enumerate(confidences)))
        assert len(places) <= share * len(confidences) + 1e-5
        known = [-1.0 if one is None else one for one in confidences]
        assert all(known[place] < below for place in places)
        left = [one for place, one in enumerate(known) if place not in places]
        if places and left:
            assert max(known[place] for place in places) <= min(left)
        if len(places) + 1 <= share * len(confidences):
            assert not any(one < below for one in left)

    def test_shares_are_decimal_numbers(self) -> None:
        assert len(Doubt(0.29, 1).places(dict.fromkeys(range(100), 0.5))) == 29


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--json"], "--repair writes lines alone; leave out --json"),
            (["--nbest", 2], "leave out --nbest"),
            (["--repair", "models/teacher"], "neither an address nor a YAML file"),
            (["--mbr", 4], "samples (of mbr, too) have none"),
        ],
    )
    def test_other_options(
        self, tmp_path: Path, model: Path, options: list[object], message: str
    ) -> None:
        outcome = Work(tmp_path, model).repair("http://127.0.0.1:1/v1", *options)
        assert outcome.code == 2
        assert message in outcome.err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--repair", "http://127.0.0.1:1"], "reads --input FILE and writes --output FILE"),
            (["--repair-share", 0.2], "--repair-share needs --repair"),
        ],
    )
    def test_missing_options(self, model: Path, words: list[object], message: str) -> None:
        outcome = call("translate", model, *words, stdin=b"a\n")
        assert outcome.code == 2
        assert message in outcome.err

    def test_a_model_that_is_not_calibrated(self, tmp_path: Path) -> None:
        path = save_tiny_model(tmp_path / "model", directions=(EN_DE,))
        outcome = Work(tmp_path, path).repair("http://127.0.0.1:1/v1")
        assert "dragoman calibrate" in one_error(outcome, 2)

    def test_languages_without_names(self, tmp_path: Path) -> None:
        path = plant_calibration(save_tiny_model(tmp_path / "model"))
        outcome = Work(tmp_path, path).repair("http://127.0.0.1:1/v1")
        assert "name them with --from and --to" in one_error(outcome, 2)
        named = TranslationSystem(models=(path,), source_language="en", target_language="de")
        assert direction_of(named) == EN_DE

    def test_adapters_by_domain(self, model: Path) -> None:
        system = TranslationSystem(models=(model,), adapters={"ui": model})
        with pytest.raises(ConfigError, match="leave out the routes and adapters by domain"):
            direction_of(system)
