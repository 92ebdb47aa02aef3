"""How far requests came behind an even schedule, from nothing but the times at which they came. Pure."""

from dataclasses import dataclass

IN_TIME_NS = 1_000_000
NS_PER_S = 1_000_000_000
# What comes later after the last one was due is no longer part of the load that was asked for.
GRACE_NS = 100_000_000


@dataclass(frozen=True)
class Lateness:
    """How late requests were sent, in microseconds; the percentages are of those asked for, sent or not."""

    p50_us: float
    p99_us: float
    max_us: float
    # Within a millisecond.
    in_time_pct: float
    # By a tenth of a second after the last one was due.
    sent_pct: float


def lateness(arrivals_ns, rate, asked):
    """The k-th arrival, whichever request it was, is held against start + k / rate.

    Nobody tells the start from outside, so it is the latest one with which no arrival is early. It can't lie before a
    client's own start, unless the client sends early, so the lateness is at most the true one: a delay that all
    requests share isn't seen, and doesn't change the load; bursts, stalls and a rate that is too low are.
    """
    if not arrivals_ns:
        return None
    # Integers, multiplied first: a rounded period times k would drift.
    behind = [at_ns - k * NS_PER_S // rate for k, at_ns in enumerate(sorted(arrivals_ns))]
    start_ns = min(behind)
    late = sorted(at_ns - start_ns for at_ns in behind)
    end_ns = start_ns + asked * NS_PER_S // rate + GRACE_NS
    return Lateness(
        p50_us=ranked(late, 50) / 1e3,
        p99_us=ranked(late, 99) / 1e3,
        max_us=late[-1] / 1e3,
        in_time_pct=percentage(sum(one <= IN_TIME_NS for one in late), asked),
        sent_pct=percentage(sum(at_ns <= end_ns for at_ns in arrivals_ns), asked),
    )


def percentage(part, whole):
    return 100 * part / whole


def ranked(values, percent):
    """The value at or below which that many of the ordered values are (nearest rank)."""
    return values[max(-(-len(values) * percent // 100), 1) - 1]
