"""Play the chapters one after the other."""

from __future__ import annotations

from http.client import HTTPException

from example_project.tour.chapters import CHAPTERS
from example_project.tour.narration import Narrator, Surprise
from example_project.tour.server import Server
from example_project.tour.story import Story


def play(narrator: Narrator) -> bool:
    """Play all chapters against a new server. Return whether everything went as told."""
    server = Server()
    try:
        with server:
            return _played(Story(server, narrator), narrator)
    except Surprise as surprise:
        narrator.surprise(str(surprise), "")
        return False


def _played(story: Story, narrator: Narrator) -> bool:
    try:
        for chapter in CHAPTERS:
            chapter(story)
    except (Surprise, OSError, HTTPException, LookupError) as surprise:
        reason = str(surprise) if isinstance(surprise, Surprise) else repr(surprise)
        narrator.surprise(reason, story.server.last_words())
        return False
    narrator.end()
    return True
