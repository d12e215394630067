"""What is published: the metadata, and a wheel with every file that the app needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.source import PACKAGE, ROOT, project

NEVER_PUBLISHED = {"__pycache__", ".DS_Store"}
DRIVERS = re.compile(r"mysqlclient|psycopg|pymysql", re.IGNORECASE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel: the one that POPPY_WHEEL names, else one that is built here, offline."""
    path = os.environ.get("POPPY_WHEEL")
    if path is None:
        folder = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        path = str(next(folder.glob("*.whl")))
    return zipfile.ZipFile(path)


def package_files() -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and not NEVER_PUBLISHED & set(path.parts) and path.suffix != ".pyc"
    }


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    with wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        metadata = {name for name in names if ".dist-info/" in name}

    assert names - metadata == package_files()
    assert any(name.endswith("/licenses/LICENSE") for name in metadata)


def test_what_the_wheel_must_hold_is_in_the_package() -> None:
    files = package_files()

    assert "poppy_operations/py.typed" in files
    assert "poppy_operations/migrations/0001_initial.py" in files
    for folder in ("templates", "static", "locale"):
        if (PACKAGE / folder).is_dir():
            assert any(name.startswith(f"poppy_operations/{folder}/") for name in files)


def test_every_catalogue_of_translations_is_compiled() -> None:
    missing = [path for path in PACKAGE.rglob("*.po") if not path.with_suffix(".mo").exists()]

    assert not missing


def test_the_demo_needs_no_database_driver() -> None:
    extras = project()["project"]["optional-dependencies"]
    needed = [*project()["project"]["dependencies"], *extras["demo"]]

    assert not [one for one in needed if DRIVERS.match(one)]


def test_the_classifiers_tell_the_oldest_and_newest_versions() -> None:
    metadata = project()["project"]
    classifiers = metadata["classifiers"]

    assert metadata["requires-python"] == ">=3.11"
    assert "Programming Language :: Python :: 3.11" in classifiers
    assert "Django>=5.2,<6.2" in metadata["dependencies"]
    assert {f"Framework :: Django :: {one}" for one in ("5.2", "6.0", "6.1")} <= set(classifiers)


def test_the_changelog_begins_with_what_is_being_made() -> None:
    version = project()["project"]["version"]
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## \[(.+?)\]", text, re.MULTILINE)

    assert newest is not None
    assert newest[1] in {"Unreleased", version}


@pytest.mark.parametrize("name", ["README.md", "LICENSE", "SECURITY.md", "CONTRIBUTING.md"])
def test_the_project_has_its_papers(name: str) -> None:
    assert (ROOT / Path(name)).read_text("utf-8").strip()
