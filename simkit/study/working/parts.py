"""Shares of a comparison for machines that know nothing of each other, such as a SLURM array's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from simkit.errors import BadInput

Job = TypeVar("Job")


@dataclass(frozen=True)
class Part:
    """The `number`-th of `of` shares, counted from 1; written 3/16."""

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Part:
        """From text such as "3/16". Raises BadInput."""
        found = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise BadInput(
                f"part is {text!r}; I/N with I from 1 to N is expected, such as 1/16 for the first "
                "of sixteen"
            )
        return Part(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, jobs: Sequence[Job], work: Callable[[Job], float]) -> list[Job]:
        """This part's jobs, in their order: the largest go first to whoever has least so far.

        It depends on the jobs alone, so that all parts together have each job once.
        """
        loads = [0.0] * self.of
        mine = []
        for place in sorted(range(len(jobs)), key=lambda place: -work(jobs[place])):
            least = loads.index(min(loads))
            loads[least] += work(jobs[place])
            if least == self.number - 1:
                mine.append(place)
        return [jobs[place] for place in sorted(mine)]
