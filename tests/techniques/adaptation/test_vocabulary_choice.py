"""An adapted model extends its vocabulary where the new text needs it, unless told otherwise."""

from __future__ import annotations

import pytest
from listed_pieces import listed

from dragoman.core.errors import ConfigError
from dragoman.techniques.adaptation.vocabulary_choice import VocabularyChoice, choose_vocabulary
from dragoman.text.formats import Pair
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

KNOWN = [Pair("the light is on", "das licht ist an", n) for n in range(30)]
OTHER = [Pair("the light is on", "свет включён", n) for n in range(30)]
PARENT = train_vocabularies(KNOWN, VocabularyConfig(size=45), seed=1)


def size(choice: VocabularyChoice, pairs: list[Pair], tags: tuple[str, ...] = ()) -> int:
    """Of what is chosen; 0 if the parent's is kept."""
    chosen = choose_vocabulary(choice, PARENT, pairs, tags=tags, general=KNOWN)
    section = chosen.section()
    assert (chosen.extended is None) == (not section)
    return int(section.get("size", 0))


def test_another_script_is_a_reason_to_extend_and_the_same_text_is_none() -> None:
    assert size("auto", KNOWN) == 0
    assert size("auto", OTHER) > len(PARENT.source)
    assert size("keep", OTHER) == 0
    assert size("extend", OTHER) == size("auto", OTHER)


def test_asking_for_an_extension_that_has_nothing_to_add_keeps_the_vocabulary() -> None:
    found = choose_vocabulary("extend", PARENT, KNOWN)
    assert found.extended is None and found.section() == {}
    assert any("extending by 0 pieces does not pay" in note for note in found.notes)


def test_a_tag_is_added_and_cannot_be_done_without() -> None:
    chosen = choose_vocabulary("auto", PARENT, KNOWN, tags=("<2ru>",))
    assert isinstance(chosen.extended, Vocabularies)
    source = chosen.extended.source
    assert source.pieces(source.tags) == ["<2ru>"]
    assert chosen.section() == {"size": len(source)}
    with pytest.raises(ConfigError, match=r"no tag <2ru>.*choose --vocabulary auto"):
        choose_vocabulary("keep", PARENT, KNOWN, tags=("<2ru>",))
    again = choose_vocabulary("keep", chosen.extended, KNOWN, tags=("<2ru>",))
    assert again.extended is None


def test_a_list_of_pieces_is_kept_unless_an_extension_is_asked_for() -> None:
    parent = Vocabularies(listed("the", "light"), listed("das", "licht"))
    found = choose_vocabulary("auto", parent, OTHER)
    assert found.extended is None and "fixed list" in found.notes[0]
    with pytest.raises(ConfigError, match="fixed list of pieces"):
        choose_vocabulary("extend", parent, OTHER)
    with pytest.raises(ConfigError, match="fixed list of pieces"):
        choose_vocabulary("auto", parent, OTHER, tags=("<2ru>",))
