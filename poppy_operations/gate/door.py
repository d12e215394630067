"""What differs between doors, as the gate asks for it."""

from __future__ import annotations

from typing import Any, Protocol

from poppy_operations.browser.state import Browser
from poppy_operations.declarations.outcomes import NotPerformed, Verdict
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.sessions.session import Session


class Asker(Protocol):
    """Who asks, as far as a door can tell from what came with the request."""

    @property
    def request(self) -> Any:
        """The request that the hooks of ``Company`` get."""

    def shows_session(self) -> bool:
        """Whether the request shows a Session, valid or not."""

    def session(self) -> Session:
        """The verified Session. Raises a ``SessionRefused`` if it is not acceptable."""

    def browser(self) -> Browser:
        """Whether an agent's browser sent the request, and in which Session."""

    def is_agent(self) -> bool:
        """Whether an agent's credential came without a Session."""

    def shows_another_token(self) -> bool:
        """Whether an access token came beside the one that the Session speaks of."""

    def user(self) -> Any:
        """The user whom the site takes the request for; ``None`` if it authenticates nobody."""

    def carries_approval(self) -> bool:
        """Whether an approval came with the request, in any form."""

    def approval(self) -> ApprovalStatement | None:
        """The approval that came; ``None`` if none came, or it counts as none (AMB-04).

        Raises ``MalformedApproval`` if the approval cannot be read.
        """


class Results(Protocol):
    """What the site's code returns at a door: how it is judged, kept and given again."""

    def is_answer(self, said: object) -> bool:
        """Whether ``terms`` and ``allowed`` may answer a request with ``said``."""

    def verdict(self, result: Any) -> Verdict:
        """What a result says of the action (AMB-15). What is raised here counts as the action's."""

    def nothing_happened(self, said: NotPerformed) -> Any:
        """The result if the action says that nothing happened."""

    def final(self, result: Any) -> Any:
        """The result as it is sent, made inside the transaction of the action."""

    def stored(self, result: Any, *, with_body: bool) -> StoredAnswer:
        """What is kept of a result, to give it again (7)."""

    def again(self, answer: StoredAnswer) -> Any:
        """A result, made again from what was kept of it (7)."""
