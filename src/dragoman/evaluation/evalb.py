"""EVALB's own table: a line for each sentence, and a summary of all and of those up to 40 words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.evaluation.bracketing import TreeComparison

CUTOFF = 40
"""Words of the longest sentence in the second summary."""

_STATUS = {"valid": 0, "malformed": 1, "missing": 2}
_SUMMED = ("matched", "gold", "test", "crossing", "tags", "words")
_HEAD = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
============================================================================"""


@dataclass(frozen=True)
class Summary:
    """EVALB's summary of some sentences; rates are percentages, over valid sentences only."""

    sentences: int
    malformed: int
    missing: int
    recall: float
    precision: float
    f1: float
    complete_match: float
    average_crossing: float
    """Constituents of a hypothesis that cross one of its reference, per sentence."""
    no_crossing: float
    two_or_less_crossing: float
    tagging_accuracy: float

    @classmethod
    def of(cls, found: Sequence[TreeComparison]) -> Summary:
        """The summary of these sentences."""
        valid = [one for one in found if one.status == "valid"]
        count, total = len(valid), Counter[str]()
        for one in valid:
            total.update({name: getattr(one, name) for name in _SUMMED})
        return cls(
            sentences=len(found),
            malformed=sum(one.status == "malformed" for one in found),
            missing=sum(one.status == "missing" for one in found),
            recall=_percentage(total["matched"], total["gold"]),
            precision=_percentage(total["matched"], total["test"]),
            f1=_percentage(2 * total["matched"], total["gold"] + total["test"]),
            complete_match=_percentage(sum(one.complete for one in valid), count),
            average_crossing=total["crossing"] / count if count else 0.0,
            no_crossing=_percentage(sum(one.crossing == 0 for one in valid), count),
            two_or_less_crossing=_percentage(sum(one.crossing <= 2 for one in valid), count),
            tagging_accuracy=_percentage(total["tags"], total["words"]),
        )

    def __str__(self) -> str:
        counts = {
            "Number of sentence": self.sentences,
            "Number of Error sentence": self.malformed,
            "Number of Skip  sentence": self.missing,
            "Number of Valid sentence": self.sentences - self.malformed - self.missing,
        }
        rates = {
            "Bracketing Recall": self.recall,
            "Bracketing Precision": self.precision,
            "Bracketing FMeasure": self.f1,
            "Complete match": self.complete_match,
            "Average crossing": self.average_crossing,
            "No crossing": self.no_crossing,
            "2 or less crossing": self.two_or_less_crossing,
            "Tagging accuracy": self.tagging_accuracy,
        }
        lines = [f"{name:<25} = {count:6d}" for name, count in counts.items()]
        return "\n".join([*lines, *(f"{name:<25} = {rate:6.2f}" for name, rate in rates.items())])


def summaries(found: Sequence[TreeComparison]) -> dict[str, Summary]:
    """EVALB's two: of all sentences, and of those of up to 40 words with punctuation."""
    short = [one for one in found if one.length <= CUTOFF]
    return {"All": Summary.of(found), f"len<={CUTOFF}": Summary.of(short)}


def table(found: Sequence[TreeComparison]) -> str:
    """EVALB's output, character by character but for the blanks at the ends of lines."""
    lines = [_HEAD, *(_row(number, one) for number, one in enumerate(found, 1))]
    lines += ["=" * 76, "=== Summary ==="]
    for name, summary in summaries(found).items():
        lines += ["", f"-- {name} --", str(summary)]
    return "\n".join(lines)


def to_json(found: Sequence[TreeComparison]) -> dict[str, Any]:
    """The table as plain values."""
    return {
        "sentences": [{**one.__dict__, "complete": one.complete} for one in found],
        "summaries": {name: dict(one.__dict__) for name, one in summaries(found).items()},
    }


def _row(number: int, one: TreeComparison) -> str:
    counted = one if one.status == "valid" else TreeComparison(one.length, 0)
    return (
        f"{number:4d}  {one.length:3d}    {_STATUS[one.status]}  "
        f"{_percentage(counted.matched, counted.gold):6.2f} "
        f"{_percentage(counted.matched, counted.test):6.2f}   "
        f"{counted.matched:3d}    {counted.gold:3d}  {counted.test:3d}    {counted.crossing:3d}   "
        f"{counted.words:4d}  {counted.tags:4d}   {_percentage(counted.tags, counted.words):6.2f}"
    )


def _percentage(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
