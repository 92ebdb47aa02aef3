"""What is kept of a row between turns, so that a broken-off bench goes on where it was."""

import json
import os
from dataclasses import asdict, dataclass, field

FORM = 1


@dataclass
class State:
    """One row's rounds, and what they were measured with."""

    # What must be the same for two rounds to be comparable.
    measured_with: dict
    begun: str
    # Where our program comes from, for people.
    source: str
    # Of each contender: the command, without addresses and folders.
    commands: dict = field(default_factory=dict)
    # Contenders left out, with the reason.
    left_out: dict = field(default_factory=dict)
    # Rounds that don't count, with the reason.
    void: list = field(default_factory=list)
    # Each: contender → sample.
    rounds: list = field(default_factory=list)
    form: int = FORM


def load(file, measured_with):
    """The kept state; None where there is none, or one of another program, peer, machine or row."""
    try:
        kept = State(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return kept if kept.form == FORM and kept.measured_with == measured_with else None


def save(file, state):
    """Whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps(asdict(state), indent=1), encoding="utf-8")
    os.replace(draft, file)
