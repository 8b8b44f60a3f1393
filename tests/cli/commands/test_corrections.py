from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.server.database.server_store import ServerStore
from dragoman.text.corpora.corpus import read_pairs
from dragoman.workflows.material import Choice, find_part


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerStore]:
    path = tmp_path / "server.sqlite"
    monkeypatch.setenv("DRAGOMAN_DATABASE", str(path))
    with ServerStore(str(path)) as opened:
        key, _ = opened.create_key("weblate")
        opened.add_correction("Hello\tyou", "Hallo\ndu", "en", "de", key.id)
        opened.add_correction("Bye", "Tschüss", "en", "de")
        opened.add_correction("Bye", "Salut", "en", "fr")
        yield opened


def states(store: ServerStore) -> list[str]:
    return [one.state for one in store.corrections()]


def test_corrections_are_listed(dragoman: CommandLine, store: ServerStore) -> None:
    listed = dragoman("corrections", "list").out
    assert "     1  en-de  pending  20" in listed and "by weblate" in listed
    assert "        Hello you\n        Hallo du\n" in listed
    assert listed.count("\n") == 9
    french = dragoman("corrections", "list", "--to", "FR").out
    assert "Salut" in french and "Tschüss" not in french
    some = dragoman("corrections", "list", "--limit", 1)
    assert some.out.count("\n") == 3 and "2 more; list them with --limit 3" in some.err
    none = dragoman("corrections", "list", "--state", "accepted")
    assert none.out == "" and "no correction is accepted" in none.err


def test_corrections_are_shown_whole(dragoman: CommandLine, store: ServerStore) -> None:
    store.review_correction(1, "accepted")
    shown = dragoman("corrections", "show", 1, 2).out
    assert "source: Hello\tyou\ncorrection: Hallo\ndu\nmemory: Hallo\ndu\n" in shown
    assert "correction: Tschüss\nmemory: -\n" in shown


def test_several_are_reviewed_at_once(dragoman: CommandLine, store: ServerStore) -> None:
    accepted = dragoman("corrections", "accept", 1, 3)
    assert accepted.code == 0 and "2 accepted; 1 pending" in accepted.err
    assert states(store) == ["accepted", "pending", "accepted"]
    assert dragoman("corrections", "reject", 1).code == 0
    assert dragoman("corrections", "reject", "--all").code == 0
    assert states(store) == ["rejected", "rejected", "accepted"]


def test_all_of_a_direction_are_reviewed(dragoman: CommandLine, store: ServerStore) -> None:
    outcome = dragoman("corrections", "accept", "--all", "--from", "en", "--to", "de", "--json")
    found = json.loads(outcome.out)
    assert [one["number"] for one in found["corrections"]] == [1, 2]
    assert {one["state"] for one in found["corrections"]} == {"accepted"}
    assert found["pending"] == 1


def test_accepted_ones_are_exported_for_adapt(
    dragoman: CommandLine, store: ServerStore, tmp_path: Path
) -> None:
    store.add_correction("Bye", "Auf Wiedersehen", "en", "de")
    dragoman("corrections", "accept", 1, 2, 3)
    dragoman("corrections", "accept", 4)
    outcome = dragoman("corrections", "export", tmp_path / "out")
    german, french = (tmp_path / "out" / f"corrections.en-{one}.tsv" for one in ("de", "fr"))
    assert outcome.out.splitlines() == [
        f"dragoman adapt MODEL {german} --source en --target de",
        f"dragoman adapt MODEL {french} --source en --target fr",
    ]
    # As adapt reads them, by the options that the command has.
    part, languages = find_part([german], Choice("en", "de"))
    assert languages == ("en", "de")
    pairs = [(pair.source, pair.target) for pair in read_pairs(part)]
    assert pairs == [("Hello you", "Hallo du"), ("Bye", "Auf Wiedersehen")]
    assert french.read_text(encoding="utf-8") == "en\tfr\nBye\tSalut\n"


def test_export_in_other_formats(dragoman: CommandLine, store: ServerStore, tmp_path: Path) -> None:
    dragoman("corrections", "accept", "--all")
    options = ("--to", "de", "--format", "plain", "--json")
    found = json.loads(dragoman("corrections", "export", tmp_path / "out", *options).out)["files"]
    paths = [str(tmp_path / "out" / f"corrections.en-de.{one}") for one in ("en", "de")]
    assert found == [
        {
            "source_language": "en",
            "target_language": "de",
            "output": paths,
            "pairs": 2,
            "next": ["dragoman", "adapt", "MODEL", *paths, "--source", "en", "--target", "de"],
        }
    ]
    assert Path(paths[1]).read_text(encoding="utf-8") == "Hallo du\nTschüss\n"


def test_results_for_scripts(dragoman: CommandLine, store: ServerStore) -> None:
    listed = json.loads(dragoman("corrections", "list", "--json", "--limit", 1).out)
    assert listed["more"] == 2
    (first,) = listed["corrections"]
    made = first.pop("created")
    assert made.endswith("+00:00")
    assert first == {
        "number": 1,
        "state": "pending",
        "source_language": "en",
        "target_language": "de",
        "source": "Hello\tyou",
        "correction": "Hallo\ndu",
        "reviewed": None,
        "key": "weblate",
    }
    shown = json.loads(dragoman("corrections", "show", 2, "--json").out)["corrections"]
    assert shown[0]["number"] == 2 and shown[0]["memory"] is None


def test_bad_input(dragoman: CommandLine, store: ServerStore, tmp_path: Path) -> None:
    assert "no correction 99; nothing" in one_error(dragoman("corrections", "accept", 1, 99), 3)
    assert "no correction 99" in one_error(dragoman("corrections", "show", 99), 3)
    assert "no correction" in one_error(dragoman("corrections", "accept", 2**40), 3)
    assert "no correction" in one_error(dragoman("corrections", "show", 2**70), 3)
    for wrong in ((), (1, "--all"), (0,), ("x",), (1, "--to", "de")):
        one_error(dragoman("corrections", "accept", *wrong), 2)
    assert "'d e' is not a language" in one_error(dragoman("corrections", "list", "--to", "d e"), 2)
    out = tmp_path / "out"
    assert "no correction is accepted" in one_error(dragoman("corrections", "export", out), 3)
    assert not out.exists()
    assert states(store) == ["pending"] * 3
    dragoman("corrections", "accept", "--all")
    out.mkdir()
    (out / "corrections.en-fr.tsv").write_text("mine")
    assert "exists already" in one_error(dragoman("corrections", "export", out), 2)
    assert [one.name for one in out.iterdir()] == ["corrections.en-fr.tsv"]
    for form, message in (("tmx", "read and not written"), ("x", "format")):
        assert message in one_error(
            dragoman("corrections", "export", tmp_path / form, "--format", form), 2
        )
    missing = dragoman("corrections", "list", "--database", tmp_path / "typo.sqlite")
    assert "no such database" in one_error(missing, 4)
