"""The rows of the closed model, where each connection asks again once it has its answer.

Counts are such that a turn takes about 1 to 3 s on a core that does 110,000 small requests a second with the best
client. Slow clients get a smaller count of the same work; every count is a multiple of the connections, since some
clients round it down to one.
"""

from dataclasses import replace

import goals
from clients import CLIENTS
from goals import OURS, SPINNING
from nginx import Nginx, NginxTls
from row import Row
from trial import Contender
from work import Work

SPIN_NOTE = f"`{OURS}` is with `--spin off`; a loop that spins polls for a while before it sleeps."


def against_peers(name, title, work, aims, fewer=None, notes=(), spinning=(), server=Nginx):
    """We and the peers with the same work. `fewer` divides a client's count; one of 0 leaves the client out. We take
    part a second time, with a spinning loop, where `spinning` names those that it is shown against."""
    divisors = {"hey": 4} | (fewer or {})
    contenders = [Contender(OURS, CLIENTS[OURS], work)]
    if spinning:
        contenders.append(Contender(SPINNING, CLIENTS[OURS], replace(work, spin="on")))
        notes = (*notes, SPIN_NOTE)
    peers = []
    for client in ("wrk", "ab", "h2load", "hey", "oha", "k6", "Locust"):
        divisor = divisors.get(client, 0 if client in ("k6", "Locust") else 1)
        if divisor:
            requests = max(work.requests // divisor // work.connections, 1) * work.connections
            peers.append(Contender(client, CLIENTS[client], replace(work, requests=requests)))
    pairs = [(OURS, peer.label) for peer in peers] + [(SPINNING, label) for label in spinning]
    return Row(name, title, (*contenders, *peers), tuple(pairs), tuple(aims), server=server, notes=notes)


def keep_alive(connections, requests, limit, aims=(), **more):
    title = f"11-byte answers, {connections} connection{'s' * (connections > 1)}, keep-alive"
    work = Work("small", connections, requests)
    aims = (goals.cpu_of_best(limit), goals.p50_of_best(), *aims)
    return against_peers(f"keepalive-{connections}", title, work, aims, **more)


def large(name, title, work, limit):
    aims = (goals.cpu_of_best(limit), goals.p50_of_best())
    cut = f"wrk's time ends amid up to {work.connections} answers: their cost is counted, they are not."
    return against_peers(name, title, work, aims, {"hey": 1}, (cut,))


def ours(label, connections, requests, **more):
    cores = more.pop("cores", "one")
    return Contender(label, CLIENTS[OURS], Work("small", connections, requests, **more), cores)


def instead_of_ab(name, title, work):
    """ab and `volley ab` with the same flags: what it costs to call the one in place of the other."""
    ours, theirs = "volley ab", "ab"
    contenders = tuple(Contender(label, CLIENTS[label], work) for label in (ours, theirs))
    aims = tuple(
        goals.pair(ours, theirs, number, 1.0, f"{what} no more than ab's")
        for number, what in (("cpu_us", "CPU"), ("p50_us", "p50"))
    )
    return Row(name, title, contenders, ((ours, theirs),), aims)


def workers():
    """Two workers against one, on one core (what handing over costs) and on two (what sharing does)."""
    variants = [(count, cores) for cores in ("one", "two") for count in (1, 2)]
    names = {(count, cores): f"{count} worker{'s' * (count > 1)} on {cores} core{'s' * (cores == 'two')}"
             for count, cores in variants}  # fmt: skip
    pairs = tuple((names[2, cores], names[1, cores]) for cores in ("one", "two"))
    return Row(
        "workers-2",
        "two workers against one: 11-byte answers, 64 connections, keep-alive, only us",
        tuple(ours(names[variant], 64, 240_000, workers=variant[0], cores=variant[1]) for variant in variants),
        pairs,
        tuple(goals.pair(two, one, "cpu_us", 1.1, f"CPU of {two} at most 1.10 times") for two, one in pairs),
        notes=("On a machine of two cores the second worker shares its core with the server.",),
    )


def users():
    counts = (1, 2, 10, 20, 50, 1000)
    names = {count: f"{count} user{'s' * (count > 1)}" for count in counts}
    many = [names[count] for count in counts if count >= 10]
    return Row(
        "users",
        "a fixed number of requests with more and more users: 11-byte answers, keep-alive, only us",
        tuple(ours(names[count], count, 80_000) for count in counts),
        tuple((names[count], names[10]) for count in counts if count != 10),
        (
            goals.within(many, "cpu_us", 0.1, "CPU a request within 10 % from 10 users up"),
            goals.within(many, "switches", 0.1, "context switches a request within 10 % from 10 users up"),
        ),
        notes=(
            "With more users a wake-up serves more requests, so switches may fall; what must not be is that they rise.",
        ),
    )


def startup():
    once, nothing = Work("small", 0, 1, workers=0, spin=""), Work("small", 0, 0, workers=0, spin="")
    who = ((OURS, once), ("oha", once), ("true", nothing))
    return Row(
        "startup",
        "one request and out, everything else left to the defaults, on all cores",
        tuple(Contender(name, CLIENTS[name], work, "all") for name, work in who),
        ((OURS, "oha"),),
        (goals.at_most("wall_ms", 60, "ms", "from start to exit"), goals.at_most("rss_mib", 20, "MiB", "peak memory")),
        columns=("wall_ms", "cpu_ms", "rss_mib"),
        ratios=("wall_ms", "cpu_ms", "rss_mib"),
        notes=("`true` is what starting any program costs here.",),
        rounds_factor=4,
    )


SLOW_STARTERS = (
    "k6 and Locust take long to start: a tiny run of each, in the same turn, is taken off their CPU and switches.",
)

SPINNING_P50 = goals.pair(SPINNING, "wrk", "p50_us", 0.6, "p50 with spin on at most 0.60 of wrk's")

CLOSED = (
    keep_alive(1, 20_000, 1.0, (SPINNING_P50,), fewer={"hey": 2}, spinning=(OURS, "wrk", "ab", "oha")),
    keep_alive(64, 240_000, 0.95, fewer={"k6": 10, "Locust": 20}, notes=SLOW_STARTERS, spinning=(OURS, "wrk", "ab")),
    keep_alive(256, 256_000, 0.95),
    keep_alive(1000, 240_000, 0.95, (goals.at_most("rss_mib", 25, "MiB", "peak memory"),)),
    large("size-100k", "answers of 100 KiB, 64 connections, keep-alive", Work("100k", 64, 25_600), 0.7),
    large("size-5m", "answers of 5 MiB, 16 connections, keep-alive", Work("5m", 16, 640), 0.5),
    against_peers(
        "close-64",
        "11-byte answers, 64 connections at a time, a connection for each request",
        Work("small", 64, 25_600, keep_alive=False),
        (goals.cpu_of_best(0.95), goals.p50_of_best()),
        {"hey": 2},
        ("wrk counts its latency from the send, after connecting; the others from before it.",),
    ),
    against_peers(
        "tls-64",
        "11-byte answers over TLS, 64 connections, keep-alive",
        Work("small", 64, 160_000),
        (goals.cpu_of(0.95, "ab"), goals.p50_of("ab")),
        server=NginxTls,
    ),
    against_peers(
        "tls-close-64",
        "11-byte answers over TLS, 64 connections at a time, a connection and a handshake for each request",
        Work("small", 64, 6_400, keep_alive=False),
        (goals.cpu_of(1.0, "oha"), goals.p50_of("oha")),
        {"hey": 2},
        (
            "wrk counts its latency from the send, after connecting; the others from before it.",
            "We and those who use rustls or Go take up earlier TLS sessions, as browsers do; ab and wrk don't.",
        ),
        server=NginxTls,
    ),
    instead_of_ab(
        "ab-keepalive", "the flags of ab: `-k -c 64 -n 240000`, 11-byte answers", Work("small", 64, 240_000)
    ),
    instead_of_ab(
        "ab-close", "the flags of ab: `-c 64 -n 25600`, 11-byte answers", Work("small", 64, 25_600, keep_alive=False)
    ),
    workers(),
    users(),
    startup(),
)
