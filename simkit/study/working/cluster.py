"""A cluster of dask.distributed as an executor: Kubernetes, clouds, interactive clusters."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

from simkit.errors import BadInput

Result = TypeVar("Result")

_PATIENCE = 20  # seconds until a scheduler has answered
_one = threading.Lock()


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers of the scheduler at an address such as tcp://10.0.0.1:8786.

    They need the same simkit and torch as this process and see the same files. Work of one that is
    lost is given to another by the scheduler. Raises BadInput where distributed is not installed or
    no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise BadInput(
            f"scheduler {address!r} needs dask.distributed, which is not installed; run "
            "pip install 'simkit[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = f" ({error})" if isinstance(error, ValueError | TypeError) else ""
        raise BadInput(
            f"no scheduler answers at {address!r}{reason}; start one with `dask scheduler` and "
            "give the address that it prints, such as tcp://10.0.0.1:8786"
        ) from None
    try:
        count = _noted(client, address)
        yield _Workers(client.get_executor(pure=False), count)
    finally:
        client.close()


def _noted(client: Any, address: str) -> int:
    """How many workers there are; what would leave people wondering is said."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        warnings.warn(
            f"the scheduler at {address} has no worker yet; work begins when one comes "
            f"(`dask worker {address} --nthreads 1`)",
            stacklevel=4,
        )
    if any(worker["nthreads"] > 1 for worker in workers):
        warnings.warn(
            f"workers at {address} have several threads, of which simkit uses one; start one "
            "worker for each core (`dask worker --nworkers N --nthreads 1`)",
            stacklevel=4,
        )
    return len(workers)


class _Workers(Executor):
    """Another executor, of whose workers each does one thing at a time; workers: how many."""

    def __init__(self, inner: Executor, count: int) -> None:
        self._inner, self.workers = inner, max(count, 1)

    def submit(  # type: ignore[override]
        self, run: Callable[..., Result], /, *values: Any, **named: Any
    ) -> Future[Result]:
        return self._inner.submit(alone, run, *values, **named)


def alone(run: Callable[..., Result], *values: Any, **named: Any) -> Result:
    """Call `run` when no other thread of this process is in it: how many threads torch uses, and
    what is warned about, belong to the whole process."""
    with _one:
        return run(*values, **named)
