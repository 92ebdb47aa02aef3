"""What a row of the bench is: one table."""

from dataclasses import dataclass

from goals import Goal
from nginx import Nginx
from server import Server
from trial import Contender

# The common columns: what a load generator costs, and what it measures.
COST = ("cpu_us", "user_us", "sys_us", "rate", "p50_us", "rss_mib", "switches", "server_us", "requests")
COST_RATIOS = ("cpu_us", "rate", "p50_us", "rss_mib", "switches")


@dataclass(frozen=True)
class Row:
    """Who does what, what is shown, and what is to be reached. `pairs` are (of, to): the ratios that are shown."""

    name: str
    title: str
    contenders: tuple[Contender, ...]
    pairs: tuple[tuple[str, str], ...]
    goals: tuple[Goal, ...]
    columns: tuple[str, ...] = COST
    ratios: tuple[str, ...] = COST_RATIOS
    notes: tuple[str, ...] = ()
    # Turns so short that more of them are needed.
    rounds_factor: int = 1
    server: type[Server] = Nginx
    # Once and all contenders at the same time, for as long as a soak takes; not one of `all`.
    soak: bool = False

    def rounds(self, asked):
        """How many are played where so many are asked for."""
        return 1 if self.soak else asked * self.rounds_factor
