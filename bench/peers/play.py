"""Plays the rounds of a row: in each round every contender once, each time another one first."""

import os
import shlex
import sys
import tempfile
from pathlib import Path

import measure
from clients import BENCH, TOOLS, VOLLEY
from report import NUMBERS, digits
from soak import watch
from trial import turn

SERVER_CORE = "1"


def say(row, text):
    print(f"{row.name}: {text}", file=sys.stderr, flush=True)


def cores():
    """The clients' cores by the words that contenders use."""
    there = sorted(os.sched_getaffinity(0) - {int(SERVER_CORE)})
    second = str(there[1]) if len(there) > 1 else SERVER_CORE
    return {"one": "0", "two": f"0,{second}", "all": ",".join(map(str, sorted(os.sched_getaffinity(0))))}


def play(row, contenders, state, wanted, keep):
    """Adds rounds to the state until all that are wanted are there, or too many did not count."""
    state.commands = {one.label: command(one, row.server.scheme) for one in contenders}
    with tempfile.TemporaryDirectory(prefix="volley-bench-") as folder:
        scratch = Path(folder, "scratch")
        scratch.mkdir()
        with row.server(Path(folder), SERVER_CORE) as server:
            if row.soak:
                one_soak(row, contenders, state, server, scratch)
                keep()
                return
            contenders = rehearse(row, contenders, state, server, scratch)
            most_void = len(state.void) + max(3, wanted // 3)
            while contenders and len(state.rounds) < wanted and len(state.void) < most_void:
                one_round(row, contenders, state, wanted, server, scratch)
                keep()


def one_soak(row, contenders, state, server, scratch):
    """All at once, so that it takes no longer than the longest; tried once."""
    say(row, f"{', '.join(one.label for one in contenders)}: all at once, for {contenders[0].work.seconds} s")
    try:
        state.rounds.append(watch(contenders, server, cores(), scratch))
    except measure.Fault as fault:
        state.void.append(str(fault))
        say(row, f"this does not count: {fault}")


def rehearse(row, contenders, state, server, scratch):
    """One turn each that isn't counted. Who fails it is left out, since it would void every round; without us there is
    nothing to measure. Who was left out of earlier rounds stays so, that all rounds have the same."""
    able = []
    for contender in contenders:
        if state.rounds and contender.label in state.left_out:
            continue
        say(row, f"rehearsing {contender.label}")
        try:
            turn(contender, server, cores(), scratch)
        except measure.Fault as fault:
            say(row, f"left out: {contender.label}: {fault}")
            state.left_out[contender.label] = str(fault)
        else:
            able.append(contender)
    return able if any(one.client.is_ours for one in able) else []


def one_round(row, contenders, state, wanted, server, scratch):
    number = len(state.rounds) + len(state.void)
    first = number % len(contenders)
    samples = {}
    for contender in contenders[first:] + contenders[:first]:
        try:
            samples[contender.label] = turn(contender, server, cores(), scratch)
        except measure.Fault as fault:
            state.void.append(f"{contender.label}: {fault}")
            say(row, f"this round does not count: {contender.label}: {fault}")
            return
    # In the tables' order, whoever was first.
    state.rounds.append({one.label: samples[one.label] for one in contenders})
    shown = row.columns[0]
    figures = ", ".join(f"{label} {digits(one[shown], 2)}" for label, one in state.rounds[-1].items())
    say(row, f"round {len(state.rounds)} of {wanted}; {NUMBERS[shown][0]}: {figures}")


def command(contender, scheme):
    """As one could type it, without this machine's folders and port."""
    words = contender.words(f"{scheme}://127.0.0.1:PORT/{contender.work.path}", Path("SCRATCH"))
    text = shlex.join(["taskset", "-c", cores()[contender.cores], *words])
    for place, name in ((VOLLEY, "volley"), (f"{TOOLS}/venv/bin/", ""), (f"{TOOLS}/bin/", ""), (f"{BENCH}", "bench")):
        text = text.replace(str(place), name)
    return text
