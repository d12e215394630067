"""The shop says what it offers, and lets the agent in."""

from __future__ import annotations

import json

from example_project.tour.agent import CLIENT_ID
from example_project.tour.narration import expect
from example_project.tour.story import Story, expect_status
from example_project.tour.web import send


def the_shop_and_the_agent_meet(story: Story) -> None:
    """Tell how each comes to know the other."""
    tell = story.narrator
    tell.chapter("The shop and the agent meet")

    answer = send("GET", f"{story.shop}/.well-known/poppy.json", {"Accept": "application/json"})
    expect_status(answer, 200)
    story.document = answer.json()
    offered = story.document.get("extensions", {}).get("operations", [])
    expect(
        any(entry.get("version") == "3" and entry.get("endpoint") for entry in offered),
        f"poppy.json offers no operations of version 3 on the website: {offered}",
    )
    tell.step(
        "Alice's Personal Agent reads what the shop offers. It finds operations, version 3: "
        "the shop may ask for approval of exact terms before it acts.",
        request=answer.line,
        extensions=story.document["extensions"],
    )

    key_set = story.server.folder / "agent.jwks.json"
    key_set.write_text(json.dumps(story.keys.jwks))
    story.server.command(
        "poppy_agents", "add", CLIENT_ID, "--jwks", str(key_set), "--name", "Alice's agent"
    )
    tell.step(
        "The shop's staff put the agent on their allow-list, with the keys that it signs with. "
        "They can revoke it at any time.",
        command=f"manage.py poppy_agents add {CLIENT_ID} --jwks agent.jwks.json",
    )
