"""The errors of databases that pass by themselves, such as a lock or a lost connection.

If a request meets one of them, it may be made again. Any other error is a fault, such as a column
that cannot hold a character, and stays until somebody mends it.
"""

from __future__ import annotations

from django.db import InterfaceError, InternalError, OperationalError

# PostgreSQL. Class 08: the connection.
_CONNECTION = "08"
_STATES = frozenset(
    {
        "25006",  # the server is read-only, such as a replica
        "25P03",  # a transaction was idle for longer than the server lets it
        "25P04",  # or went on for longer
        "40001",  # serialization
        "40P01",  # deadlock
        "53000",  # resources
        "53100",  # disk full, until somebody makes room
        "53200",  # memory
        "53300",  # connections
        "55P03",  # lock not available
        "57014",  # a statement took longer than the server lets it
        "57P01",  # the server shuts down
        "57P02",  # it crashed
        "57P03",  # it starts
        "57P05",  # a session was idle for longer than the server lets it
    }
)
# MariaDB and MySQL, with mysqlclient and PyMySQL.
_CODES = frozenset(
    {
        0,  # the connection is closed, as the client says it
        1020,  # a record changed since it was read
        1021,  # disk full
        1037,  # memory
        1040,  # connections
        1041,  # memory
        1047,  # a node of a cluster is not ready
        1053,  # the server shuts down
        1077,
        1079,
        1080,  # it closed the connection
        1114,  # a table is full, as the disk is
        1158,  # the network
        1159,
        1160,
        1161,
        1203,  # connections of this user
        1205,  # lock wait
        1213,  # deadlock
        1226,  # connections or queries of this user
        1290,  # the server is read-only
        1317,  # a statement was interrupted
        1412,  # a table was just changed
        1637,  # too many transactions
        1689,  # a lock was given up
        1792,  # the transaction is read-only
        1836,  # the server is read-only
        1927,  # the connection was killed
        1969,  # a statement took too long
        2002,  # no connection
        2003,
        2005,
        2006,
        2013,  # lost
        2014,  # out of step
        2055,
        3024,  # a statement took too long
        3572,  # lock not available
        4031,  # idle for too long
    }
)
# Something does not exist. It passes if it is a savepoint, which the victim of a deadlock loses.
_NOT_THERE = 1305
# SQLite. Extended names begin with these.
_SQLITE = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_INTERRUPT",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_PROTOCOL",
    "SQLITE_READONLY",
)


def word_of(error: BaseException) -> str | int | None:
    """The database's own code for an error; ``None`` if it gave none, or was not reached."""
    cause = error.__cause__
    for name in ("sqlstate", "pgcode", "sqlite_errorname"):
        word = getattr(cause, name, None)
        if isinstance(word, str):
            return word
    code = error.args[0] if error.args else None
    return code if isinstance(code, int) else None


def passes(error: BaseException) -> bool:
    """Whether a database error is about the database's own state, and may pass by itself."""
    if not isinstance(error, OperationalError | InterfaceError | InternalError):
        return False
    word = word_of(error)
    if word is None:
        # A client that has no connection gives no code either.
        return not isinstance(error, InternalError)
    if isinstance(word, int):
        return word in _CODES or (word == _NOT_THERE and "SAVEPOINT" in str(error))
    return word in _STATES or word.startswith((_CONNECTION, *_SQLITE))
