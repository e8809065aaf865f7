"""How is each class represented before and after annotation?"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.study.analysis.asked import by_name
from simkit.study.analysis.labelling.revealed import check_same


def distributions(truth: Truth, labelled: Mapping[str, PartialLabels]) -> pa.Table:
    """One row for each scheme and class, classes by falling true frequency.

    Columns: scheme, class, rank (0: most frequent), true (images in which the class is present),
    present and absent (labels of the scheme), found (present / true, nan where true is 0).
    Raises BadInput for labels of other images or classes, and for none.
    """
    by_name(labelled, "labels", "{'rpa': labels}", "distributions")
    order = (-truth.counts).argsort(kind="stable")
    rows = []
    for name, labels in labelled.items():
        check_same(truth, labels, name)
        present, absent = labels.per_class(PRESENT), labels.per_class(ABSENT)
        for rank, c in enumerate(order):
            true = int(truth.counts[c])
            rows.append(
                {
                    "scheme": name,
                    "class": truth.classes[c],
                    "rank": rank,
                    "true": true,
                    "present": int(present[c]),
                    "absent": int(absent[c]),
                    "found": present[c] / true if true else float("nan"),
                }
            )
    return pa.Table.from_pylist(rows)
