"""Structured fields with and without faults."""

from __future__ import annotations

from hypothesis import strategies as st

# What the usual mistakes look like: not parsed leniently, not parsed in part.
UNPARSABLE = [
    'operation_id="a",',
    'Operation_id="a"',
    'operation_id="é"',
    "operation_id='a'",
    'operation_id="a',
    'operation_id="a" revision="b"',
    'operation_id="a"; revision="b',
    "operation_id=",
    "operation_id = 1",
    ',operation_id="a"',
    'operation_id="a",,revision="b"',
    "approved_at=1791487260123456",
    "approved_at=1.2345",
    "approved_at=+1",
    "approved_at=1e3",
    "approved_at=@1.5",
    "approved_at=@999999999999999",
    "a=:é:",
    'a=%"%zz"',
    'a=%"%c3"',
    "a=(1 2",
    "a=?2",
    "{}",
    '{"operation_id": "a"}',
    'operation_id="a\nb"',
    'operation_id="a\0"',
    "\ud800",
]

texts = st.text(st.sampled_from("abcAB019-_*=\",;:()?@%.\\ \tü\0é'") | st.characters(), max_size=30)
# Mostly well-formed, with a fault here and there.
near_fields = st.lists(
    st.sampled_from(
        [
            "operation_id=",
            "revision=",
            "approver=",
            "approved_at=",
            '"user"',
            '"agent"',
            '"exc_5Rt2"',
            "user",
            "1791487260",
            "-1",
            "1.5",
            "@1",
            "?1",
            ":AAA=:",
            '%"%c3%bc"',
            "(1 2)",
            ";v=1",
            ", ",
            ",",
            " ",
        ]
    ),
    max_size=16,
).map("".join)
fields = texts | near_fields
