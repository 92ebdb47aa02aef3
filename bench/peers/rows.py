"""All rows of the bench by their names, in the order in which they are played and printed."""

from rows_closed import CLOSED
from rows_open import OPEN

ROWS = {row.name: row for row in (*CLOSED, *OPEN)}

# What `all` stands for: soaks must be asked for.
ALL = tuple(row for row in ROWS.values() if not row.soak)
