"""Metrics: average precision, F1, top-1, the pointing game, and mAP of subsets."""

from simkit.metrics.ap import (
    Part,
    average_precision,
    class_groups,
    group_map,
    map_by_labels,
    mean_ap,
    overall_ap,
    present_counts,
)
from simkit.metrics.pointing import pointing_game, pointing_hits
from simkit.metrics.thresholds import (
    AtK,
    at_k,
    decisions,
    f1,
    f1_thresholds,
    precision_recall,
    top1,
)

__all__ = [
    "AtK",
    "Part",
    "at_k",
    "average_precision",
    "class_groups",
    "decisions",
    "f1",
    "f1_thresholds",
    "group_map",
    "map_by_labels",
    "mean_ap",
    "overall_ap",
    "pointing_game",
    "pointing_hits",
    "precision_recall",
    "present_counts",
    "top1",
]
