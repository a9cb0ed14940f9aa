"""Trains a small network on handwritten digits, in one process or by DDP under torchrun.

    torchrun --standalone --nproc-per-node 2 examples/digits/train.py --backend jccl
    python examples/digits/train.py --backend none

The digits are the 1,797 images of 8 x 8 pixels inside scikit-learn; a fifth is held out. All
ranks together work through the same batches as a single process does.
"""

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

SEED = 1797
BATCH = 64
LEARNING_RATE = 0.05


@dataclass
class Record:
    """What a run records for compare.py.

    Attributes:
        backend: jccl, gloo or none.
        ranks: number of ranks.
        accuracy: on the held-out images, after the last epoch.
        step_seconds: duration of every step of rank 0.
        reduced_bytes: size of each all-reduce that the program asked for, as DDP's
            communication hook and the epoch's report logged it.
        counted: what each rank's communicator counted meanwhile; only for jccl.
    """

    backend: str
    ranks: int
    accuracy: float = 0.0
    step_seconds: list[float] = field(default_factory=list)
    reduced_bytes: list[int] = field(default_factory=list)
    counted: list[dict[str, int]] = field(default_factory=list)


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images and labels to learn from, images and labels held out."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        images / 16.0, labels, test_size=0.2, random_state=SEED, stratify=labels
    )
    x, held_x, y, held_y = parts
    return (
        torch.tensor(x, dtype=torch.float32),
        torch.tensor(y),
        torch.tensor(held_x, dtype=torch.float32),
        torch.tensor(held_y),
    )


def network() -> nn.Module:
    """Two hidden layers; the same parameters on every call, whatever other threads draw."""
    linear = nn.Linear(64, 256), nn.Linear(256, 128), nn.Linear(128, 10)
    random = torch.Generator().manual_seed(SEED)
    for layer in linear:
        bound = layer.in_features**-0.5
        for parameter in layer.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=random)
    return nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])


# torch's annotations lack the bucket's class, and do not say that the hook's group may be None.
def logging_hook(
    record: Record,
    bucket: dist.GradBucket,  # type: ignore[name-defined]
) -> torch.futures.Future[torch.Tensor]:
    """DDP's own averaging, which also records what it reduces."""
    record.reduced_bytes.append(bucket.buffer().nbytes)
    return allreduce_hook(None, bucket)  # type: ignore[arg-type]


def forbid_gloo() -> None:
    """Makes every later attempt to make a gloo process group an error."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("this run must not use gloo")

    dist.distributed_c10d.ProcessGroupGloo = refuse  # type: ignore[misc, assignment]


def counters(backend: str) -> dict[str, int]:
    """What this rank's communicator has counted so far; nothing for other backends."""
    if backend != "jccl":
        return {}
    import jccl.torch

    return jccl.torch.stats()


def train(record: Record, rank: int, epochs: int, quiet: bool) -> nn.Module:
    """Trains the network and fills in the record; returns the network."""
    ranks = record.ranks
    x, y, held_x, held_y = digits()
    plain = network()
    model = plain
    if record.backend != "none":
        model = DistributedDataParallel(plain)
        model.register_comm_hook(record, logging_hook)
    optimizer = torch.optim.SGD(plain.parameters(), lr=LEARNING_RATE, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    shuffle = torch.Generator().manual_seed(SEED)
    before = counters(record.backend)
    for epoch in range(1, epochs + 1):
        began = time.perf_counter()
        total = torch.zeros(1, dtype=torch.float64)
        order = torch.randperm(len(x), generator=shuffle)
        steps = len(x) // BATCH
        for batch in order[: steps * BATCH].view(steps, BATCH):
            mine = batch[rank::ranks]
            step_began = time.perf_counter()
            optimizer.zero_grad()
            loss = loss_of(model(x[mine]), y[mine])
            loss.backward()
            optimizer.step()
            record.step_seconds.append(time.perf_counter() - step_began)
            total += loss.item() * len(mine)
        if record.backend != "none":
            record.reduced_bytes.append(total.nbytes)
            dist.all_reduce(total)
        seconds = time.perf_counter() - began
        with torch.no_grad():
            record.accuracy = (plain(held_x).argmax(1) == held_y).double().mean().item()
        if rank == 0 and not quiet:
            print(
                f"epoch {epoch:2d}  loss {total.item() / (steps * BATCH):.4f}  "
                f"accuracy {record.accuracy:.4f}  {steps * BATCH / seconds:8.0f} samples/s",
                flush=True,
            )
    after = counters(record.backend)
    record.counted = _from_all_ranks({name: after[name] - before[name] for name in after}, ranks)
    return plain


def _from_all_ranks(counted: dict[str, int], ranks: int) -> list[dict[str, int]]:
    if not counted:
        return []
    of_ranks: list[dict[str, int]] = [{} for _ in range(ranks)]
    dist.all_gather_object(of_ranks, counted)
    return of_ranks


def main() -> None:
    """Reads the command line and the environment that torchrun sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["jccl", "gloo", "none"], default="jccl")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--save", type=Path, help="directory for the record and the parameters")
    parser.add_argument("--quiet", action="store_true", help="no line per epoch")
    parser.add_argument(
        "--forbid-gloo", action="store_true", help="make it an error to make a gloo group"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.forbid_gloo:
        forbid_gloo()
    rank = int(os.environ.get("RANK", "0"))
    ranks = 1
    if options.backend != "none":
        dist.init_process_group(options.backend)
        ranks = dist.get_world_size()
    if BATCH % ranks:
        raise SystemExit(f"{ranks} ranks do not divide a batch of {BATCH} images")
    record = Record(options.backend, ranks)
    model = train(record, rank, options.epochs, options.quiet)
    if rank == 0 and options.save is not None:
        torch.save(model.state_dict(), options.save / "parameters.pt")
        (options.save / "record.json").write_text(json.dumps(asdict(record)))
    if options.backend != "none":
        # No rank leaves before the results are saved.
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
