"""What the keys of a plan's JSON mean."""

from __future__ import annotations

import textwrap

# [] stands for each one of a list.
_PURCHASE = {
    "way": "how labels are bought, for people",
    "scheme": "the scheme spelled with its amount, as --scheme takes it",
    "method": "the method that is trained on them",
    "images": "how many are asked about",
    "labels": "known (image, class) labels then",
    "per_image": "labels for each of these images",
    "workers": "people who answer each question; null: as the price list says",
    "dollars": "of training labels",
    "total": "dollars of the whole bill, set-up and all else that comes besides included",
    "median": "median of mAP",
    "low20": "the mAP that is reached four times in five: its 20 % quantile",
    "mean": "mean of mAP",
    "band50": "[low, high]: mAP lies inside in half of the cases",
    "band90": "[low, high]: mAP lies inside nine times in ten",
    "chance": "that mAP reaches the target, 0 to 1; null: there is no target",
    "grade": "green, amber or red: how far this lies beyond the pilot",
    "times": "its dollars as multiples of the pilot's largest size",
    "note": "why it was chosen among equals; else empty",
}
KEYS = {
    "id": "content id of all that the plan says, but for the command",
    "question": "what was asked, in a line",
    "recommendation": "the plan in one sentence",
    **{f"chosen.{key}": told for key, told in _PURCHASE.items()},
    "budget": "dollars for everything",
    "left": "dollars of the budget for training labels, without all that comes besides",
    "target": "the mAP that is wanted, 0 to 1; null: none",
    "prices": "name of the price list",
    "prices_from[]": "where its prices are from, a sentence each",
    "bill[].what": "a line of the bill; together they are chosen.total",
    "bill[].dollars": "what it costs",
    "bill[].how": "how that was counted",
    "rivals[].way": "what was not chosen, for people",
    "rivals[].method": "the method that is trained on it",
    "rivals[].scheme": "the scheme with the amount to order instead",
    "rivals[].images": "how many are asked about then",
    "rivals[].labels": "known labels then",
    "rivals[].dollars": "of its training labels",
    "rivals[].total": "of its whole bill; less than chosen.total where its curve ends before",
    "rivals[].median": "median of its mAP there",
    "rivals[].difference": "mAP of the choice less its own: median of paired samples",
    "rivals[].low5": "5 % quantile of that difference",
    "rivals[].high95": "95 % quantile of that difference",
    "rivals[].sure": "share of samples in which the choice is ahead",
    "rivals[].break_even[]": "totals, in dollars, at which the order turns",
    "rivals[].told": "the same in words",
    "rivals[].saturated": "its pilot ran out of images: it is rather better, and `sure` not known",
    "rivals[].paired": "whether both curves are of the same draws",
    "method_spec": "the method with all its settings, as --method takes it",
    "settings[]": "[name, value]: of its training, what matters most",
    "steps[].dollars": "of labels in this round of buying",
    "steps[].total": "dollars of labels in this and all rounds before",
    "steps[].images": "that are asked about after it, those of rounds before included",
    "steps[].median": "median of mAP after it",
    "steps[].scheme": "the scheme with the amount that is there after it",
    "steps[].measure": "what to measure after it, and what to do then",
    "changes[].what": "an assumption that is otherwise",
    "changes[].same": "dollars that the labels of the plan cost then; null: not known",
    "changes[].median": "mAP of the chosen way and method for the budget then; null: not known",
    "changes[].choice": 'what would be recommended then; "the same": what is now',
    "changes[].told": "what is assumed",
    "check.rows[].way": "the back-test: whose size was predicted from smaller ones, the choice's "
    "or a rival's",
    "check.rows[].method": "the method of its curve",
    "check.rows[].times": "its dollars as multiples of the largest of these smaller ones",
    "check.rows[].measured": "mean mAP that was measured",
    "check.rows[].predicted": "median of mAP that was predicted",
    "check.rows[].low5": "low end of its 90 % band",
    "check.rows[].high95": "high end of its 90 % band",
    "check.rows[].inside": "whether what was measured lies in the band",
    "check.rows[].same[]": "other methods with this very curve, as on complete labels",
    "check.count": "sizes of all curves that were predicted, those without a row included",
    "check.inside": "how many of them lie in their bands",
    "check.coverage": "the same as a share",
    "check.width": "mean width of the bands, mAP",
    "check.error": "median absolute error of the predictions, mAP",
    "check.passed": "whether the bands of all curves together held",
    "check.factor": "how many times beyond the smaller sizes they lie on average",
    "check.singles": "share of single draws, not of their means, in the bands; null: not known",
    "reach.target": "the target again; reach is null without one",
    "reach.way": "how it is reached for the least money, for people",
    "reach.method": "the method that is trained on these labels",
    "reach.quantiles[]": "dollars of these labels that are enough with a chance of 5, 25, 50, 75 "
    "and 95 %; null: not below reach.most",
    "reach.reached": "share of samples that reach the target below reach.most",
    "reach.most": "dollars of labels up to which the curve is followed",
    "reach.total": "dollars of the whole bill that reach it with a chance of 95 %; null: none do",
    **{f"reach.enough.{key}": f"that purchase: {told}" for key, told in _PURCHASE.items()},
    "lines[].way": "a curve that is drawn, the choice's first",
    "lines[].method": "its method",
    "lines[].dollars[]": "of training labels, ascending",
    "lines[].median[]": "median of mAP at these dollars",
    "lines[].low5[]": "low end of the 90 % band there",
    "lines[].high95[]": "high end of the 90 % band there",
    "lines[].points[]": "[dollars, mAP] of the pilot's runs",
    "assumptions[]": "what is taken to hold, a sentence each",
    "left_out[]": "what was on file and has no curve, a sentence each",
    "ends[]": "where curves end before the budget does, a sentence each",
    "warnings[]": "what to read first, a sentence each",
    "worth_trying[]": "what a larger pilot may try, a sentence each",
    **{f"options[].{key}": f"for less money: {told}" for key, told in _PURCHASE.items()},
    "risk": "robust or expected: what was made as high as possible",
    "command": "the line of a shell that makes this plan again",
    "images": "which images mAP is of: the test split, or new images where that is small",
    "rounds": "purchases that were asked for, at most: steps can be fewer",
    "seed": "of all resampling",
    "ids[]": "[what, content id]: of what was read",
    "versions[]": "[what, version]: of the programs it was made with",
}


def told(*, width: int = 100) -> str:
    """A line for each key; those of other purchases are those of chosen."""
    again = ("options[].", "reach.enough.")
    shown = {key: text for key, text in KEYS.items() if not key.startswith(again)}
    shown["options[]"] = "purchases for less money, cheapest first, with the keys of chosen"
    shown["reach.enough"] = "that purchase, with the keys of chosen; null: the budget is too small"
    room = max(map(len, shown)) + 2
    lines = [
        "What `simkit plan --json` and a .json report hold: dollars are of the price list,",
        "mAP is from 0 to 1, [] stands for each one of a list.",
    ]
    for key, text in shown.items():
        lines += textwrap.wrap(
            f"{key:{room}}{text}", max(width, room + 20), subsequent_indent=" " * room
        )
    return "\n".join(lines)
