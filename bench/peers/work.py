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
    # Whether our loop spins before it sleeps; "" leaves it to the default.
    spin: str = "off"
    # Requests a second, whether or not they are answered (the open model); 0: each connection asks again once it has
    # its answer.
    rate: int = 0

    @property
    def seconds(self):
        """How long a rate is held."""
        return self.requests // self.rate


@dataclass(frozen=True)
class Said:
    """Read from a client's own output. Where a client doesn't tell a number, it is None."""

    requests: int
    errors: int
    rate: float | None
    p50_us: float | None
    # Only by those that take part where it is shown.
    p99_us: float | None = None
    # How late the client took its requests up, by itself.
    lag_p50_us: float | None = None
    lag_p99_us: float | None = None
    # It calls its own measurement invalid.
    invalid: bool = False


class Unreadable(Exception):
    """A client's output is not in the form that we know."""
