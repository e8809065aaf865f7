"""One named class, then questions down the hierarchy."""

from __future__ import annotations

from typing import ClassVar, Literal

from simkit.annotate.schemes import Crowd, Scheme, register
from simkit.chance import Chance
from simkit.registry import setting


@register
class KnowledgeGraph(Scheme):
    """Name one present class of the hierarchy, then ask about all branches beside its path.

    Its ancestors are present, too, a "no" settles a whole branch, and classes below the named one
    stay unknown. The other modes are other readings of the paper: `truth` labels all classes
    neither on the path nor below it one by one (hardly any label stays unknown), and `path-only`
    asks nothing more. Needs a hierarchy and a truth closed under it.

    Example: simkit simulate --scheme knowledge-graph --mode path-only
    """

    name: ClassVar[str] = "knowledge-graph"
    title: ClassVar[str] = "Knowledge graph"
    gist: ClassVar[str] = "questions down a class tree"
    source: ClassVar[str] = "Kundu & Tighe, NeurIPS 2020, section 4.1.2"
    amount: ClassVar[str | None] = None
    caution: ClassVar[str] = (
        "What stands below the named class is unknown although some of it may be there. Classes "
        "near the top are labelled more often than leaves below them, and absent labels come by "
        "whole branches. Ancestors are those of the hierarchy, also where nobody would name them."
    )
    needs_hierarchy = True

    # The paper leaves open what becomes of classes beside the path.
    mode: Literal["verify", "truth", "path-only"] = setting(
        "verify",
        "asked beside the path: siblings and top classes (verify), every class (truth) "
        "or nothing (path-only)",
    )

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        crowd.descend(crowd.images, chance=chance, mode=self.mode)
