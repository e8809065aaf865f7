"""What one unit of work costs: rates, and price lists made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simkit import quantities
from simkit.errors import BadInput
from simkit.labels.effort import Effort

UNITS = ("question", "page", "image")


@dataclass(frozen=True)
class Rate:
    """What one person's work on one kind of question costs.

    per      "question", "image" (all questions of this kind about an image at once) or "page" (up
             to `page` questions about an image at once).
    seconds, dollars   of one unit; None: not known. One of them is given.
    source   where the number is from, or "assumption: ..." with the reasoning.

    Questions of different kinds about the same image never share a page: people meet them in
    different tools, one after the other.
    """

    per: str
    seconds: float | None
    dollars: float | None
    source: str
    page: int = 0

    def units(self, effort: Effort, kind: str) -> int:
        """How many units of work the questions of this kind are."""
        if self.per == "question":
            return effort.count(kind)
        if self.per == "image":
            return effort.images(kind)
        histogram = effort.questions.get(kind, np.zeros(1, np.int64))
        return int(histogram @ -(-np.arange(len(histogram)) // self.page))


@dataclass(frozen=True)
class Prices:
    """A price list: rates by kind of question, people per question, wage in dollars an hour.

    workers      people per question, where the effort does not say how many answered.
    setup        dollars for a project, once anything is asked;  setup_class  dollars for a class.
    qa           quality assurance, management and rework, as a share of what questions cost.
    image        what loading an image costs a person, per image; None: nothing.
    Each comes with the text of its source.
    """

    name: str
    title: str
    workers: int
    rates: Mapping[str, Rate]
    wage: float | None = None
    workers_source: str = ""
    wage_source: str = ""
    setup: float = 0.0
    setup_class: float = 0.0
    setup_source: str = ""
    qa: float = 0.0
    qa_source: str = ""
    image: Rate | None = None

    def once_set_up(self) -> Prices:
        """The same list for what is bought later on: the set-up is paid already."""
        return replace(self, setup=0.0, setup_class=0.0)

    def at_wage(self, wage: float | str) -> Prices:
        """The same list at another wage.

        Parameters
        ----------
        wage : float or str
            Dollars an hour, as `simkit.quantities.dollars` reads them.

        Returns
        -------
        Prices

        Raises
        ------
        BadInput
            For a wage of 0 or none at all, and where a price of the list is in dollars, which no
            wage changes.
        """
        hourly = quantities.dollars(wage, "wage")
        if not hourly:
            raise BadInput(f"wage is {wage!r}; dollars an hour above 0 are expected, such as 15")
        rates = {**self.rates, **({"image": self.image} if self.image else {})}
        priced = [kind for kind, rate in rates.items() if rate.dollars is not None]
        if priced:
            raise BadInput(
                f"price list {self.name!r} has prices in dollars, not in seconds "
                f"({', '.join(priced)}), so a wage does not change it; leave the wage out, or take "
                "a list of seconds such as hourly"
            )
        return replace(self, wage=hourly, wage_source="set by the user")
