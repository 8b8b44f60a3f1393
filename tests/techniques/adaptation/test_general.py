"""Where general text comes from, and what is never in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, DataError
from dragoman.experiment import Experiment
from dragoman.techniques.adaptation.domain_texts import written
from dragoman.techniques.adaptation.general import (
    MAY_DIFFER,
    MAY_LOSE,
    GeneralChoice,
    GeneralText,
    general_text,
)
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.corpora.corpus import evaluation_pairs, read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.formats import Pair
from dragoman.translation.translator import Translator


class Quiet:
    """A host that shows nothing."""

    def tell(self, line: str) -> None:
        pass

    @contextmanager
    def counting(
        self, what: str, unit: str, total: int | None = None, start: int = 0
    ) -> Iterator[Callable[[int], None]]:
        yield lambda count: None

    def train(self, experiment: Experiment) -> None:
        raise AssertionError("nothing is trained here")


def drawn(
    model: Path,
    choice: GeneralChoice,
    folder: Path,
    *learned: CorpusPart,
    direction: Direction | None = None,
) -> GeneralText:
    parent = ParentModel.open(model)
    return general_text(
        choice,
        parent,
        direction or parent.directions[0],
        size=500,
        folder=folder,
        learned=learned,
        seed=1,
        host=Quiet(),
    )


def sources_of(parts: list[CorpusPart]) -> list[str]:
    return [pair.source for part in parts for pair in read_pairs(part)]


def test_replay_is_what_the_model_itself_says(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    lines = [f"{a} {b} {c}" for a in "abcde" for b in "abcde" for c in "abcdeabcde"]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("en\tde\na b a\tx\n", encoding="utf-8")
    dev = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    choice = GeneralChoice(replay=tmp_path / "lines", dev=dev)
    found = drawn(model, choice, tmp_path / "text")
    assert (found.origin, list(found.dev_sets)) == ("replay", ["general"])
    assert found.may_lose == MAY_LOSE, "its references are not the model's own"
    assert "departs" not in found.described()
    pairs = [pair for part in found.parts for pair in read_pairs(part)]
    assert {pair.source for pair in pairs} <= set(lines) - {"a b a"}
    with Translator.load(model, device="cpu") as translator:
        assert [pair.target for pair in pairs] == translator.translate([p.source for p in pairs])


@pytest.mark.parametrize(
    ("languages", "tags", "asked"),
    [
        (("en", "de"), ("<ui>", "<2de>"), ("<2de>", "<ui>")),
        (("en", "de"), ("<2de>", "<new>"), ("<2de>",)),
        (("en", "fr"), (), ("<2fr>",)),
        (("en", "ko"), ("<2ko>",), ("<2de>",)),
    ],
)
def test_replay_is_in_a_direction_that_the_model_has(
    tmp_path: Path, languages: tuple[str, str], tags: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    source, target = languages
    own = (("de", ("<2de>",)), ("de", ("<2de>", "<ui>")), ("fr", ("<2fr>",)))
    directions = tuple(
        Direction(source_language="en", target_language=one, tags=its) for one, its in own
    )
    known = ("<2de>", "<2fr>", "<ui>")
    model = save_tiny_model(tmp_path / "model", tags=known, directions=directions, seed=3)
    lines = [f"{a} {b} {c}" for a in "abcde" for b in "abcde" for c in "abcde"]
    (tmp_path / "lines").write_text("\n".join(lines * 2) + "\n", encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("en\tde\na b a\tx\n", encoding="utf-8")
    dev = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    choice = GeneralChoice(replay=tmp_path / "lines", dev=dev)
    wanted = Direction(source_language=source, target_language=target, tags=tags)
    (part,) = drawn(model, choice, tmp_path / "text", direction=wanted).parts
    assert part.direction in directions and part.tags == asked
    pairs = list(evaluation_pairs(part))
    with Translator.load(model, device="cpu") as translator:
        assert [pair.target for pair in pairs] == translator.translate([p.source for p in pairs])


def test_translations_of_the_model_itself_may_change_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.techniques.adaptation.general.GENERAL_DEV_PAIRS", 1)
    model = save_tiny_model(tmp_path / "model")
    lines = "".join(f"{a} {b} {c}\n" for a in "abcde" for b in "abcde" for c in "abcdeabcde")
    (tmp_path / "lines").write_text(lines, encoding="utf-8")
    found = drawn(model, GeneralChoice(replay=tmp_path / "lines"), tmp_path / "text")
    assert (list(found.dev_sets), found.may_lose) == (["general"], MAY_DIFFER)
    assert "how far it departs from what it said before" in found.described()


def test_every_dev_set_of_the_run_keeps_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a model was adapted to captions after it had been to something else."""
    (tmp_path / "all.tsv").write_text(
        "en\tde\n" + "".join(f"a{n}\tb{n}\n" for n in range(50)), encoding="utf-8"
    )
    part = CorpusPart(path=str(tmp_path / "all.tsv"), source="en", target="de")
    sets = dict.fromkeys(("general_captions", "captions", "domain", "general"), part)
    monkeypatch.setattr(ParentModel, "general_parts", lambda self: [part])
    monkeypatch.setattr(ParentModel, "general_dev_sets", lambda self: sets)
    monkeypatch.setattr("dragoman.techniques.adaptation.general._FEWEST_DEV_PAIRS", 5)
    monkeypatch.setattr("dragoman.techniques.adaptation.general.GENERAL_DEV_PAIRS", 5)
    found = drawn(save_tiny_model(tmp_path / "model"), GeneralChoice(), tmp_path / "text")
    names = ["general_captions", "general_captions_2", "general_domain", "general"]
    assert list(found.dev_sets) == names


def test_each_of_many_dev_sets_has_pairs_enough_to_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chrF of a few lines changes by more than the bound, whatever is learned."""
    (tmp_path / "all.tsv").write_text(
        "en\tde\n" + "".join(f"a{n}\tb{n}\n" for n in range(250)), encoding="utf-8"
    )
    part = CorpusPart(path=str(tmp_path / "all.tsv"), source="en", target="de")
    monkeypatch.setattr(ParentModel, "general_parts", lambda self: [part])
    model = save_tiny_model(tmp_path / "model")
    for count, pairs in ((1, 200), (3, 200), (4, 150), (7, 100)):
        sets = dict.fromkeys((f"set{n}" for n in range(count)), part)
        monkeypatch.setattr(ParentModel, "general_dev_sets", lambda self, found=sets: found)
        found = drawn(model, GeneralChoice(), tmp_path / f"text-{count}")
        assert [len(sources_of([dev])) for dev in found.dev_sets.values()] == [pairs] * count


def test_pairs_given_are_drawn_without_those_of_the_domain(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    text = "".join(f"a{n}\tb{n}\n" for n in range(400))
    (tmp_path / "general.tsv").write_text("en\tde\n" + text, encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "general.tsv"), source="en", target="de")
    domain = written(tmp_path / "domain.jsonl", [Pair("a7", "other", 1)], part)
    found = drawn(model, GeneralChoice(pairs=(part,)), tmp_path / "text", domain)
    assert (found.origin, found.may_lose) == ("given", MAY_LOSE)
    dev, rest = sources_of(list(found.dev_sets.values())), sources_of(list(found.parts))
    assert sorted([*dev, *rest, "a7"]) == sorted(f"a{n}" for n in range(400))
    assert len(dev) == 200


def test_what_is_too_little(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    (tmp_path / "general.tsv").write_text("en\tde\na\tb\n", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "general.tsv"), source="en", target="de")
    with pytest.raises(DataError, match="too little general text"):
        drawn(model, GeneralChoice(pairs=(part,)), tmp_path / "text")


def test_the_sources_of_a_new_language_stay_in_the_text_of_the_others(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    lines = "".join(f"a{n}\tb{n}\tc{n}\n" for n in range(300))
    (tmp_path / "all.tsv").write_text("en\tde\tko\n" + lines, encoding="utf-8")
    german, korean = (
        CorpusPart(path=str(tmp_path / "all.tsv"), source="en", target=one, target_language=one)
        for one in ("de", "ko")
    )
    found = drawn(model, GeneralChoice(pairs=(german,)), tmp_path / "text", korean)
    assert len(sources_of(list(found.parts))) == 100, "300 without 200 of the dev set"
    with pytest.raises(DataError, match="too little general text"):
        drawn(model, GeneralChoice(pairs=(german, korean)), tmp_path / "text", german, korean)


def test_a_model_is_asked_in_a_direction_that_it_has(tmp_path: Path) -> None:
    directions = tuple(
        Direction(source_language="en", target_language=one, tags=(f"<2{one}>",))
        for one in ("de", "fr")
    )
    path = save_tiny_model(tmp_path / "two", tags=("<2de>", "<2fr>"), directions=directions)
    parent = ParentModel.open(path)
    assert parent.direction_for(("en", "fr"), "x.tsv").tags == ("<2fr>",)
    with pytest.raises(ConfigError, match=r"x.tsv: en-cs, and .* translates en-de, en-fr"):
        parent.direction_for(("en", "cs"), "x.tsv")
    one = ParentModel.open(save_tiny_model(tmp_path / "one", directions=directions[:1]))
    assert one.direction_for(("before", "after"), "x.tsv") == directions[0]
    with pytest.raises(ConfigError, match=r"x.tsv: de-en, and"):
        one.direction_for(("de", "en"), "x.tsv")


def test_a_direction_is_known_however_its_codes_are_written(tmp_path: Path) -> None:
    """The corrections of a server are exported as of "pt-br"."""
    there = (Direction(source_language="en", target_language="pt_BR", tags=()),)
    parent = ParentModel.open(save_tiny_model(tmp_path / "model", directions=there))
    assert parent.direction_for(("EN", "pt-br"), "x.tsv") == there[0]
    with pytest.raises(ConfigError, match=r"x.tsv: en-pt, and"):
        parent.direction_for(("en", "pt"), "x.tsv")


def general_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, lines: int
) -> tuple[Path, CorpusPart]:
    """A model with general text of 300 pairs and a dev set of some lines, a1 to b1 and so on."""
    for name, prefix, count in (("train", "t", 300), ("dev", "", lines)):
        text = "".join(f"{prefix}a{n}\t{prefix}b{n}\n" for n in range(1, count + 1))
        (folder / f"{name}.tsv").write_text(f"en\tde\n{text}", encoding="utf-8")
    languages = {"source_language": "en", "target_language": "de"}
    train, dev = (
        CorpusPart(path=str(folder / f"{name}.tsv"), source="en", target="de", **languages)
        for name in ("train", "dev")
    )
    monkeypatch.setattr(ParentModel, "general_parts", lambda self: [train])
    monkeypatch.setattr(ParentModel, "general_dev_sets", lambda self: {"": dev})
    return save_tiny_model(folder / "model"), dev


@pytest.mark.parametrize(
    ("correction", "turned", "left_out"),
    [
        (Pair("a2", "other", 1), False, ["a2"]),
        (Pair("other", "B3", 1), False, ["a3"]),
        (Pair("b4", "other", 1), False, []),
        (Pair("b4", "other", 1), True, ["a4"]),
        (Pair("other", "a5", 1), True, ["a5"]),
    ],
)
def test_lines_of_in_domain_pairs_are_left_out_of_the_dev_set_of_the_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    correction: Pair,
    turned: bool,
    left_out: list[str],
) -> None:
    """Cleaning would drop such a pair: on either side where directions are opposite."""
    model, dev = general_run(tmp_path, monkeypatch, lines=20)
    domain = written(tmp_path / "domain.jsonl", [correction], dev)
    if turned:
        languages = {"source_language": "de", "target_language": "en"}
        domain = domain.model_copy(update=languages)
    found = drawn(model, GeneralChoice(), tmp_path / "text", domain)
    (there,) = found.dev_sets.values()
    lines = [f"a{n}" for n in range(1, 21)]
    assert sources_of([there]) == [line for line in lines if line not in left_out]
    assert not found.shares_lines
    note = (
        "general dev set general: 1 of 20 lines left out of it, as an in-domain pair has the same "
        "source or translation"
    )
    assert list(found.notes) == ([note] if left_out else [])


@pytest.mark.parametrize(("shared", "kept"), [(10, 10), (11, 20), (20, 20)])
def test_a_dev_set_that_would_lose_most_of_its_lines_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: int, kept: int
) -> None:
    model, dev = general_run(tmp_path, monkeypatch, lines=20)
    corrections = [Pair(f"a{n}", f"new {n}", n) for n in range(1, shared + 1)]
    domain = written(tmp_path / "domain.jsonl", corrections, dev)
    found = drawn(model, GeneralChoice(), tmp_path / "text", domain)
    assert len(sources_of(list(found.dev_sets.values()))) == kept
    assert found.shares_lines == (kept == 20)
    (note,) = found.notes
    fate = "kept, as few others are there, although" if found.shares_lines else "left out of it, as"
    assert f"{shared} of 20 lines {fate} an in-domain pair has the same" in note


@pytest.mark.parametrize(("lines", "used"), [(300, False), (118, True)])
def test_a_few_lines_of_a_long_dev_set_are_not_watched_beside_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, used: bool
) -> None:
    """60 of them: at least half of 118, and far from half of 300."""
    model, dev = general_run(tmp_path, monkeypatch, lines=lines)
    other = dev.model_copy(update={"path": str(tmp_path / "train.tsv")})
    monkeypatch.setattr(ParentModel, "general_dev_sets", lambda self: {"": dev, "b": other})
    corrections = [Pair(f"a{n}", f"new {n}", n) for n in range(61, lines + 1)]
    domain = written(tmp_path / "domain.jsonl", corrections, dev)
    found = drawn(model, GeneralChoice(), tmp_path / "text", domain)
    assert ("general" in found.dev_sets) == used


def test_more_lines_may_be_given_where_those_of_the_model_itself_were_too_few(
    tmp_path: Path,
) -> None:
    model = save_tiny_model(tmp_path / "model")
    lines = [f"{a} {b} {c}" for a in "abcde" for b in "abcde" for c in "abcde"]
    (tmp_path / "dev.tsv").write_text("en\tde\na b\tx\n", encoding="utf-8")
    dev = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    choice = GeneralChoice(replay=tmp_path / "lines", dev=dev)
    (tmp_path / "lines").write_text("a b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"^lines: too little general text"):
        drawn(model, choice, tmp_path / "text")
    (tmp_path / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert drawn(model, choice, tmp_path / "text").parts


@pytest.mark.parametrize(
    ("language", "used", "pairs"),
    [("de", ["general_b"], [20]), ("ko", ["general_b", "general"], [20, 20])],
)
def test_a_dev_set_that_would_lose_most_of_its_lines_is_not_used_beside_another(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    used: list[str],
    pairs: list[int],
) -> None:
    """As where a pair that was learned before is learned anew: its line would forbid that.

    In another language, nothing forbids it.
    """
    model, dev = general_run(tmp_path, monkeypatch, lines=20)
    other = dev.model_copy(update={"path": str(tmp_path / "other.tsv")})
    lines = "".join(f"c{n}\td{n}\n" for n in range(20))
    (tmp_path / "other.tsv").write_text(f"en\tde\n{lines}", encoding="utf-8")
    monkeypatch.setattr(ParentModel, "general_dev_sets", lambda self: {"": dev, "b": other})
    corrections = [Pair(f"a{n}", f"new {n}", n) for n in range(1, 21)]
    part = dev.model_copy(update={"target_language": language})
    domain = written(tmp_path / "domain.jsonl", corrections, part)
    found = drawn(model, GeneralChoice(), tmp_path / "text", domain)
    assert sorted(found.dev_sets) == sorted(used)
    assert [len(sources_of([one])) for one in found.dev_sets.values()] == pairs
    assert found.shares_lines == (language == "ko")
    (note,) = found.notes
    assert ("general dev set general: not used" in note) == (language == "de")


def test_a_dev_set_that_is_split_off_has_no_line_of_the_domain_in_any_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as there are others."""
    model, part = general_run(tmp_path, monkeypatch, lines=300)
    korean = part.model_copy(update={"target_language": "ko"})
    pairs = [Pair(f"a{n}", f"new {n}", n) for n in range(1, 151)]
    domain = written(tmp_path / "domain.jsonl", pairs, korean)
    found = drawn(model, GeneralChoice(pairs=(part,)), tmp_path / "text", domain)
    assert sorted(sources_of(list(found.dev_sets.values()))) == sorted(
        f"a{n}" for n in range(151, 301)
    )
    assert len(sources_of(list(found.parts))) == 150, "the others are general pairs of German"
    assert not found.shares_lines


def test_a_dev_set_that_is_split_off_is_the_same_in_each_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, part = general_run(tmp_path, monkeypatch, lines=300)
    noisy = CorpusPart.model_validate(
        part.model_dump() | {"transforms": [{"kind": "noise"}, {"kind": "case", "to": "upper"}]}
    )
    found = drawn(model, GeneralChoice(pairs=(noisy,)), tmp_path / "text")
    (dev,) = found.dev_sets.values()
    assert [one.kind for one in dev.transforms] == ["case"]
    assert [one.kind for one in found.parts[0].transforms] == ["noise", "case"]
