"""Training on machines that come and go: kills, dead machines and pulled cables, without a hand."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from soak.machines import Machine, machines, missing
from soak.part import Allowance, Tried

KILLS = 5
STEPS = 1200
ENDLESS = 10**6
LOST_AFTER_SECONDS = 8
_PORT = 29400
_STOPPED = [128 + signal.SIGTERM, 128 + signal.SIGINT]
"""Exit codes of the command that was told to stop, and of the other one, which stops with it."""
_PATIENCE_SECONDS = 180.0
"""Nothing that this part waits for may take longer."""
_POLL_SECONDS = 0.05
_WORKER = "dragoman.cli.worker"
_WORDS = ["ein", "zwei", "drei", "vier", "haus", "baum", "katze", "hund", "licht", "nacht"]


def write_recipe(folder: Path, seed: int) -> Path:
    """A tiny experiment that learns to reverse lines, with its text."""
    rng = random.Random(seed)
    for name, count in (("train", 3000), ("dev", 20)):
        with (folder / f"{name}.tsv").open("w", encoding="utf-8") as stream:
            stream.write("en\tde\n")
            for _ in range(count):
                words = rng.choices(_WORDS, k=rng.randint(2, 9))
                stream.write(f"{' '.join(words)}\t{' '.join(reversed(words))}\n")
    parts = {
        name: {"path": f"{name}.tsv", "source": "en", "target": "de"} for name in ("train", "dev")
    }
    values = {
        "source_language": "en",
        "target_language": "de",
        "data": {"train": [parts["train"]], "dev": parts["dev"]},
        "vocabulary": {"size": 60},
        "model": {
            "encoder_layers": 1,
            "decoder_layers": 1,
            "d_model": 16,
            "d_ff": 32,
            "heads": 2,
        },
        "training": {
            "step_tokens": 500,
            "precision": "float32",
            "checkpoint_steps": 50,
            "log_steps": 1,
            "best_metric": "loss",
        },
        "search": {"beam": 2, "extra_length": 5},
    }
    path = folder / "reversal.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


@dataclass
class Training:
    """One training on some machines, and what its run directory says about it."""

    recipe: Path
    run: Path
    on: list[Machine]
    fewest: int
    steps: int = STEPS
    launchers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, machine: Machine) -> None:
        """Give the command on one machine."""
        command = [sys.executable, "-m", "dragoman", "train", str(self.recipe)]
        for name in ("max_steps", "validation_steps"):
            command += ["--set", f"training.{name}={self.steps}"]
        command += ["--run", str(self.run), "--nodes", f"{self.fewest}:{len(self.on)}"]
        command += ["--rendezvous", f"{self.on[0].address}:{_PORT}", "--restarts", "20"]
        command += ["--lost-after", str(LOST_AFTER_SECONDS)]
        output = self.run.with_name(f"{self.run.name}-{machine.address}.txt")
        self.launchers[machine.address] = machine.start(command, output)

    def records(self) -> list[dict[str, Any]]:
        """What was measured at each step so far, without times."""
        path = self.run / "metrics.jsonl"
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        return [{key: one[key] for key in one if "second" not in key} for one in found]

    def step(self) -> int:
        """The last step so far."""
        path = self.run / "metrics.jsonl"
        whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
        return int(json.loads(whole.rpartition(b"\n")[2])["step"]) if whole else 0

    def generation(self) -> int:
        """What changes whenever training goes on from a checkpoint: the file is written anew."""
        path = self.run / "metrics.jsonl"
        return path.stat().st_ino if path.exists() else 0

    def wait(self, reached: Callable[[], bool], what: str) -> None:
        """Wait until something is so; an exception tells that it has not become so."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not reached():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.run.name}: {what} not within {_PATIENCE_SECONDS:.0f} s")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> list[int]:
        """Tell one machine's command to save and end, and return the exit codes of all."""
        self.launchers[self.on[0].address].send_signal(signal.SIGTERM)
        return self.wait_until_ended()

    def wait_until_ended(self) -> list[int]:
        """Wait for all launchers, and return their exit codes."""
        running = list(self.launchers.values())
        self.wait(lambda: all(one.poll() is not None for one in running), "the end")
        return [one.returncode for one in running]

    def disturbed(self, disturb: Callable[[], None]) -> tuple[float, int]:
        """Do something to the machines, and wait until training goes on.

        Returns:
            The seconds until the next step, and how many steps were done again.
        """
        before, generation, begun = self.step(), self.generation(), time.monotonic()
        disturb()
        self.wait(lambda: self.generation() != generation, "going on")
        resumed = self.step()
        self.wait(lambda: self.step() > resumed, "a step")
        return time.monotonic() - begun, max(0, before - resumed)


@contextmanager
def training(
    allowance: Allowance, name: str, on: list[Machine], fewest: int, steps: int = STEPS
) -> Iterator[Training]:
    """A training that has begun on all machines; it is ended with the block."""
    recipe = allowance.folder / "reversal.yaml"
    run = allowance.folder / name
    if not recipe.exists():
        write_recipe(allowance.folder, allowance.seed)
    one = Training(recipe, run, on, fewest, steps)
    try:
        for machine in on:
            one.start(machine)
        one.wait(lambda: one.step() > 0, "the first step")
        yield one
    finally:
        for machine in on:
            machine.kill()
        shutil.rmtree(run / "data", ignore_errors=True)


@dataclass(frozen=True)
class Pace:
    """How long the undisturbed training took, by which the time for the others is reckoned."""

    begin: float
    """Seconds from the command to the first step."""
    rest: float
    """Seconds from there to the end."""

    def seconds(self, disturbances: int) -> float:
        """How long a training may take that is disturbed so often."""
        again = LOST_AFTER_SECONDS + self.begin  # to notice, and to start again
        return self.begin + self.rest + disturbances * again

    def kills(self, left: float) -> int:
        """How many kills leave time for the two other trials."""
        left -= 2 * self.seconds(2)
        return max((n for n in range(KILLS + 1) if self.seconds(n) <= left), default=0)


class ElasticPart:
    """Kills processes and machines and pulls cables while machines train together."""

    about = "training on machines that come and go (network namespaces; needs root)"
    share = 6.0

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try, as far as the time allows."""
        if reason := missing():
            return [Tried("machines that come and go", 0, skipped=reason)]
        with machines(2) as on:
            expected, pace = self._undisturbed(allowance, on)
            tried = [self._kills(allowance, on, expected, pace.kills(allowance.left))]
            for what, away, back in (
                ("a machine killed, and started again", self._killed, self._started),
                ("a cable pulled, and put back", self._pulled, self._plugged),
            ):
                if allowance.left > pace.seconds(2):
                    tried.append(self._away(allowance, on, what, away, back))
                else:
                    tried.append(Tried(what, 0, skipped="no time left"))
        return tried

    def _undisturbed(
        self, allowance: Allowance, on: list[Machine]
    ) -> tuple[list[dict[str, Any]], Pace]:
        started = time.monotonic()
        with training(allowance, "undisturbed", on, 2) as one:
            begun = time.monotonic()
            codes = one.wait_until_ended()
            assert codes == [0, 0], f"undisturbed training ended with {codes}"
            return one.records(), Pace(begun - started, time.monotonic() - begun)

    def _kills(
        self, allowance: Allowance, on: list[Machine], expected: list[dict[str, Any]], kills: int
    ) -> Tried:
        """A process killed again and again: losses must equal those of the undisturbed training."""
        what = "a process killed with -9 in a step"
        if not kills:
            return Tried(what, 0, skipped="no time left")
        rng = random.Random(allowance.seed)
        lost, again, failures = [], 0, []
        with training(allowance, "kills", on, 2) as one:
            for moment in sorted(rng.sample(range(20, STEPS * 9 // 10), kills)):
                one.wait(lambda moment=moment: one.step() >= moment, f"step {moment}")  # type: ignore[misc]
                time.sleep(rng.random() / 10)
                machine = rng.choice(on)
                took, steps = one.disturbed(lambda machine=machine: machine.kill(_WORKER))  # type: ignore[misc]
                lost.append(took)
                again += steps
            codes = one.wait_until_ended()
            if codes != [0, 0]:
                failures.append(f"seed {allowance.seed}: ended with {codes}, not 0")
            if one.records() != expected:
                failures.append(f"seed {allowance.seed}: losses differ from undisturbed training")
        figures = {"s until training went on, longest": round(max(lost), 1)}
        figures["mean s"] = round(sum(lost) / len(lost), 1)
        figures["steps done again, at least"] = again
        return Tried(what, len(lost), figures, tuple(failures))

    def _away(
        self,
        allowance: Allowance,
        on: list[Machine],
        what: str,
        away: Callable[[Training], None],
        back: Callable[[Training], None],
    ) -> Tried:
        """A machine that leaves and returns; training must go on both times, and save at SIGTERM.

        It has no end of its own: alone, a machine could reach that before the other is back.
        """
        failures = []
        with training(allowance, what.split()[1], on, 1, ENDLESS) as one:
            one.wait(lambda: one.step() >= 100, "step 100")
            left, steps = one.disturbed(lambda: away(one))
            returned, steps_again = one.disturbed(lambda: back(one))
            codes = one.stop()
            if codes != _STOPPED:
                failures.append(f"seed {allowance.seed}: ended with {codes}, not {_STOPPED}")
            if not (one.run / "checkpoints" / f"step-{one.step():06d}").exists():
                failures.append(f"seed {allowance.seed}: step {one.step()} was not saved")
        figures = {"s until training went on without it": round(left, 1)}
        figures |= {"s until training went on with it": round(returned, 1)}
        figures |= {"steps done again, at least": steps + steps_again}
        return Tried(what, 1, figures, tuple(failures))

    @staticmethod
    def _killed(one: Training) -> None:
        one.on[1].kill()

    @staticmethod
    def _started(one: Training) -> None:
        one.start(one.on[1])

    @staticmethod
    def _pulled(one: Training) -> None:
        one.on[1].pull_cable()

    @staticmethod
    def _plugged(one: Training) -> None:
        one.on[1].plug_cable()


PART = ElasticPart()
