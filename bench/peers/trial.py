"""One contender's turn in a round: run it, hold its word against the server's count, and keep what it used."""

from dataclasses import dataclass, replace

import measure
from clients import Client
from lateness import Lateness, lateness
from work import Said, Unreadable, Work

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

    said: Said
    wall_s: float
    user_s: float
    sys_s: float
    rss_max_kib: int
    switches: int
    server_s: float
    stolen_s: float
    elsewhere_s: float
    late: Lateness | None = None

    def without(self, start):
        """This run less a tiny one: what the requests between them cost. Speed, peak and noise stay."""
        return replace(
            self,
            said=replace(self.said, requests=self.said.requests - start.said.requests),
            user_s=self.user_s - start.user_s,
            sys_s=self.sys_s - start.sys_s,
            switches=self.switches - start.switches,
            server_s=self.server_s - start.server_s,
        )


def turn(contender, server, cores, scratch):
    """One measured turn, as numbers by name: those of a request in microseconds, so seconds a million."""
    raw = once(contender, server, cores, scratch)
    if contender.client.slow_start:
        work = contender.work
        tiny = replace(contender, work=replace(work, requests=work.connections, rate=0))
        raw = raw.without(once(tiny, server, cores, scratch))
    return sample(raw) | (pace(contender, raw) if contender.work.rate else {})


def sample(raw):
    each = max(raw.said.requests, 1)
    return {
        "requests": raw.said.requests,
        "rate": raw.said.rate,
        "p50_us": raw.said.p50_us,
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
        "invalid": raw.said.invalid,
    }


def pace(contender, raw):
    """The further numbers of a turn that held a rate."""
    said, late = raw.said, raw.late
    numbers = {
        "sent_pct": late and late.sent_pct,
        "p99_us": said.p99_us,
        "lag_p50_us": said.lag_p50_us,
        "lag_p99_us": said.lag_p99_us,
        "late_p50_us": late and late.p50_us,
        "late_p99_us": late and late.p99_us,
        "late_max_us": late and late.max_us,
        "in_time_pct": late and late.in_time_pct,
        "stolen_ms": raw.stolen_s * 1e3,
    }
    return numbers if contender.client.from_due else numbers | {"p50_us": None, "p99_us": None}


def once(contender, server, cores, scratch):
    client, work = contender.client, contender.work
    url = server.url(work.path)
    prepare(client, work, url, scratch)
    # What came before isn't this turn's.
    server.seen()
    machine = measure.Machine.now()
    words = contender.words(url, scratch)
    used, text = measure.run(words, cores[contender.cores], scratch, TIMEOUT_S, client.exit_codes)
    seen, machine_after = server.seen(), measure.Machine.now()
    said = believed(contender, text, scratch, seen)
    busy_s = machine_after.busy_s - machine.busy_s
    return Raw(
        said=said,
        wall_s=used.wall_s,
        user_s=used.user_s,
        sys_s=used.sys_s,
        rss_max_kib=used.rss_max_kib,
        switches=used.switches_voluntary + used.switches_involuntary,
        server_s=seen.cpu_s,
        stolen_s=machine_after.stolen_s - machine.stolen_s,
        elsewhere_s=max(busy_s - used.user_s - used.sys_s - seen.cpu_s, 0.0),
        late=lateness(seen.arrivals_ns, work.rate, work.requests) if work.rate and seen.arrivals_ns else None,
    )


def prepare(client, work, url, scratch):
    """The client's files, and no other: what an earlier turn left must not be read as this one's."""
    for old in scratch.iterdir():
        old.unlink()
    for name, text in client.files(url, work).items():
        (scratch / name).write_text(text, encoding="utf-8")


def believed(contender, text, scratch, seen):
    """What the client says, where nothing speaks against it."""
    try:
        said = contender.client.said(text, scratch)
    except Unreadable as error:
        raise measure.Fault(str(error)) from error
    wrong = faults(contender, said, seen.requests, seen.connections)
    if wrong:
        raise measure.Fault("; ".join(wrong))
    return said


def faults(contender, said, counted, connections):
    """Why this run doesn't count; nothing where all that was asked was done, by the server's count too."""
    work, timed = contender.work, contender.client.timed
    found = []
    if said.errors:
        found.append(f"{said.errors} requests failed")
    # Who can't hold a rate sends less, which is shown; who sends more does other work.
    if not timed and (said.requests > work.requests if work.rate else said.requests != work.requests):
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
