"""What grows with the number of operations, on PostgreSQL: ``make bench-growth``.

- ``rows``: a million operations, copied inside the database.
- ``crowds``: the same requests among a thousand, a hundred thousand and a million operations, each
  in a database and a process of its own, so that a round has all three.
- ``purging``: how fast purge is, and what traffic notices of it.
- ``memory``: a worker after fifty thousand requests.
"""

from __future__ import annotations
