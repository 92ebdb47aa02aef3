"""One contender's turn in a round: run it, hold its word against the server's count, and keep what it used."""

from dataclasses import dataclass, replace

import measure
from clients import Client
from work import Unreadable, Work

# What any run may take; with the longest some 10 s on a slow machine.
TIMEOUT_S = 120


@dataclass(frozen=True)
class Contender:
    """A client with its work in a row, under the name that the tables use."""

    label: str
    client: Client
    work: Work
    # "one": the clients' core; "two": two cores, one of them the server's where there are no more; "all".
    cores: str = "one"

    def words(self, url, scratch):
        return self.client.command(url, self.work, scratch)


@dataclass(frozen=True)
class Raw:
    """What one process used in all, and what it came to."""

    requests: int
    rate: float | None
    p50_us: float | None
    wall_s: float
    user_s: float
    sys_s: float
    rss_max_kib: int
    switches: int
    server_s: float
    stolen_s: float
    elsewhere_s: float

    def without(self, start):
        """This run less a tiny one: what the requests between them cost. Speed, peak and noise stay."""
        return replace(
            self,
            requests=self.requests - start.requests,
            user_s=self.user_s - start.user_s,
            sys_s=self.sys_s - start.sys_s,
            switches=self.switches - start.switches,
            server_s=self.server_s - start.server_s,
        )


def turn(contender, server, cores, scratch):
    """One measured turn, as numbers by name: those of a request in microseconds, so seconds a million."""
    raw = once(contender, server, cores, scratch)
    if contender.client.slow_start:
        tiny = replace(contender, work=replace(contender.work, requests=contender.work.connections))
        raw = raw.without(once(tiny, server, cores, scratch))
    return sample(raw)


def sample(raw):
    each = max(raw.requests, 1)
    return {
        "requests": raw.requests,
        "rate": raw.rate,
        "p50_us": raw.p50_us,
        "wall_ms": raw.wall_s * 1e3,
        "cpu_ms": (raw.user_s + raw.sys_s) * 1e3,
        "user_us": raw.user_s * 1e6 / each,
        "sys_us": raw.sys_s * 1e6 / each,
        "cpu_us": (raw.user_s + raw.sys_s) * 1e6 / each,
        "server_us": raw.server_s * 1e6 / each,
        "switches": raw.switches / each,
        "rss_mib": raw.rss_max_kib / 1024,
        "stolen_s": raw.stolen_s,
        "elsewhere_s": raw.elsewhere_s,
    }


def once(contender, server, cores, scratch):
    client, work = contender.client, contender.work
    # What an earlier turn left must not be read as this one's.
    for old in scratch.iterdir():
        old.unlink()
    machine, counts = measure.Machine.now(), server.counts()
    words = contender.words(server.url(work.path), scratch)
    used, text = measure.run(words, cores[contender.cores], scratch, TIMEOUT_S)
    counts_after, machine_after = server.counts(), measure.Machine.now()
    try:
        said = client.said(text, scratch)
    except Unreadable as error:
        raise measure.Fault(str(error)) from error
    # The second asking counted itself.
    connections = counts_after.connections - counts.connections - 1
    requests = counts_after.requests - counts.requests - 1
    wrong = faults(contender, said, requests, connections)
    if wrong:
        raise measure.Fault("; ".join(wrong))
    server_s = counts_after.cpu_s - counts.cpu_s
    busy_s = machine_after.busy_s - machine.busy_s
    return Raw(
        requests=said.requests,
        rate=said.rate,
        p50_us=said.p50_us,
        wall_s=used.wall_s,
        user_s=used.user_s,
        sys_s=used.sys_s,
        rss_max_kib=used.rss_max_kib,
        switches=used.switches_voluntary + used.switches_involuntary,
        server_s=server_s,
        stolen_s=machine_after.stolen_s - machine.stolen_s,
        elsewhere_s=max(busy_s - used.user_s - used.sys_s - server_s, 0.0),
    )


def faults(contender, said, counted, connections):
    """Why this run doesn't count; nothing where all that was asked was done, by the server's count too."""
    work, timed = contender.work, contender.client.timed
    found = []
    if said.errors:
        found.append(f"{said.errors} requests failed")
    if not timed and said.requests != work.requests:
        found.append(f"{said.requests} of {work.requests} requests were done")
    # A client that ends by time leaves some on their way.
    in_flight = work.connections if timed else 0
    if not said.requests <= counted <= said.requests + in_flight:
        found.append(f"it tells of {said.requests} requests, the server of {counted}")
    # Twice: a client may look first whether anybody is there. 50 is the clients' default.
    if work.keep_alive and connections > 2 * (work.connections or 50):
        found.append(f"it opened {connections} connections instead of keeping {work.connections}")
    if not work.keep_alive and connections < said.requests:
        found.append(f"it opened {connections} connections for {said.requests} requests")
    return found
