"""A language model behind the OpenAI API as a teacher, however it misbehaves."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import openai
import pytest
from chat_server import ChatServer, Items, chat_server, lines_of, translated, well
from starlette.responses import JSONResponse, Response

from dragoman.client import connection
from dragoman.core.errors import ConfigError, DataError, SavedError, ServiceError
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher
from dragoman.techniques.teachers.taught_corpus import teach_corpus
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text.examples import Direction
from dragoman.translation.synthesis import SHARD_LINES, GivenLine, SyntheticCorpus

EN_DE = Direction(source_language="en", target_language="de")
TEXTS = [f"line number {number}" for number in range(10)]


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE", 0.01)


def config(server: ChatServer, **settings: Any) -> TeacherConfig:
    usual = {"lines_per_request": 4, "concurrency": 1, "check_language": False}
    return TeacherConfig(url=server.address, **(usual | settings))


def taught(
    server: ChatServer,
    output: Path,
    texts: Sequence[str] = TEXTS,
    shard_lines: int = SHARD_LINES,
    **settings: Any,
) -> SyntheticCorpus:
    teacher = RemoteTeacher(config(server, **settings), EN_DE)
    lines = [GivenLine(text, number) for number, text in enumerate(texts, 1)]
    return teach_corpus(teacher, lines, output, known="source", shard_lines=shard_lines)


def rows(corpus: SyntheticCorpus) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(corpus.path.read_bytes()).splitlines()]


def pairs(corpus: SyntheticCorpus) -> dict[str, str]:
    return {row["source"]: row["target"] for row in rows(corpus)}


def report(corpus: SyntheticCorpus) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((corpus.path.parent / "report.json").read_text())
    return found


ALL_RIGHT = {text: translated(text) for text in TEXTS}


class TestAnswers:
    def test_every_line_has_its_translation_and_origin(self, tmp_path: Path) -> None:
        with chat_server() as server:
            corpus = taught(server, tmp_path / "made")
        assert pairs(corpus) == ALL_RIGHT
        assert [len(lines_of(body)) for body in server.bodies] == [4, 4, 2]
        first = rows(corpus)[0]
        assert (first["line"], first["model"], first["method"]) == (1, "llm-1", "openai API")
        assert len(first["date"]) == len("2026-01-01")
        assert corpus.origin["teacher"]["prompt"]
        assert report(corpus)["spent"] == {
            "requests": 3, "input_tokens": 300, "output_tokens": 30,
            "characters": sum(map(len, TEXTS)), "estimated": 0, "cost": 0.0,
        }  # fmt: skip

    def test_in_another_order(self, tmp_path: Path) -> None:
        def shuffled(server: ChatServer, lines: Items) -> Items:
            return well(server, lines)[::-1]

        with chat_server(shuffled, shuffled, shuffled) as server:
            assert pairs(taught(server, tmp_path / "made")) == ALL_RIGHT
            assert len(server.bodies) == 3

    def test_with_lines_missing_these_are_asked_for_again(self, tmp_path: Path) -> None:
        def too_few(server: ChatServer, lines: Items) -> Items:
            return well(server, lines)[1:]

        with chat_server(too_few) as server:
            assert pairs(taught(server, tmp_path / "made")) == ALL_RIGHT
            assert lines_of(server.bodies[1]) == [{"id": 1, "text": TEXTS[0]}]

    @pytest.mark.parametrize("number", [2, 5, 0, "1", 1.5, None])
    def test_with_a_wrong_number_nothing_is_taken(self, tmp_path: Path, number: Any) -> None:
        def exchanged(server: ChatServer, lines: Items) -> Items:
            return [{**well(server, lines)[0], "id": number}, *well(server, lines)[1:]]

        with chat_server(exchanged) as server:
            assert pairs(taught(server, tmp_path / "made", TEXTS[:4])) == {
                text: translated(text) for text in TEXTS[:4]
            }
            assert server.texts == [*TEXTS[:4], *TEXTS[:2], *TEXTS[2:4]]

    @pytest.mark.parametrize(
        "answer",
        [
            {"content": '{"translations": [{"id": 1, "te', "finish_reason": "length"},
            "I translated the lines.",
            '{"translations": {"1": "a"}}',
            '{"translations": [{"id": 1}]}',
            '{"translations": [{"id": 1, "text": null}]}',
            "[]",
            {"content": None},
            {"refusal": "I cannot help with that."},
        ],
    )
    def test_of_another_form_are_asked_for_in_halves(self, tmp_path: Path, answer: Any) -> None:
        with chat_server(lambda *_: answer) as server:
            assert pairs(taught(server, tmp_path / "made")) == ALL_RIGHT
            assert [len(lines_of(body)) for body in server.bodies] == [4, 2, 2, 4, 2]
            assert server.bodies[1]["temperature"] > server.bodies[0]["temperature"]

    def test_in_a_fence_are_read(self, tmp_path: Path) -> None:
        def fenced(server: ChatServer, lines: Items) -> str:
            return f"```json\n{json.dumps({'translations': well(server, lines)})}\n```"

        with chat_server(fenced, fenced, fenced) as server:
            assert pairs(taught(server, tmp_path / "made", structured="none")) == ALL_RIGHT
            assert len(server.bodies) == 3
            assert "response_format" not in server.bodies[0]

    @pytest.mark.parametrize(
        ("source", "bad", "problem"),
        [
            ("Press {name} now", "Drücken Sie jetzt", "placeholders"),
            ("Hello", "Hallo! " * 20, "length"),
            ("Good morning.", "I'm sorry, but I can't translate this.", "refused"),
            ("Good morning.", "Here is the translation: Guten Morgen.", "explanation"),
            ("Good morning.", "Guten Morgen.\n\nNote: formal.", "explanation"),
            ("Good morning.", " ", "missing"),
        ],
    )
    def test_that_do_not_pass_are_left_out_and_reported(
        self, tmp_path: Path, source: str, bad: str, problem: str
    ) -> None:
        def badly(server: ChatServer, lines: Items) -> Items:
            return [
                {"id": one["id"], "text": bad if one["text"] == source else translated("x")}
                for one in lines
            ]

        with chat_server(*[badly] * 3) as server:
            corpus = taught(server, tmp_path / "made", [source, "x"], attempts=3)
        assert (corpus.lines, corpus.refused) == (1, 1)
        assert server.texts == [source, "x", source, source]
        found = report(corpus)
        assert found["lines"][problem] == 1
        assert found["dropped"] == {problem: [{"line": 1, "text": source, "answer": bad}]}

    def test_in_another_language_are_left_out(self, tmp_path: Path) -> None:
        pytest.importorskip("py3langid")
        french = "Bonjour mes amis, comment allez-vous aujourd'hui dans cette belle ville ?"

        def badly(server: ChatServer, lines: Items) -> Items:
            german = "Guten Morgen, meine Freunde, wie geht es euch heute in dieser Stadt?"
            texts = {1: german, 2: french}
            return [{"id": one["id"], "text": texts[one["id"]]} for one in lines]

        source = "Good morning, my friends, how are you today in this beautiful town?"
        with chat_server(badly) as server:
            corpus = taught(
                server, tmp_path / "made", [source, source], attempts=1, check_language=True
            )
        assert report(corpus)["lines"]["language"] == 1

    def test_a_refusal_in_the_source_is_no_refusal(self, tmp_path: Path) -> None:
        with chat_server() as server:
            assert taught(server, tmp_path / "made", ["I'm sorry.", "Note: warm"]).lines == 2

    def test_empty_lines_cost_nothing(self, tmp_path: Path) -> None:
        with chat_server() as server:
            corpus = taught(server, tmp_path / "made", ["a", "", "  ", "b"])
        assert (corpus.lines, corpus.empty, server.texts) == (2, 2, ["a", "b"])

    def test_when_all_are_bad_is_an_error(self, tmp_path: Path) -> None:
        with (
            chat_server(*[lambda *_: "no"] * 9) as server,
            pytest.raises(DataError, match="none of the 2 lines has a translation"),
        ):
            taught(server, tmp_path / "made", ["a", "b"], attempts=2)


class TestTrouble:
    def test_a_busy_server_is_asked_again_as_late_as_it_says(self, tmp_path: Path) -> None:
        def busy(*_: object) -> Response:
            return JSONResponse({"error": {"message": "slow down"}}, 429, {"Retry-After": "1"})

        with chat_server(busy) as server:
            begun = time.monotonic()
            assert pairs(taught(server, tmp_path / "made")) == ALL_RIGHT
            assert time.monotonic() - begun >= 1

    def test_an_answer_that_hangs_is_given_up_and_asked_for_in_halves(self, tmp_path: Path) -> None:
        async def hangs() -> str:
            await asyncio.sleep(2)
            return ""

        with chat_server(lambda *_: hangs()) as server:
            assert pairs(taught(server, tmp_path / "made", TEXTS[:4], timeout=0.3)) == {
                text: translated(text) for text in TEXTS[:4]
            }
            assert [len(lines_of(body)) for body in server.bodies] == [4, 2, 2]

    def test_a_single_line_that_hangs_once_is_not_dropped(self, tmp_path: Path) -> None:
        async def hangs() -> str:
            await asyncio.sleep(2)
            return ""

        with chat_server(lambda *_: hangs()) as server:
            corpus = taught(server, tmp_path / "made", TEXTS[:1], timeout=0.3)
            assert pairs(corpus) == {TEXTS[0]: translated(TEXTS[0])}
            assert server.texts == [TEXTS[0]] * 2

    def test_a_refused_request_ends_the_work_and_keeps_what_came(self, tmp_path: Path) -> None:
        def forbidden(*_: object) -> Response:
            return JSONResponse({"error": {"message": "invalid key"}}, 401)

        with chat_server(well, forbidden) as server:
            with pytest.raises(ServiceError, match="401"):
                taught(server, tmp_path / "made")
            assert pairs(taught(server, tmp_path / "made")) == ALL_RIGHT
            assert server.texts[8:] == TEXTS[4:]

    def test_requests_under_way_bring_their_answers_after_an_error(self, tmp_path: Path) -> None:
        def forbidden(*_: object) -> Response:
            return JSONResponse({}, 403)

        async def later(server: ChatServer, lines: Items) -> Items:
            await asyncio.sleep(0.2)
            return well(server, lines)

        with chat_server(later, forbidden) as server:
            with pytest.raises(ServiceError):
                taught(server, tmp_path / "made", concurrency=2)
            asked = len(server.texts)
            assert pairs(taught(server, tmp_path / "made")) == ALL_RIGHT
            assert sorted([*server.texts[:4], *server.texts[asked:]])[:10] == sorted(
                {*server.texts[:4], *server.texts[asked:]}
            )

    def test_a_stranger_is_recognised(self, tmp_path: Path) -> None:
        with (
            chat_server(lambda *_: JSONResponse({"hello": 1})) as server,
            pytest.raises(ServiceError, match="not those of the API openai"),
        ):
            taught(server, tmp_path / "made")

    def test_a_model_must_be_chosen_among_several(self, tmp_path: Path) -> None:
        with chat_server(models=("a", "b")) as server:
            with pytest.raises(ConfigError, match="offers a, b; choose one"):
                taught(server, tmp_path / "made")
            taught(server, tmp_path / "other", model="b")
            assert server.bodies[0]["model"] == "b"

    def test_no_more_requests_at_once_than_allowed(self, tmp_path: Path) -> None:
        with chat_server(seconds=0.05) as server:
            taught(server, tmp_path / "made", lines_per_request=1, concurrency=3)
            assert server.most_at_once == 3


class TestOnce:
    def test_an_interrupted_corpus_asks_for_no_line_again(self, tmp_path: Path) -> None:
        with chat_server() as server:
            uninterrupted = taught(server, tmp_path / "whole")

        output = tmp_path / "made"
        with chat_server() as server:
            teacher = RemoteTeacher(config(server), EN_DE)
            lines = [GivenLine(text, number) for number, text in enumerate(TEXTS, 1)]
            for last in (4, 8):
                with pytest.raises(ServiceError):
                    bounded = config(server, max_requests=last // 4)
                    teach_corpus(RemoteTeacher(bounded, EN_DE), lines, output, known="source")
            begun: list[tuple[int, int]] = []

            def progress(start: int, total: int) -> AbstractContextManager[Callable[[int], object]]:
                begun.append((start, total))
                return nullcontext(lambda done: None)

            corpus = teach_corpus(teacher, lines, output, known="source", progress=progress)
            assert server.texts == TEXTS
            assert begun == [(8, 10)]
        assert rows(corpus) == rows(uninterrupted)

    def test_a_record_that_was_cut_off_is_asked_for_again(self, tmp_path: Path) -> None:
        output = tmp_path / "made"
        with chat_server() as server:
            with pytest.raises(ServiceError, match="max_requests"):
                taught(server, output, max_requests=2)
            journal = output / "answers.jsonl"
            journal.write_bytes(journal.read_bytes()[:-20])
            assert pairs(taught(server, output)) == ALL_RIGHT
            assert server.texts == [*TEXTS[:8], *TEXTS[4:]]

    def test_a_damaged_record_is_named(self, tmp_path: Path) -> None:
        output = tmp_path / "made"
        with chat_server() as server:
            with pytest.raises(ServiceError):
                taught(server, output, max_requests=2)
            journal = output / "answers.jsonl"
            journal.write_bytes(b"x" + journal.read_bytes())
            with pytest.raises(SavedError, match=r"answers\.jsonl:1: damaged"):
                taught(server, output)

    def test_a_finished_corpus_asks_for_nothing(self, tmp_path: Path) -> None:
        with chat_server() as server:
            taught(server, tmp_path / "made")
            taught(server, tmp_path / "made", max_requests=1, concurrency=3, timeout=5)
            assert server.texts == TEXTS
            with pytest.raises(ConfigError, match="made with other settings"):
                taught(server, tmp_path / "made", temperature=0.5)


class TestBounds:
    @pytest.mark.parametrize(
        ("bounds", "requests"),
        [
            ({"max_requests": 1}, 1),
            ({"max_tokens": 700}, 1),
            ({"max_cost": 1.5, "price_input": 2000.0, "price_output": 2000.0}, 1),
        ],
    )
    def test_are_kept(self, tmp_path: Path, bounds: dict[str, Any], requests: int) -> None:
        name = next(iter(bounds))
        with chat_server(usage=(600, 100)) as server:
            with pytest.raises(ServiceError, match=f"the bound {name} .* is reached"):
                taught(server, tmp_path / "made", **bounds)
            assert len(server.bodies) == requests
            raised = {**bounds, name: bounds[name] * 100}
            assert pairs(taught(server, tmp_path / "made", **raised)) == ALL_RIGHT
            assert server.texts == TEXTS

    def test_know_what_earlier_shards_and_commands_cost(self, tmp_path: Path) -> None:
        """An answer costs 700, and by the length of its request about 450."""
        with chat_server(usage=(600, 100)) as server:
            for output, shard_lines in ((tmp_path / "shards", 4), (tmp_path / "again", 10)):
                for _ in range(2):
                    with pytest.raises(ServiceError, match="max_tokens 1,300 is reached"):
                        taught(server, output, shard_lines=shard_lines, max_tokens=1300)
            assert len(server.bodies) == 2

    def test_are_kept_if_the_server_says_nothing_of_tokens(self, tmp_path: Path) -> None:
        with chat_server(usage=(0, 0)) as server:
            with pytest.raises(ServiceError, match="max_tokens 1,300 is reached"):
                taught(server, tmp_path / "made", max_tokens=1300)
            assert len(server.bodies) == 2
            spent = report(taught(server, tmp_path / "made"))["spent"]
        assert (spent["requests"], spent["estimated"]) == (3, 3)
        assert 1000 < spent["input_tokens"] < 3000

    def test_count_a_request_that_was_given_up_but_none_that_was_put_off(
        self, tmp_path: Path
    ) -> None:
        async def hangs() -> str:
            await asyncio.sleep(2)
            return ""

        def busy(*_: object) -> Response:
            return JSONResponse({}, 429)

        settings: dict[str, Any] = {"lines_per_request": 2, "timeout": 0.3}
        with chat_server(busy, well, lambda *_: hangs()) as server:
            with pytest.raises(ServiceError, match="max_requests 2 is reached"):
                taught(server, tmp_path / "made", TEXTS[:4], max_requests=2, **settings)
            assert len(server.bodies) == 3
            spent = report(taught(server, tmp_path / "made", TEXTS[:4], **settings))["spent"]
        assert (spent["requests"], spent["estimated"]) == (3, 1)

    def test_are_stated_before_the_first_request(self, tmp_path: Path) -> None:
        told: list[str] = []
        with chat_server() as server:

            def tell(line: str) -> None:
                told.append(line)
                assert not server.bodies

            teacher = RemoteTeacher(config(server, max_requests=50, price_input=1.0), EN_DE)
            lines = [GivenLine(text, number) for number, text in enumerate(TEXTS, 1)]
            teach_corpus(teacher, lines, tmp_path / "made", known="source", tell=tell)
        assert "about 3 requests" in told[0]
        assert "tokens, cost" in told[0]
        assert told[0].endswith("bounds: requests 50")


class TestInstructions:
    def test_name_languages_terms_and_near_pairs(self, tmp_path: Path) -> None:
        (tmp_path / "terms.tsv").write_text("line\tZeile\nhouse\tHaus\n")
        (tmp_path / "memory.tsv").write_text(
            "line number 77\tZeile Nummer 77\nfar away\tweit weg\n"
        )
        with chat_server() as server:
            taught(
                server,
                tmp_path / "made",
                TEXTS[:1],
                glossary=tmp_path / "terms.tsv",
                memory=tmp_path / "memory.tsv",
            )
        system = server.bodies[0]["messages"][0]["content"]
        assert "from English to German" in system
        assert "line = Zeile" in system
        assert "Haus" not in system
        assert '["line number 77", "Zeile Nummer 77"]' in system
        assert "weit weg" not in system

    def test_of_a_file(self, tmp_path: Path) -> None:
        prompt = tmp_path / "prompt.txt"
        prompt.write_text("To {target_language}, from {source_language}: {x}")
        with chat_server() as server:
            taught(server, tmp_path / "made", prompt=prompt)
            assert server.bodies[0]["messages"][0]["content"] == "To German, from English: {x}"
            prompt.write_text("To {target_language}!")
            with pytest.raises(ConfigError, match=r"\{source_language\} must stand in it"):
                taught(server, tmp_path / "made", prompt=prompt)

    def test_a_key_is_sent_and_never_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", "sk-secret\n")
        with chat_server() as server:
            taught(server, tmp_path / "made", key_variable="MY_KEY")
        assert server.keys[0] == "Bearer sk-secret"
        written = (path for path in (tmp_path / "made").rglob("*") if path.is_file())
        assert not any(b"sk-secret" in path.read_bytes() for path in written)

    def test_are_sent_as_the_official_client_sends_them(self, tmp_path: Path) -> None:
        with chat_server() as server:
            taught(server, tmp_path / "made", TEXTS[:2], candidates=2, temperature=0.5)
            ours = server.bodies[0]
            with openai.OpenAI(base_url=server.address, api_key="-") as client:
                found = client.chat.completions.create(**ours)
                assert client.models.list().data[0].id == "llm-1"
            assert server.bodies[1] == ours
        assert json.loads(found.choices[0].message.content or "")["translations"][0]["id"] == 1


class TestCandidates:
    def test_the_one_that_agrees_with_the_others_is_chosen(self, tmp_path: Path) -> None:
        options = ("guten Tag allerseits", "guten Morgen allerseits", "guten Morgen an alle", "xyz")

        def several(server: ChatServer, lines: Items) -> Any:
            return tuple([{"id": 1, "text": one}] for one in options)

        with chat_server(several) as server:
            corpus = taught(
                server, tmp_path / "made", ["good morning all"], candidates=4, temperature=1
            )
            assert server.bodies[0]["n"] == 4
        assert rows(corpus)[0]["target"] == "guten Morgen allerseits"
        assert rows(corpus)[0]["method"] == "openai API, agreement by chrF of 4"
