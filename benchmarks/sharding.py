"""Memory, loss, bytes and time of processes that share out what they train.

    sharding.py                                  every kind of sharding with 1, 2 and 4 processes
    sharding.py --precision float32 --steps 8    whose losses can be compared to the last digits
    sharding.py --recompute                      one process: layers computed again, or kept

Bytes are counted by the system, and so only where nothing else uses the network:

    unshare -rn sh -c 'ip link set lo up && python benchmarks/sharding.py'

Memory is the largest a process ever had after its first step (VmHWM), libraries included.  Time on
processes that outnumber the cores says nothing about a machine of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from dragoman.core.device import keep_freed_memory
from dragoman.data.batches import Batch, make_batch
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.training.choose_sharding import chosen_sharding
from dragoman.training.distributed import World
from dragoman.training.objectives import CrossEntropy
from dragoman.training.recomputation import recompute_layers
from dragoman.training.settings import TrainingConfig

KINDS = ("none", "state", "gradients", "parameters")
SIZES = {
    "tiny": TransformerConfig(
        encoder_layers=2, decoder_layers=2, d_model=64, d_ff=128, heads=2, dropout=0.0
    ),
    "base": TransformerConfig(dropout=0.0),
    "big": TransformerConfig(d_model=1024, d_ff=4096, heads=16, dropout=0.0),
}
COMMON = {"size": "base", "precision": "bfloat16", "steps": 4, "sentences": 32, "length": 16}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in COMMON.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--vocabulary", type=int, default=37_000)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--recompute", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        measure(arguments, json.loads(arguments.worker))
    elif arguments.recompute:
        print_table(
            launched(arguments, 1, {"recompute": recompute}) for recompute in ("none", "layers")
        )
    else:
        print_table(
            launched(arguments, processes, {"sharding": kind})
            for processes in arguments.processes
            for kind in arguments.kinds
            if processes > 1 or kind == "none"
        )


def launched(
    arguments: argparse.Namespace, processes: int, training: dict[str, str]
) -> dict[str, object]:
    """What the leader of so many processes has measured."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    given = [argument for argument in sys.argv[1:] if argument != "--recompute"]
    command = [sys.executable, __file__, *given, "--worker", json.dumps(training)]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes)}
    own = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    own["RES_OPTIONS"] = "attempts:1 timeout:1"  # PyTorch asks for the name of this machine
    others = {**own, **os.environ, **place}
    started = [
        subprocess.Popen(
            command,
            env={**others, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            text=True,
        )
        for rank in range(processes)
    ]
    output, _ = started[0].communicate()
    if any(process.wait() for process in started):
        raise SystemExit(f"{training} with {processes} processes failed")
    found: dict[str, object] = json.loads(output.splitlines()[-1])
    return {"processes": processes, **training, **found}


def measure(arguments: argparse.Namespace, training: dict[str, str]) -> None:
    """Train, and print what was measured, in the leading process."""
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    joined = World.join()
    world = World(joined.rank, joined.size, torch.device("cpu"), joined.store)
    torch.manual_seed(1)
    model = Transformer(SIZES[arguments.size], arguments.vocabulary, arguments.vocabulary).train()
    config = TrainingConfig.model_validate({"precision": arguments.precision, **training})
    optimizer = chosen_sharding(config, world)(model)
    if config.recompute == "layers":
        recompute_layers(model)
    keep_freed_memory()
    objective, losses, seconds = CrossEntropy(0.1), [], []
    used = sent = 0.0
    for number, batch in enumerate(batches(arguments, world)):
        if number == 1:
            reset_peak()
            used, sent = processor_seconds(), sent_bytes()
        started = time.perf_counter()
        optimizer.passes([1])
        totals = objective.backward(model, batch, 1.0)
        optimizer.collect()
        optimizer.reduce(world)
        sums = world.all_reduce(torch.stack([totals["loss"], totals["tokens"]]).double())
        losses.append(float(sums[0] / sums[1]))
        optimizer.scale(1 / float(sums[1]))
        optimizer.step(1e-4)
        seconds.append(time.perf_counter() - started)
    steps = len(losses) - 1
    sent, used = sent_bytes() - sent, processor_seconds() - used
    found = world.gather(lambda: [peak_megabytes(), used / steps])
    if world.is_leader:
        figures = {
            "memory": max(memory for memory, _ in found),
            "bytes": None if sent == 0 else sent / steps / world.size,
            "seconds": float(np.median(seconds[1:])),
            "processor_seconds": sum(spent for _, spent in found),
            "losses": losses,
        }
        print(json.dumps(figures))
    world.leave()


def batches(arguments: argparse.Namespace, world: World) -> Iterator[Batch]:
    """This process' rows of each step's batch."""
    rng = np.random.default_rng(3)
    for _ in range(arguments.steps + 1):
        shape = arguments.sentences, arguments.length
        lines = rng.integers(4, arguments.vocabulary, shape).tolist()[world.rank :: world.size]
        yield make_batch(lines, lines)


def reset_peak() -> None:
    """Count the largest memory from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes() -> float:
    """The largest memory that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def processor_seconds() -> float:
    """Time that this process has computed."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def sent_bytes() -> float:
    """Bytes that all processes have sent; 0 where others use the same network."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    if len(lines) > 1:  # a namespace of its own has the loopback alone
        return 0.0
    return float(lines[0].split(":")[1].split()[8])


def print_table(rows: Iterator[dict[str, object]]) -> None:
    """Print rows as they come, and the largest difference of their losses."""
    print(
        "| processes | | memory | sent a process and step | wall s/step | CPU s/step | last loss |"
    )
    print("|---:|---|---:|---:|---:|---:|---:|")
    curves = []
    for row in rows:
        kind = row.get("sharding") or row["recompute"]
        number, seconds, used = row["bytes"], row["seconds"], row["processor_seconds"]
        losses = row["losses"]
        assert isinstance(losses, list)
        curves.append(losses)
        sent = "" if number is None else f"{float(str(number)) / 1e6:,.0f} MB"
        print(
            f"| {row['processes']} | {kind} | {row['memory']:,.0f} MB | {sent} "
            f"| {seconds:.2f} | {used:.2f} | {losses[-1]:.6f} |",
            flush=True,
        )
    spread = np.ptp(np.array(curves), axis=0).max()
    print(f"\nLargest difference of a step's loss: {spread:.1e} nats per token")


if __name__ == "__main__":
    main()
