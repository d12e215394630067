"""The API: the agent asks for itself, without a browser, and approves in the same place."""

from __future__ import annotations

from typing import Any

from example_project.tour.agent import Agent, approval_of
from example_project.tour.narration import expect
from example_project.tour.story import ITEM, ORDER, Story, expect_status
from example_project.tour.web import Answer

LARGER = "stormline-insulated-l"
SCOPE = "orders:write"


def asked(answer: Answer) -> dict[str, Any]:
    """Return the operation of an answer that asks for approval (4)."""
    expect_status(answer, 403)
    body = answer.json()
    expect(body.get("error") == "approval_required", f"The shop answers {body}.")
    operation: dict[str, Any] = body["operation"]
    return operation


def difference_of(operation: dict[str, Any]) -> str:
    """Return the price difference in the terms of an exchange."""
    return str(operation["terms"]["price_difference"]["amount"])


def exchange(story: Story, agent: Agent, approval: dict[str, str | int] | None = None) -> Answer:
    """Ask the API to exchange the item for the larger size."""
    return agent.post(
        f"{story.shop}/api/orders/{ORDER}/exchanges",
        {"item_id": ITEM, "replacement_sku": LARGER},
        approval=approval,
    )


def the_agent_uses_the_api(story: Story) -> None:
    """Tell the same through the API: ask, approve, done."""
    tell = story.narrator
    tell.chapter("The agent uses the shop's API")
    before = len(story.effects("exchange"))
    agent = story.agent(SCOPE)

    answer = exchange(story, agent)
    operation = asked(answer)
    tell.step(
        "The jacket is too small after all. This time the agent asks the shop's API itself. "
        "Again nothing is done; here the operation comes back in the answer.",
        request=answer.line,
        operation=operation,
    )

    command = story.price(LARGER, "235.00")
    approval = approval_of(operation)
    answer = exchange(story, agent, approval)
    newer = asked(answer)
    expect(newer["operation_id"] == operation["operation_id"], "Another operation came back.")
    expect(newer["revision"] != operation["revision"], "The same revision came back.")
    expect(difference_of(newer) == "85.00", f"The exchange costs {difference_of(newer)}.")
    tell.step(
        "Once more the price rises before Alice has answered. The agent repeats its request with "
        "her approval; that was for 80 dollars, so the shop does nothing and returns the new "
        "terms.",
        command=command,
        request=answer.line,
        terms=newer["terms"],
    )

    approval = approval_of(newer, input_type="typed")
    answer = exchange(story, agent, approval)
    expect_status(answer, 201)
    tell.step(
        "Alice agrees to 85 dollars. The same request with this approval, and it is done.",
        request=answer.line,
        answer=answer.json(),
    )

    again = exchange(story, agent, approval)
    expect_status(again, 201)
    expect(again.json() == answer.json(), "A retry was answered differently.")
    made = len(story.effects("exchange")) - before
    expect(made == 1, f"{made} exchanges happened, and not one.")
    tell.step(
        "The agent did not get that answer, say, and sends the same again. The shop gives the "
        "first answer once more. Its books have one exchange more than before, not two.",
        request=again.line,
        answer=again.json(),
        exchanges=made,
    )


def the_shop_declines(story: Story) -> None:
    """Tell that a shop may want more than an agent's word."""
    tell = story.narrator
    tell.chapter("The shop declines")
    agent = story.agent()
    url = f"{story.shop}/api/account/closure"
    answer = agent.post(url, {})
    operation = asked(answer)
    tell.step(
        "Alice has told her agent to tidy up, and it asks the shop to close her account.",
        request=answer.line,
        operation=operation,
    )

    answer = agent.post(url, {}, approval=approval_of(operation, approver="agent"))
    expect_status(answer, 403)
    declined = answer.json()
    expect(declined.get("error") == "approval_declined", f"The shop answers {declined}.")
    expect(not story.effects("closure"), "The shop closed the account all the same.")
    tell.step(
        "The agent approves on Alice's instruction. For this the shop does not take an agent's "
        "word: it declines, says why, and names another way. Nothing happened.",
        request=answer.line,
        answer=declined,
    )

    answer = agent.post(url, {}, approval=approval_of(operation))
    expect_status(answer, 204)
    made = len(story.effects("closure"))
    expect(made == 1, f"{made} closures happened, and not one.")
    tell.step(
        "The agent asks Alice, and she approves herself. That the shop accepts.",
        request=answer.line,
        closures=made,
    )
