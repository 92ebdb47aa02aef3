"""The rows of the open model, where requests are due at a rate, whether or not answers come; and the soak."""

from dataclasses import replace

import goals
from clients import CLIENTS
from goals import OURS, SPINNING
from row import Row
from soak import MINUTES, resident
from trial import Contender
from witness import Witness
from work import Work

SECONDS = 3
PACE = ("sent_pct", "in_time_pct", "late_p50_us", "late_p99_us", "late_max_us", "p50_us", "p99_us")
PACE += ("lag_p50_us", "lag_p99_us", "cpu_us", "switches", "rss_mib", "stolen_ms")
PACE_RATIOS = ("late_p50_us", "late_p99_us", "p50_us", "p99_us", "cpu_us")

NOTES = (
    "*Sent late* is what the witness saw, and the same for all: how far the k-th request came behind k over the rate. "
    "p50 and p99 are each client's own latency from when a request was due, by its own clock; *own lag* is by how much "
    "Volley itself says it took requests up late.",
    "oha takes the time of a request after its own sleep, so what its timer is late by is not in its p50 and p99.",
)
K6 = (
    "k6 doesn't tell a latency from the due time. It drops what no virtual user is free for, so that the count falls "
    "behind; that is in *sent late* too."
)
H2LOAD = "h2load gives each connection a rate of its own, and tells no percentiles."


def held_rate(rate, peers, aims, notes):
    work = Work("small", 64, rate * SECONDS, rate=rate)
    ours = (Contender(OURS, CLIENTS[OURS], work), Contender(SPINNING, CLIENTS[OURS], replace(work, spin="on")))
    pairs = [(label, peer) for label in (OURS, SPINNING) for peer in peers] + [(SPINNING, OURS)]
    return Row(
        f"rate-{rate // 1000}k",
        f"{rate:,} requests a second for {SECONDS} s, 11-byte answers, at most 64 connections, keep-alive",
        (*ours, *(Contender(peer, CLIENTS[peer], work) for peer in peers)),
        tuple(pairs),
        tuple(aims),
        columns=PACE,
        ratios=PACE_RATIOS,
        notes=(*NOTES, *notes),
        server=Witness,
    )


def below_oha():
    texts = {
        "p50_us": "p50 from due time",
        "p99_us": "p99 from due time",
        "late_p50_us": "sent late, p50,",
        "late_p99_us": "sent late, p99,",
    }
    for label in (OURS, SPINNING):
        for number, text in texts.items():
            yield goals.pair(label, "oha", number, 1.0, f"{label}: {text} below oha's")


def all_in_time():
    for label in (OURS, SPINNING):
        yield goals.all_sent(label)
        yield goals.in_time_as_best(label)


# The soak: a third of a minute more than the last reading needs, so that all are still there then.
SOAK_RATE = 2_000
SOAK_S = MINUTES[-1] * 60 + 20
PACED = "volley 1,000 users"


def soak():
    work = Work("small", 1000, SOAK_RATE * SOAK_S, rate=SOAK_RATE)
    aims = []
    for label in (OURS, PACED):
        aims.append(goals.at_most("growth_pct", 5, "%", f"{label}: growth", label))
        aims.append(goals.at_most(resident(MINUTES[-1]), 25, "MiB", f"{label}: memory at minute {MINUTES[-1]}", label))
    return Row(
        f"memory-{MINUTES[-1]}min",
        f"resident memory over {MINUTES[-1]} minutes at {SOAK_RATE:,} requests a second, all at the same time",
        (
            Contender(OURS, CLIENTS[OURS], work),
            Contender(PACED, CLIENTS["volley run"], work),
            Contender("oha", CLIENTS["oha"], work),
        ),
        (),
        tuple(aims),
        columns=(*(resident(minute) for minute in MINUTES), "growth_pct", "rss_mib", "sockets", "cpu_us", "requests"),
        notes=(
            f"`{OURS}` is the open model, which opens no more connections than it needs; `{PACED}` keeps 1,000 in use, "
            "by a plan in which each user asks every 500 ms; oha opens 1,000.",
        ),
        soak=True,
    )


OPEN = (
    held_rate(10_000, ("oha", "k6"), below_oha(), (K6,)),
    held_rate(50_000, ("oha", "h2load"), all_in_time(), (H2LOAD,)),
    soak(),
)
