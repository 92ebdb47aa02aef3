"""A row's results as Markdown, for the terminal and for RESULTS.md alike."""

import re
import statistics

from figures import Results
from soak import MINUTES, resident

# number → heading, decimals
NUMBERS = {
    "cpu_us": ("CPU s per 1M requests", 2),
    "user_us": ("user", 2),
    "sys_us": ("sys", 2),
    "rate": ("requests/s", 0),
    "p50_us": ("p50 µs", 0),
    "p99_us": ("p99 µs", 0),
    "lag_p50_us": ("own lag p50 µs", 1),
    "lag_p99_us": ("own lag p99 µs", 1),
    "late_p50_us": ("sent late p50 µs", 1),
    "late_p99_us": ("sent late p99 µs", 1),
    "late_max_us": ("sent late max µs", 0),
    "in_time_pct": ("sent within 1 ms, %", 3),
    "sent_pct": ("sent of asked, %", 3),
    "stolen_ms": ("stolen ms", 0),
    "rss_mib": ("peak MiB", 1),
    "switches": ("switches per request", 3),
    "server_us": ("server's CPU s per 1M", 2),
    "requests": ("requests", 0),
    "wall_ms": ("wall ms", 1),
    "cpu_ms": ("CPU ms", 1),
    "sockets": ("sockets at the end", 0),
    "growth_pct": ("growth from minute 3 to 15, %", 1),
    **{resident(minute): (f"MiB at minute {minute}", 1) for minute in MINUTES},
}

HEAD = """\
# Volley beside its peers

Made by `bench/peers.sh`; how to run it and how to read it is in [README.md](README.md). Each row is measured and dated
by itself. A miss stands beside its goal.
"""


def section(row, state):
    """All that there is to say of one row."""
    results = Results(state.rounds)
    parts = [f"## {row.name}", f"{row.title[0].upper()}{row.title[1:]}.", origin(state)]
    parts += [figures(row, results), ratios(row, results), aims(row, results), noise(results, state)]
    parts += [left_out(state), *row.notes, commands(state)]
    return "\n\n".join(part for part in parts if part) + "\n"


def origin(state):
    used = state.measured_with
    versions = ", ".join(f"{name} {version}" for name, version in used["versions"].items())
    when = f"{state.begun}, {len(state.rounds)} round{'s' * (len(state.rounds) != 1)}, {used['machine']}"
    return f"{when}. {versions}. The volley measured is {state.source}."


def figures(row, results):
    head = ["client", *(NUMBERS[number][0] for number in row.columns)]
    return table(head, [[label, *(spread(results, label, n) for n in row.columns)] for label in results.labels()])


def spread(results, label, number):
    found = results.spread(label, number)
    if found is None:
        return "–"
    median, low, high = (digits(value, NUMBERS[number][1]) for value in (found.median, found.low, found.high))
    return median if low == high else f"{median} ({low}–{high})"


def digits(value, decimals):
    """Large figures need no decimals."""
    return f"{value:,.{0 if value >= 1000 else min(decimals, 1) if value >= 100 else decimals}f}"


def ratios(row, results):
    pairs = [(of, to) for of, to in row.pairs if {of, to} <= set(results.labels())]
    if not pairs:
        return ""
    head = ["ratio, paired [95 %]", *(NUMBERS[number][0] for number in row.ratios)]
    return table(head, [[f"{of} / {to}", *(quotient(results, of, to, n) for n in row.ratios)] for of, to in pairs])


def quotient(results, of, to, number):
    found = results.ratio(of, to, number)
    return f"{found.median:.2f} [{found.low:.2f}, {found.high:.2f}]" if found else "–"


def aims(row, results):
    if not row.goals:
        return ""
    return table(["to reach", "measured", "verdict"], [[goal.text, *goal.measure(results)] for goal in row.goals])


def noise(results, state):
    stolen, elsewhere = results.total("stolen_s"), results.total("elsewhere_s")
    text = f"CPU stolen from this machine: {seconds(stolen)}. Used by other processes: {seconds(elsewhere)}."
    text += distrusted(results)
    if state.void:
        reasons = "".join(f"\n- {reason}" for reason in state.void)
        text += f" Rounds that don't count: {len(state.void)}.\n{reasons}"
    return text


def distrusted(results):
    """Where a client itself says that it measured badly, the round counts nonetheless."""
    counts = {label: results.count(label, "invalid") for label in results.labels()}
    return "".join(
        f" {label} called its measurement invalid in {count} of {len(results.rounds)} rounds."
        for label, count in counts.items()
        if count
    )


def seconds(values):
    return f"{statistics.median(values):.2f} s a round ({min(values):.2f} to {max(values):.2f})" if values else "–"


def left_out(state):
    return "\n".join(f"- Left out: {label}: {reason}." for label, reason in state.left_out.items())


def commands(state):
    lines = [f"{label + ':':16}{command}" for label, command in state.commands.items()]
    return "```text\n" + "\n".join(lines) + "\n```"


def table(head, rows):
    """A Markdown table that is also aligned for the terminal: text to the left, figures to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [line([cell.ljust(width) for cell, width in zip(head, widths, strict=True)])]
    lines.append(line(["-" * width for width in widths]))
    return "\n".join(
        lines + [line([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]) for row in rows]
    )


def line(cells):
    return f"| {' | '.join(cells)} |"


def merged(text, name, new, order):
    """The whole of RESULTS.md with this row's section put in or replaced; the other rows stay as they are."""
    kept = dict(re.findall(r"<!-- row (\S+) -->\n(.*?)<!-- end -->\n", text, re.DOTALL))
    kept[name] = new
    # Rows that there are no more go.
    return HEAD + "".join(f"\n<!-- row {row} -->\n{kept[row]}<!-- end -->\n" for row in order if row in kept)
