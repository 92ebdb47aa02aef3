"""What a row is to reach, and whether it did. A miss is printed beside the goal."""

from collections.abc import Callable
from dataclasses import dataclass

from figures import Interval, Results

# We stand in the tables twice: as we are compared where nothing else is said, and with a loop that spins.
OURS = "volley"
SPINNING = "volley spin on"


@dataclass(frozen=True)
class Goal:
    """`measure` gives the figure in words, and the verdict on it."""

    text: str
    measure: Callable[[Results], tuple[str, str]]


CANNOT_TELL = "can't tell"
NOT_MEASURED = ("not measured", CANNOT_TELL)


def judged(value, limit):
    return "reached" if value <= limit else "missed"


def judged_ratio(ratio, limit):
    """The median decides; an interval on both sides of the limit says that it could be otherwise."""
    crosses = ratio.low <= limit < ratio.high
    return judged(ratio.median, limit) + (", but the interval crosses it" if crosses else "")


def best_peer(results, number="cpu_us", best=min):
    """The peer that takes the least CPU a request, or has the best of another number."""
    figures = {label: results.median(label, number) for label in results.labels() if label not in (OURS, SPINNING)}
    told = {label: figure for label, figure in figures.items() if figure is not None}
    return best(told, key=told.get) if told else None


def of_best(number, limit, text):
    """Ours to the best peer's, paired; the median decides."""

    def measured(results):
        peer = best_peer(results)
        ratio = results.ratio(OURS, peer, number) if peer else None
        if ratio is None:
            return (f"{peer} doesn't tell it", CANNOT_TELL) if peer else NOT_MEASURED
        return f"{interval(ratio)} of {peer}'s", judged_ratio(ratio, limit)

    return Goal(text, measured)


def cpu_of_best(limit):
    return of_best("cpu_us", limit, f"CPU at most {limit:.2f} of the best peer's")


def cpu_of(limit, peer):
    """To the peer that is the best one known for this work."""
    return pair(OURS, peer, "cpu_us", limit, f"CPU at most {limit:.2f} of {peer}'s")


def p50_of_best():
    return of_best("p50_us", 1.0, "p50 no worse than that peer's")


def p50_of(peer):
    return pair(OURS, peer, "p50_us", 1.0, f"p50 no worse than {peer}'s")


def at_most(number, limit, unit, what, label=OURS):
    """One figure of ours, whatever the peers need."""

    def measured(results):
        median = results.median(label, number)
        return NOT_MEASURED if median is None else (f"{median:.1f} {unit}", judged(median, limit))

    return Goal(f"{what} at most {limit} {unit}", measured)


def pair(label, other, number, limit, text):
    def measured(results):
        ratio = results.ratio(label, other, number)
        return NOT_MEASURED if ratio is None else (interval(ratio), judged_ratio(ratio, limit))

    return Goal(text, measured)


def all_sent(label):
    """In each round, since what one round lacks another can't make up for."""

    def measured(results):
        share = results.spread(label, "sent_pct")
        if share is None:
            return NOT_MEASURED
        return f"{share.low:.3f} % in the worst round", judged(100, share.low)

    return Goal(f"{label}: all sent", measured)


def in_time_as_best(label):
    """The share that was sent within 1 ms, to that of the peer with the largest one."""

    def measured(results):
        peer = best_peer(results, "in_time_pct", max)
        found = results.difference(label, peer, "in_time_pct") if peer else None
        if found is None:
            return NOT_MEASURED
        shares = " against ".join(f"{results.median(one, 'in_time_pct'):.3f} %" for one in (label, peer))
        words = f"{shares} of {peer}'s: {found.median:+.3f} [{found.low:+.3f}, {found.high:+.3f}] points"
        # As a limit from below.
        return words, judged_ratio(Interval(-found.median, -found.high, -found.low), 0)

    return Goal(f"{label}: share sent within 1 ms no worse than the best peer's", measured)


def within(labels, number, share, text):
    """The largest of these medians to the smallest."""

    def measured(results):
        medians = [results.median(label, number) for label in labels]
        if None in medians or not min(medians):
            return NOT_MEASURED
        factor = max(medians) / min(medians)
        return f"the most is {factor:.2f} times the least", judged(factor, 1 + share)

    return Goal(text, measured)


def interval(ratio):
    return f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
