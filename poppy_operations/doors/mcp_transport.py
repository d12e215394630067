"""What a tool cannot say in its result: the challenge, at the HTTP answer that carries it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from poppy_operations.gate.answers import Answer, ErrorAnswer
from poppy_operations.responses.bodies import status_of

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
# In the scope of an HTTP request: what a tool has to say at its answer.
TOLD = "poppy_operations.told"
CHALLENGE = "WWW-Authenticate"


def tell_transport(request: Any, answer: Answer) -> bool:
    """Leave a challenge to the transport, where agents' HTTP clients look for it.

    False: there is none, or the application is not served by ``beside_django``, and the tool's
    result says it alone.
    """
    told = getattr(request, "scope", {}).get(TOLD)
    if told is None or not isinstance(answer, ErrorAnswer) or CHALLENGE not in answer.headers:
        return False
    told.append((status_of(answer), answer.headers[CHALLENGE]))
    return True


def with_challenges(scope: Scope, send: Send) -> Send:
    """Give the HTTP answer the status and the header of what a tool has told in its call.

    An answer that is streamed may have begun before; then its result says it alone.
    """
    told: list[tuple[int, str]] = []
    scope[TOLD] = told

    async def sending(message: Message) -> None:
        if told and message["type"] == "http.response.start":
            status, challenge = told[0]
            headers = [
                *message.get("headers", ()),
                (CHALLENGE.lower().encode(), challenge.encode()),
            ]
            message = {**message, "status": status, "headers": headers}
        await send(message)

    return sending
