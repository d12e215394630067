"""What operations cost: measured side by side, in one run, as ratios of the same round.

``make bench`` takes a few minutes, prints a table and writes ``var/bench.json``;
``make bench-growth`` takes up to twenty, and adds what grows with the number of operations.
Both measure on databases of their own, which are gone afterwards. PostgreSQL is found as its own
clients find it (``PGHOST``, ``PGPORT``, ``PGUSER``, ``PGPASSWORD``).

``python -m benchmarks.report`` writes the figures into ``docs/explanation/performance.md``.

A machine is never idle, and no two are alike. So every subject is called three times in each round,
in an order that is drawn by lot; the least of the three is its time in that round, since the others
met somebody else's work. What counts is the median of the ratios within a round: whatever slows the
machine slows both sides of a ratio.

- ``site``: the site that is measured, with our views and what somebody would write by hand.
- ``subjects``: what is called, one module for each kind.
- ``rounds`` and ``figures``: the calling and the statistics.
- ``load``: the same views behind gunicorn.
- ``growth``: thousands and millions of operations, a worker's memory, purge beside traffic.

Only what the documentation offers to sites is imported from ``poppy_operations``, and its models,
which the views by hand need to write the very same rows.
"""

from __future__ import annotations
