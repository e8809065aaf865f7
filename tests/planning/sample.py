"""A plan written by hand, whose names try to break out of every rendering."""

from dataclasses import replace

from simkit.planning.told.parts import (
    Change,
    Check,
    CheckRow,
    Item,
    Line,
    Purchase,
    Reach,
    Rival,
    Step,
)
from simkit.planning.told.planned import Plan

EVIL = "<script src=https://example.org/x.js></script>"

CHOSEN = Purchase(
    way="single-positive",
    scheme="single-positive(positives=1)",
    method="ll-r",
    images=12_000,
    labels=12_000,
    per_image=1.0,
    workers=3,
    dollars=4_000.0,
    total=4_900.0,
    median=0.712,
    low20=0.698,
    mean=0.711,
    band50=(0.701, 0.722),
    band90=(0.684, 0.741),
    chance=0.93,
    grade="amber",
    times=4.0,
)
CHECK = Check(
    rows=(
        CheckRow("single-positive", "ll-r", 2.0, 0.655, 0.651, 0.640, 0.668, True),
        CheckRow("full-subset", "an", 2.0, 0.640, 0.610, 0.600, 0.625, False),
    ),
    count=8,
    inside=4,
    coverage=0.5,
    width=0.027,
    error=0.017,
    passed=False,
    factor=2.0,
)
DOLLARS = (100.0, 400.0, 1000.0, 4000.0)
LINES = (
    Line(
        "single-positive",
        "ll-r",
        DOLLARS,
        (0.50, 0.60, 0.655, 0.712),
        (0.48, 0.59, 0.64, 0.684),
        (0.52, 0.61, 0.67, 0.741),
        ((100.0, 0.49), (100.0, 0.51), (400.0, 0.605), (1000.0, 0.655)),
    ),
    Line(
        "full-subset",
        "an",
        DOLLARS,
        (0.45, 0.57, 0.64, 0.705),
        (0.43, 0.55, 0.62, 0.66),
        (0.47, 0.59, 0.66, 0.74),
        ((100.0, 0.45), (400.0, 0.57), (1000.0, 0.64)),
    ),
    Line(
        "fpc",
        "csl",
        DOLLARS,
        (0.40, 0.50, 0.56, 0.62),
        (0.38, 0.48, 0.53, 0.57),
        (0.42, 0.52, 0.59, 0.67),
        ((100.0, 0.40), (400.0, 0.50), (1000.0, 0.56)),
    ),
)


def sample(**changes) -> Plan:
    """The plan, with some fields otherwise."""
    return replace(
        Plan(
            question="What to buy for $5,000: 80 classes, 60,000 images",
            recommendation="Buy single-positive on 12,000 images and train ll-r.",
            chosen=CHOSEN,
            budget=5_000.0,
            left=4_400.0,
            target=0.68,
            prices="google",
            prices_from=("Google Data Labeling Service, tier 1",),
            bill=(
                Item("labels: name", 3_500.0, "12,000 questions, 3 people each"),
                Item("quality assurance", 500.0, "14 % of the questions"),
                Item("test set", 900.0, "600 images, to know mAP to 2 points"),
            ),
            rivals=(
                Rival(
                    "full-subset",
                    "an",
                    "full-subset",
                    900,
                    72_000,
                    4_000.0,
                    4_900.0,
                    0.705,
                    0.007,
                    -0.031,
                    0.044,
                    0.62,
                    (850.0,),
                    "Overtakes.",
                ),
                Rival(
                    "fpc",
                    "csl",
                    "fpc(per_class=80)",
                    9_000,
                    12_800,
                    3_000.0,
                    3_900.0,
                    0.62,
                    0.092,
                    0.041,
                    0.139,
                    1.0,
                    (),
                    "Never.",
                ),
            ),
            method_spec="ll-r(delta=0.5, k_of='batch')",
            settings=(("delta", "0.5"), ("learning rate", "0.1")),
            steps=(
                Step(600.0, 600.0, 1_800, 0.62, "single-positive", "validation mAP"),
                Step(3_400.0, 4_000.0, 12_000, 0.712, "single-positive", "test mAP"),
            ),
            changes=(
                Change(
                    "wage +50 %", 5_100.0, 0.70, "the same", "all that is paid by time costs more"
                ),
                Change("recall -10 points", 4_000.0, None, "not known", "not on file"),
            ),
            check=replace(CHECK, passed=True, inside=8, coverage=1.0),
            reach=Reach(0.68, (1_000.0, 1_400.0, 1_900.0, 3_000.0, None), 0.94, 20_000.0),
            lines=LINES,
            assumptions=("The pilot's images are like the rest.",),
            left_out=("rpa has two sizes only",),
            command="simkit plan runs/ --budget 5000",
            ids=(("truth", "0123456789abcdef"),),
            versions=(("simkit", "0.1"),),
        ),
        **changes,
    )


def evil() -> Plan:
    """The plan with markup in every name that a user can choose."""
    chosen = replace(CHOSEN, way=EVIL, method=EVIL, scheme=EVIL)
    line = replace(LINES[0], way=EVIL, method='" onload="alert(1)')
    return sample(
        question=EVIL,
        recommendation=EVIL,
        chosen=chosen,
        lines=(line, *LINES[1:]),
        bill=(Item(EVIL, 1.0, EVIL),),
        rivals=(Rival(EVIL, EVIL, EVIL, 1, 1, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.5, (), EVIL),),
        settings=((EVIL, EVIL),),
        method_spec=EVIL,
        steps=(Step(1.0, 1.0, 1, 0.5, EVIL, EVIL),),
        changes=(Change(EVIL, 1.0, 0.5, EVIL, EVIL),),
        prices_from=("https://example.org/prices", EVIL),
        assumptions=(EVIL,),
        left_out=(EVIL,),
        warnings=(EVIL,),
        worth_trying=(EVIL,),
        options=(chosen, CHOSEN),
        command=EVIL,
        ids=((EVIL, EVIL),),
        versions=((EVIL, EVIL),),
    )
