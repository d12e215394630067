"""The tutorial, typed as it stands into an empty folder."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.docs.pages import DOCS, Block, blocks
from tests.source import ROOT

TUTORIAL = DOCS / "tutorial.md"
ANSWERED = re.compile(r"(\(yes or no\) )(\w+)\n")


@dataclass
class Reader:
    """Somebody who does what the page says, and nothing else.

    Only the port may be another one, since 8000 may be taken; and the package is this checkout's.
    """

    folder: Path
    wheel: Path
    port: int
    before: list[str] = field(default_factory=list)
    server: subprocess.Popen[bytes] | None = None

    def ported(self, text: str) -> str:
        """A text of the page, with the port that is free here."""
        return text.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")

    def do(self, block: Block) -> None:
        """Write a file, or type the commands and compare what they say."""
        if block.language == "console":
            for command, output in commands(block.text):
                self.type(command, output)
            return
        assert block.path is not None, block
        file = self.folder / block.path
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text("utf-8") + "\n" if block.is_appended else ""
        file.write_text(before + self.ported(block.text), "utf-8")

    def type(self, command: str, output: str) -> None:
        """Run a command; what the page shows of its output has to be what it prints."""
        if command.startswith(". "):
            self.before = [command]
        elif "runserver" in command:
            self.serve(command.replace("runserver", f"runserver 127.0.0.1:{self.port}"))
        else:
            answers = "".join(f"{answer}\n" for _, answer in ANSWERED.findall(output))
            said = self.run(command, answers)
            if output:
                assert said == self.ported(ANSWERED.sub(r"\1", output)), command

    def run(self, command: str, answers: str) -> str:
        done = subprocess.run(
            ["bash", "-c", " && ".join([*self.before, command])],
            cwd=self.folder,
            env=self.environment(),
            input=answers,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def serve(self, command: str) -> None:
        self.server = subprocess.Popen(
            ["bash", "-c", " && ".join([*self.before, f"exec {command}"])],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert time.monotonic() < deadline, "The server does not answer."
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        if self.server is not None:
            os.killpg(self.server.pid, signal.SIGKILL)
            self.server.wait()

    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DJANGO_", "POPPY_", "PYTEST_", "COV_", "COVERAGE_"))
            and name not in {"VIRTUAL_ENV", "PYTHONPATH"}
        }
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            # Whatever is called so elsewhere, this is the one.
            "PIP_CONSTRAINT": str(self.folder.parent / "constraints.txt"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_QUIET": "1",
        }


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the output that the block shows."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader with an empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    wheel = next(tmp_path.glob("*.whl"))
    (tmp_path / "constraints.txt").write_text(f"poppy-operations @ {wheel.as_uri()}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reader = Reader(folder, wheel, port)
    yield reader
    reader.stop()


@pytest.mark.servers
@pytest.mark.timeout(900)  # a slow package index is no fault of the tutorial
def test_the_tutorial_works_when_it_is_typed_as_it_stands(reader: Reader) -> None:
    for block in blocks(TUTORIAL):
        reader.do(block)
        if "runserver" in block.text:
            look_around(reader)

    assert reader.run("python manage.py poppy_stuck", "") == "Stuck: 0. Need somebody: 0.\n"
    page = signed_in_admin(reader)
    assert "Exchange order o1 for the Parka" in page
    assert "performed" in page.casefold()


def look_around(reader: Reader) -> None:
    """An ordinary visitor exchanges the jacket, and changes it back."""
    for sku, name in (("parka", "Parka"), ("jacket", "Jacket")):
        page = pressed(reader, "/orders/o1/", "/orders/o1/exchange/", {"sku": sku})
        assert f"Order o1: {name}" in page


def signed_in_admin(reader: Reader) -> str:
    """The page of the one operation."""
    form = {"username": "me", "password": "tutorial", "next": "/admin/poppy_operations/operation/"}
    browser = build_opener(HTTPCookieProcessor())
    listed = pressed(reader, "/admin/login/", "/admin/login/", form, browser)
    (path,) = set(re.findall(r'"(/admin/poppy_operations/operation/\d+/change/[^"]*)"', listed))
    return opened(reader, path, browser)


def pressed(
    reader: Reader, page: str, target: str, form: dict[str, str], browser: object = None
) -> str:
    opener = browser or build_opener(HTTPCookieProcessor())
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', opened(reader, page, opener))
    assert token is not None
    data = {"csrfmiddlewaretoken": token[1], **form}
    return opened(reader, target, opener, urlencode(data).encode())


def opened(reader: Reader, path: str, opener: object, data: bytes | None = None) -> str:
    url = f"http://127.0.0.1:{reader.port}{path}"
    for _ in range(50):
        try:
            with opener.open(url, data, 30) as answer:  # type: ignore[attr-defined]
                return str(answer.read().decode())
        except URLError as error:
            if not isinstance(error.reason, ConnectionError):
                raise
            time.sleep(0.2)  # the server loads the files that were just written
    raise AssertionError(url)
