"""What a client is asked to do, and what it says it did."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """The same for all clients of a row, but for `requests`: slow ones get fewer, so that all take about as long."""

    path: str
    connections: int
    requests: int
    keep_alive: bool = True
    workers: int = 1


@dataclass(frozen=True)
class Said:
    """Read from a client's own output. Where a client doesn't tell a number, it is None."""

    requests: int
    errors: int
    rate: float | None
    p50_us: float | None


class Unreadable(Exception):
    """A client's output is not in the form that we know."""
