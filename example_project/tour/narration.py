"""Tell what happens, step by step, to people or to machines."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Protocol

WIDTH = 78
INDENT = "     "


class Surprise(Exception):
    """Something is not as the story says; the tour ends here."""


class Writes(Protocol):
    """Where the story is written: a command's output, or an open file."""

    def write(self, text: str, /) -> object:
        """Write some text."""


class Narrator:
    """Tells a story in numbered steps: plain English, or a JSON object a line."""

    def __init__(self, out: Writes, *, machine: bool = False) -> None:
        self._out = out
        self._machine = machine
        self._chapter = ""
        self._steps = 0
        self._chapters = 0

    @property
    def steps(self) -> int:
        """How many steps were told."""
        return self._steps

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self._chapter = title
        self._chapters += 1
        if not self._machine:
            heading = f"{self._chapters}. {title}"
            self._write(f"\n{heading}\n{'-' * len(heading)}\n")

    def step(self, sentence: str, **facts: object) -> None:
        """Tell one step, with the facts that show it."""
        self._steps += 1
        if self._machine:
            told = {"step": self._steps, "chapter": self._chapter, "told": sentence}
            self._write(json.dumps({**told, "facts": facts}) + "\n")
            return
        number = f"{self._steps:>3}. "
        lines = [textwrap.fill(sentence, WIDTH, initial_indent=number, subsequent_indent=INDENT)]
        lines += [line for name, value in facts.items() for line in _fact(name, value)]
        self._write("\n".join(lines) + "\n\n")

    def end(self) -> None:
        """Say that everything went as told."""
        if self._machine:
            self._write(json.dumps({"result": "ok", "steps": self._steps}) + "\n")
        else:
            self._write(f"That is the whole story: {self._steps} steps and no surprise.\n")

    def surprise(self, reason: str, log: str) -> None:
        """Say what was not as told."""
        if self._machine:
            found = {"result": "surprise", "steps": self._steps, "reason": reason, "log": log}
            self._write(json.dumps(found) + "\n")
            return
        self._write(f"\nA surprise after step {self._steps}: {reason}\n")
        if log:
            self._write(f"\nThe server's last words:\n{textwrap.indent(log, '  ')}\n")

    def _write(self, text: str) -> None:
        self._out.write(text)


def _fact(name: str, value: object) -> list[str]:
    label = name.replace("_", " ")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [f"{INDENT}{label}:", *(f"{INDENT}  {item}" for item in value)]
    if isinstance(value, Mapping | list):
        text = json.dumps(value, indent=2, ensure_ascii=False)
        return [f"{INDENT}{label}:", textwrap.indent(text, INDENT + "  ")]
    # Not filled: addresses and commands are there to be copied.
    return [f"{INDENT}{label}: {value}"]


def expect(holds: object, otherwise: str) -> None:
    """End the tour unless the story is as told.

    Raises:
        Surprise: with ``otherwise`` as the reason.

    """
    if not holds:
        raise Surprise(otherwise)
