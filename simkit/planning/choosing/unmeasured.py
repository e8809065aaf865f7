"""What a plan does not weigh, as the pilot holds one value of it: people for a question, images."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.planning.choosing.candidates import Candidate, Curves
from simkit.planning.choosing.mixtures import suggestions
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money import bill as money
from simkit.planning.money.bill import Project


def worth_trying(
    curves: Curves, chosen: Candidate, evidence: Evidence, project: Project
) -> tuple[str, ...]:
    """A sentence for each pilot point that may be worth its price: mixtures, then `unmeasured`."""
    mixed = (one.told for one in suggestions(curves, chosen, evidence, project))
    return (*mixed, *unmeasured(chosen, evidence, project))


def unmeasured(chosen: Candidate, evidence: Evidence, project: Project) -> Iterator[str]:
    """Sentences about pilot points that would let a plan weigh them too.

    How many people answer each question, where no run had fewer of them; and how many images the
    same dollars are spread over, where the amount grew on one number of images alone.
    """
    yield from _people(chosen, evidence, project)
    yield from _spread(chosen, evidence, project)


def _people(chosen: Candidate, evidence: Evidence, project: Project) -> Iterator[str]:
    way, prices = chosen.way, project.prices
    people = evidence.ladder(way, prices).workers
    alike = [other for other in evidence.ways if other.scheme == way.scheme]
    if people < 2 or any(evidence.ladder(o, prices).workers < people for o in alike):
        return
    bill = money.bill(project, evidence, way, chosen.method, chosen.dollars)
    more = sum(line.dollars for line in bill.lines if line.what == "redundancy")
    worth = "how much worse the answers of fewer are"
    if way.habits.perfect:
        worth = "what the others are worth; people who never err, as in its runs, need no others"
    yield (
        f"fewer people for a question: {people} answer each, all but one of them for ${more:,.2f} "
        f"of the ${chosen.total:,.2f}, and no run had fewer, so that the plan does not know "
        f"{worth}: compare with habits = {{ workers = {people // 2}, miss = 0.1 }} as well"
    )


def _spread(chosen: Candidate, evidence: Evidence, project: Project) -> Iterator[str]:
    way = chosen.way
    pools = {other.images for other in evidence.ways if other.scheme == way.scheme}
    if way.grows == "images" or len(pools) > 1:
        return
    pool = evidence.ladder(way, project.prices).pool
    if project.images is not None and project.images < pool:
        return
    yield (
        f"{way.scheme} on fewer and on more images: its {way.grows} grew on {pool:,} images alone, "
        "so that the plan does not weigh many images with few labels each against few with many: "
        "compare with images = 0.5 as well"
    )
