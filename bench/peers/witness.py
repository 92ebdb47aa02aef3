"""The target of the rows that hold a rate: a server of our own that notes when each request came (witness.c)."""

import hashlib
import os
import subprocess
import time
from array import array

import measure
from clients import BENCH, TOOLS
from server import Seen, Server, on_cpu_s

# A step of the wall clock in mid-turn, which the witness's stamps would show as lateness.
CLOCK_STEP_MOST_NS = 50_000


class Witness(Server):
    """As it is compiled by install.sh."""

    name = "witness"
    tool = "witness"
    program = TOOLS / "witness"
    source = BENCH / "peers/witness.c"

    def __init__(self, folder, core):
        super().__init__(folder, core)
        self.cpu_s = 0.0
        self.clocks_ns = clocks_apart_ns()

    @staticmethod
    def version():
        return hashlib.sha256(Witness.source.read_bytes()).hexdigest()[:8]

    def start(self):
        with (self.folder / "error.log").open("wb") as errors:
            self.spawn([str(self.program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self.port = int(self.process.stdout.readline() or 0)

    def stop(self):
        super().stop()
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()

    def seen(self):
        """Since it was last asked."""
        clocks_ns = clocks_apart_ns()
        try:
            cpu_s = on_cpu_s(self.process.pid)
            # Past the buffer, which would keep and repeat what can't be written.
            os.write(self.process.stdin.fileno(), b"\n")
            connections, requests, unstamped, kept = self.words(4)
            arrivals_ns = self.words(kept)
        except (OSError, ValueError) as error:
            raise measure.Fault(f"the witness is gone: {measure.tail(self.folder / 'error.log')}") from error
        stepped_ns, self.clocks_ns = abs(clocks_ns - self.clocks_ns), clocks_ns
        used_s, self.cpu_s = cpu_s - self.cpu_s, cpu_s
        if unstamped or kept < requests:
            raise measure.Fault(f"the kernel stamped only {kept} of {requests} requests")
        if stepped_ns > CLOCK_STEP_MOST_NS:
            raise measure.Fault(f"the wall clock was set by {stepped_ns / 1e3:.0f} µs meanwhile")
        return Seen(connections, requests, used_s, arrivals_ns)

    def words(self, count):
        found = array("Q")
        # Bytes that are no whole number of words are a ValueError, too.
        found.frombytes(self.process.stdout.read(count * found.itemsize))
        if len(found) != count:
            raise ValueError("it ended")
        return found


def clocks_apart_ns():
    """What changes only when somebody sets the wall clock."""
    # Several times, since this process may lose its core between the two readings.
    return max(
        time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC) for _ in range(9)
    )
