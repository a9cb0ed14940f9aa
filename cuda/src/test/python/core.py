"""jccl.core on GPUs: tensors of torch, arrays of CuPy, streams, groups and errors.

Usage, by torchrun with 2 or more processes, which may share GPUs: core.py. Rank 0 prints how many
steps were right.
"""

from __future__ import annotations

import os
from typing import Any

import jccl.core as nccl
import torch

COUNT = 100_000


class Foreign:
    """Memory that torch owns, as another library would show it.

    Args:
        tensor: the memory.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.__cuda_array_interface__: Any = tensor.__cuda_array_interface__


def main() -> None:
    """Makes this rank's calls."""
    device = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(device)
    config = nccl.NCCLConfig(device="cuda", timeout=30)
    with nccl.Communicator.from_env(config) as comm:
        assert comm.device == device, comm.device
        make: Any = torch.cuda.Stream
        stream = make()
        rank, ranks = comm.rank, comm.nranks
        x = torch.full((COUNT,), rank + 1.0, device="cuda")
        torch.cuda.synchronize()
        comm.allreduce(x, x, nccl.SUM, stream=stream)
        comm.allgather(
            Foreign(x[:3]), whole := torch.zeros(3 * ranks, device="cuda"), stream=stream
        )
        stream.synchronize()
        total = ranks * (ranks + 1) / 2
        assert x.eq(total).all()
        assert whole.eq(total).all()
        right, left = (rank + 1) % ranks, (rank - 1) % ranks
        received = torch.zeros(COUNT, device="cuda")
        with nccl.group():
            comm.send(x + rank, right)
            comm.recv(received, left)
        torch.cuda.synchronize()
        assert received.eq(total + left).all()
        steps = 3
        for host in (torch.zeros(4), bytearray(4)):
            try:
                comm.allreduce(host, host, nccl.SUM)
            except nccl.NcclInvalid:
                steps += 1
        try:
            import cupy
        except ImportError:
            pass
        else:
            array = cupy.full(7, rank, dtype="float64")
            with cupy.cuda.Stream() as other:
                comm.allreduce(array, array, nccl.MAX, stream=other)
                assert (array == ranks - 1).all()
            steps += 1
        if rank == 0:
            print(f"{steps} steps right", flush=True)


if __name__ == "__main__":
    main()
