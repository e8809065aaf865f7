"""Several answers per question: the errors of their majority, their price, and what they gain.

Labels whose correlation with the truth is r are worth about r**2 times as many correct ones: the
effect of a measured feature on them is r times as large, at equal noise (for markers of genes:
Pritchard and Przeworski, American Journal of Human Genetics 2001). So errors of the rates m
(missed) and f (reported) cost a class of the share p

    -ln r**2,  r**2 = (1 - m - f)**2 p (1 - p) / (q (1 - q)),  q = (1 - m) p + f (1 - p)

of the logarithm of its labels: false alarms cost a rare class much more than misses do. The mean
over classes is the *cost* of errors. How much mAP it takes is measured, as in SIMEX (Cook and
Stefanski, JASA 1994): the references are trained with errors added at several levels, and the line
of logit mAP over the cost, through the labels as they are, is continued to the smaller cost of the
majority of several answers. In photographs of animals and of clothes (1,200 images, rates of 1 to
10 %) its slope was 0.29 to 0.37 and 0.19 to 0.25 at all levels of flips and of false alarms; with
flips its continuation to no errors was 15 % short at 2 % and 30 % at 5 %. Misses alone, whose cost
is small, took up to twice the slope.

From pilots of 375 photographs of animals, whose 125 test images had errors as well, the gains of 2
to 5 answers on 1,500 others were 1.05 to 1.35 times the predicted ones at 3 % of flips, and half of
them at 3 % missed and 0.2 % reported. On the pilot's own images they were 0.2 to 0.4 times the
predicted ones, hence the range (`curves.BENT`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from simkit.annotate.annotators import outvoted, ties
from simkit.files import reading
from simkit.results.test_split import Array, Errors

FILE = "answers.csv"  # of a project: the numbers of answers behind its labels
OFFERED = 1, 2, 3, 5  # answers per question
SUPPOSED = 0.0, 0.02, 0.05  # wrong answers, where their share is unknown


@dataclass(frozen=True)
class Answers:
    """Answers to every question, of different people who err independently.

    Attributes
    ----------
    number
        Answers per question; one more settles a tie.
    times
        Cost as a multiple of that of the price list's answers.
    errors
        Error rates of their majority; None if those of one answer are unknown.
    again
        Whether the questions asked so far get further answers, up to this number.
    """

    number: int = 1
    times: float = 1.0
    errors: Errors | None = None
    again: bool = False

    def settling(self, usual: int) -> float:
        """Answers per question that settle ties, beyond `number`."""
        return max(self.times * usual - self.number, 0.0)

    @staticmethod
    def of(number: int, errors: Errors, usual: int, shown: float) -> Answers:
        """So many answers of people with these error rates.

        usual: answers in the price list;  shown: share of the questions whose class is present.
        """
        miss, false_alarm = errors
        asked = number + shown * ties(miss, number) + (1 - shown) * ties(false_alarm, number)
        times = 1.0 if number == usual else asked / usual
        return Answers(number, times, (outvoted(miss, number), outvoted(false_alarm, number)))

    def __str__(self) -> str:
        return f"{self.number} answer{'s' * (self.number > 1)} to each question"


@dataclass(frozen=True)
class Lacking:
    """What answered questions lack to so many answers each.

    Attributes
    ----------
    questions
        Number of questions that get further answers.
    answers
        Number of these answers.
    dollars, seconds
        Their price and working time; seconds are nan if the price list has no times.
    """

    questions: int
    answers: float
    dollars: float
    seconds: float

    def with_ties(self, settling: float) -> tuple[float, float]:
        """Dollars and seconds with `settling` more answers per question, as ties need them."""
        times = 1 + settling * self.questions / self.answers
        return times * self.dollars, times * self.seconds


def answer_counts(project: Path | None) -> pd.DataFrame:
    """How many questions of a project's labels have 1, 2, 3 ... answers.

    Columns split, answers and questions. The table is empty without a project or its file. Raises
    BadInput if the file is damaged.
    """
    columns = ["split", "answers", "questions"]
    file = None if project is None else project / FILE
    if file is None or not file.is_file():
        return pd.DataFrame({name: [] for name in columns})
    with reading(file, "numbers of answers", "receive the answers again"):
        table = pd.read_csv(file)[columns]
        numbers = table[columns[1:]].apply(pd.to_numeric)
        if not ((numbers >= 1) & (numbers % 1 == 0)).all(axis=None):
            raise ValueError("answers and questions are expected to be whole numbers from 1 on")
        return table.assign(**numbers.astype(np.int64))


def together(errors: Errors, added: Errors) -> Errors:
    """The rates of errors that are added to labels with errors."""
    (miss, false_alarm), (more, further) = errors, added
    return (
        1 - (1 - miss) * (1 - more) - miss * further,
        false_alarm * (1 - more) + (1 - false_alarm) * further,
    )


def true_shares(seen: Array, errors: Errors) -> Array:
    """(L',) share of images that show each class, from the share of its labels with errors."""
    miss, false_alarm = errors
    return (seen - false_alarm) / (1 - miss - false_alarm)


def cost_of(errors: Errors, shares: Array) -> float:
    """Mean over classes of -ln r**2 (see the module), for the true shares (L',) of the classes."""
    miss, false_alarm = errors
    seen = (1 - miss) * shares + false_alarm * (1 - shares)
    worth = (1 - miss - false_alarm) ** 2 * shares * (1 - shares) / (seen * (1 - seen))
    return float(-np.log(worth).mean())
