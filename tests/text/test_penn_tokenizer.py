"""Text to words as in the Penn Treebank."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.penn_tokenizer import penn_words


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (
            "It's the dog's (old) bone, isn't it?",
            "It 's the dog 's -LRB- old -RRB- bone , is n't it ?",
        ),
        (
            '"I cannot pay $5,000.50," said Mr. Fox.',
            "`` I can not pay $ 5,000.50 , '' said Mr. Fox .",
        ),
        ("“We’re done”—he said...", "`` We 're done '' -- he said ..."),
        ("the players' 12:30 game: 50% off!", "the players ' 12:30 game : 50 % off !"),
        ("I'm gonna win; they've lost.", "I 'm gon na win ; they 've lost ."),
        ("'Tis more'n that, d'ye see? 'Twas.", "'T is more 'n that , d' ye see ? 'T was ."),
        ('He said "no".', "He said `` no '' ."),
        ("", ""),
    ],
)
def test_words_of_a_sentence(sentence: str, words: str) -> None:
    assert penn_words(sentence) == words.split()


@given(st.text("ab .,'\"()-–…$%&?!;:`", max_size=12))
def test_no_letter_is_lost_and_no_bracket_left(sentence: str) -> None:
    words = penn_words(sentence)
    assert not any(set(word) & set("() ") for word in words)
    assert [sign for sign in "".join(words) if sign in "ab"] == [
        sign for sign in sentence if sign in "ab"
    ]
