"""The website: the agent's browser acts, the agent asks Alice, and nothing happens in between."""

from __future__ import annotations

from example_project.tour.agent import SESSION_ID, Agent, Reference, approval_of, reference_in
from example_project.tour.narration import Surprise, expect
from example_project.tour.story import ITEM, ORDER, WANTED, Story, expect_status, form_of
from example_project.tour.web import Answer, send

SIGN_IN = "poppy:browser-sign-in"


def the_browser_joins(story: Story) -> None:
    """Tell how the browser comes into the agent's Session."""
    tell = story.narrator
    tell.chapter("The browser joins the Session")

    story.signed_in = story.agent(SIGN_IN)
    tell.step(
        "Alice has let her agent sign in to her account at the shop. Its access token says so; "
        "in this demo the shop's own command issues it.",
        command=f'manage.py demo_token alice --client-id … --scope "{SIGN_IN}"',
    )

    answer = story.signed_in.post(
        story.document["web"]["browser_session_endpoint"], {"return_to": f"/orders/{ORDER}/"}
    )
    expect_status(answer, 200)
    ticket = answer.json()
    tell.step(
        "The agent asks the shop for a way in for its browser. The address works once, and only "
        "for a minute.",
        request=answer.line,
        answer=ticket,
    )

    shown = story.browser.open(ticket["url"])
    expect_status(shown, 200)
    expect(
        shown.url == f"{story.shop}/orders/{ORDER}/",
        f"The browser ended at {shown.url} and not on the order page.",
    )
    tell.step(
        "The agent's browser opens that address. It is now signed in as Alice, and the shop "
        "knows that an agent uses this browser, and which.",
        requests=[step.line for step in story.browser.answers],
        page=story.browser.page.title,
    )


def submit_exchange(story: Story) -> Answer:
    """Have the browser submit the form of the order page, as it is or opened again."""
    story.browser.open(f"{story.shop}/orders/{ORDER}/")
    form = form_of(story.browser, "item_id", ITEM)
    return story.browser.submit(form, {"replacement_sku": WANTED}, form.buttons[0])


def expect_reference(answer: Answer) -> Reference:
    """Return the reference of an answer that waits for approval."""
    expect_status(answer, 403)
    reference = reference_in(answer)
    if reference is None:
        message = "The answer has no Poppy-Operation header that can be read."
        raise Surprise(message)
    expect(reference.sid == SESSION_ID, f"The reference is for another Session: {reference.sid}")
    return reference


def endpoint(story: Story) -> str:
    """Return the endpoint that poppy.json names."""
    return str(story.document["extensions"]["operations"][0]["endpoint"])


def look_up(story: Story, agent: Agent, reference: Reference) -> Answer:
    """Ask the shop what the reference stands for (4, 6)."""
    return agent.post(endpoint(story), {"ref": reference.ref})


def the_browser_asks_for_an_exchange(story: Story) -> None:
    """Tell how the request is refused, and that nothing happened."""
    tell = story.narrator
    tell.chapter("The browser asks for an exchange")

    answer = submit_exchange(story)
    story.reference = expect_reference(answer)
    page = story.browser.page
    expect("70.00" not in page.words, "The waiting page shows the terms.")
    tell.step(
        "The browser submits the form that exchanges Alice's jacket for the insulated one. The "
        "shop does nothing. It answers that this waits for approval in her personal agent, and "
        "gives the browser a reference, but not the terms.",
        request=answer.line,
        poppy_operation=answer.header("Poppy-Operation"),
        page=page.title,
    )
    expect(not story.effects("exchange"), "The shop made an exchange without an approval.")
    tell.step(
        "The shop's books: no exchange happened.",
        command="manage.py demo_effects",
    )

    stranger = send("POST", endpoint(story), {"Content-Type": "application/json"}, b"{}")
    expect(stranger.status in {400, 401, 403}, f"A stranger was answered {stranger.status}.")
    tell.step(
        "The reference is no key: without the agent's own signature the endpoint tells nothing, "
        "so no page in the browser can learn or approve anything.",
        request=stranger.line,
        answer=stranger.json(),
    )


def the_agent_learns_the_terms(story: Story) -> None:
    """Tell how the agent gets the operation, from the shop itself."""
    tell = story.narrator
    tell.chapter("The agent learns the exact terms")
    answer = look_up(story, story.signed_in, story.reference)
    expect_status(answer, 403)
    story.operation = answer.json()["operation"]
    difference = story.operation["terms"]["price_difference"]["amount"]
    expect(difference == "70.00", f"The exchange costs {difference} and not 70.00.")
    tell.step(
        "The agent sends the reference to the shop's endpoint and gets the operation: what will "
        "happen, to what, and for how much. It checks that this is what its browser just asked "
        "for, and shows it to Alice.",
        request=answer.line,
        operation=story.operation,
    )


def alice_thinks_and_the_price_rises(story: Story) -> None:
    """Tell that an approval covers the terms that were shown, and no others."""
    tell = story.narrator
    tell.chapter("Alice thinks, and the price rises")

    tell.step(
        "While Alice thinks, the shop raises the price of the insulated jacket by 5 dollars.",
        command=story.price(WANTED, "225.00"),
    )

    answer = story.signed_in.post(
        endpoint(story), {"ref": story.reference.ref}, approval=approval_of(story.operation)
    )
    expect_status(answer, 204)
    tell.step(
        "Alice approves what she was shown: 70 dollars. The shop records it. Nothing is done "
        "yet: the browser has to ask again.",
        request=answer.line,
    )

    again = press_continue(story)
    newer = expect_reference(again)
    expect(newer.ref != story.reference.ref, "The same reference came back.")
    expect(not story.effects("exchange"), "The shop exchanged at terms that nobody approved.")
    tell.step(
        "The browser presses Continue. Today's terms are not those that Alice approved, so the "
        "shop again does nothing, and hands out a new reference.",
        request=again.line,
        poppy_operation=again.header("Poppy-Operation"),
    )

    answer = look_up(story, story.signed_in, newer)
    expect_status(answer, 403)
    operation = answer.json()["operation"]
    expect(
        operation["operation_id"] == story.operation["operation_id"],
        "The new terms belong to another operation.",
    )
    expect(
        operation["revision"] != story.operation["revision"],
        "Other terms came under the same revision.",
    )
    difference = operation["terms"]["price_difference"]["amount"]
    expect(difference == "75.00", f"The exchange costs {difference} and not 75.00.")
    story.reference, story.operation = newer, operation
    tell.step(
        "The agent looks it up: the same operation, with a new revision of its terms. It has to "
        "ask Alice again.",
        request=answer.line,
        operation=operation,
    )


def press_continue(story: Story) -> Answer:
    """Press the button of the waiting page, which repeats the browser's request."""
    form = form_of(story.browser, "replacement_sku")
    return story.browser.submit(form, button=form.buttons[0])


def alice_approves_and_it_is_done(story: Story) -> None:
    """Tell how it happens, once, on exactly those terms."""
    tell = story.narrator
    tell.chapter("Alice approves, and it is done")

    answer = story.signed_in.post(
        endpoint(story), {"ref": story.reference.ref}, approval=approval_of(story.operation)
    )
    expect_status(answer, 204)
    expect_state(story, "approved")
    tell.step(
        "Alice approves 75 dollars. The shop records it, and says so to the agent that asks.",
        request=answer.line,
        state="approved",
    )

    shown = press_continue(story)
    expect_status(shown, 200)
    expect(
        shown.url == f"{story.shop}/orders/{ORDER}/",
        f"The browser ended at {shown.url} and not on the order page.",
    )
    words = story.browser.page.words
    expect("Stormline Insulated Jacket (M)" in words, "The order page shows no insulated jacket.")
    made = story.effects("exchange")
    expect(len(made) == 1, f"{len(made)} exchanges happened, and not one.")
    expect(
        made[0]["price_difference"]["amount"] == "75.00", f"It cost {made[0]['price_difference']}."
    )
    tell.step(
        "The browser presses Continue once more. Now request and approval agree: the shop makes "
        "the exchange and shows the order, as it would for anybody.",
        requests=[step.line for step in story.browser.answers[-2:]],
        exchange=made[0],
    )

    expect_state(story, "performed")
    tell.step("The agent asks the endpoint how it went.", state="performed")


def expect_state(story: Story, state: str) -> None:
    """End the tour unless the endpoint reports this state of the operation (6)."""
    answer = look_up(story, story.signed_in, story.reference)
    expect_status(answer, 200)
    wanted = {"operation_id": story.operation["operation_id"], "status": state}
    expect(answer.json() == wanted, f"The endpoint says {answer.json()} and not {wanted}.")


def the_browser_tries_again(story: Story) -> None:
    """Tell why a retry never makes it happen twice."""
    tell = story.narrator
    tell.chapter("The browser tries again")

    answer = submit_exchange(story)
    newer = expect_reference(answer)
    expect(newer.ref != story.reference.ref, "The used reference came back.")
    tell.step(
        "Suppose that the browser never saw the answer and submits the form again. The approval "
        "is used up, so this is a new request: nothing happens, and there is a new reference.",
        request=answer.line,
        poppy_operation=answer.header("Poppy-Operation"),
    )
    expect_state(story, "performed")
    made = story.effects("exchange")
    expect(len(made) == 1, f"{len(made)} exchanges happened, and not one.")
    tell.step(
        "Before it asks Alice about the new one, the agent looks at the earlier reference. That "
        "one was performed, so it leaves the new one alone. The shop's books still have exactly "
        "one exchange.",
        earlier_reference="performed",
        exchanges=len(made),
    )
