"""Medians, paired ratios and their intervals, from the rounds of a row. Pure."""

import random
import statistics
from dataclasses import dataclass

RESAMPLES = 5000
LEVEL = 0.95


@dataclass(frozen=True)
class Spread:
    """A median with the least and the most."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Interval:
    """The median of what pairs came to, ratios or differences, with its bootstrap interval."""

    median: float
    low: float
    high: float


class Results:
    """The valid rounds of one row: each has a sample, numbers by name, of every contender."""

    def __init__(self, rounds):
        self.rounds = rounds

    def labels(self):
        return list(self.rounds[0]) if self.rounds else []

    def spread(self, label, number):
        """None where the contender isn't there or doesn't tell this number."""
        values = [one[label][number] for one in self.rounds if label in one and one[label].get(number) is not None]
        return Spread(statistics.median(values), min(values), max(values)) if values else None

    def median(self, label, number):
        spread = self.spread(label, number)
        return spread.median if spread else None

    def ratio(self, label, other, number):
        """Of the first to the second, each with its partner of the same round; None where there is no such pair."""
        return ratio(self.pairs(label, other, number))

    def difference(self, label, other, number):
        """The first less the second, paired likewise."""
        return difference(self.pairs(label, other, number))

    def pairs(self, label, other, number):
        return [(one[label].get(number), one[other].get(number)) for one in self.rounds if {label, other} <= one.keys()]

    def count(self, label, number):
        """In how many rounds it is so."""
        return sum(bool(one[label].get(number)) for one in self.rounds if label in one)

    def total(self, number):
        """Of all contenders by round."""
        return [sum(sample[number] for sample in one.values()) for one in self.rounds]


def ratio(pairs):
    return bootstrap([ours / theirs for ours, theirs in pairs if ours is not None and theirs])


def difference(pairs):
    return bootstrap([ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None])


def bootstrap(values):
    """None where there is nothing."""
    if not values:
        return None
    # A seed of its own, so that the same rounds give the same interval.
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = (1 - LEVEL) / 2
    low, high = medians[int(tail * RESAMPLES)], medians[int((1 - tail) * RESAMPLES) - 1]
    return Interval(statistics.median(values), low, high)
