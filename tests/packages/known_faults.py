"""Tests that show faults which are not mended yet; each has to fail until it is.

Take a test off the list together with its fault: it fails as soon as the fault is gone.
"""

from __future__ import annotations

import pytest

from tests.packages.sites import FOLDER

UNMARKED = "a sign-out, or the loss of the session, unmarks the agent's browser"
NO_USERS = "a join asks backends for users that find none"
NO_NAME = "the message does not name the middleware that opened the transaction"

# What the tests raise themselves, and what a backend without users makes the join raise: a test
# whose fixtures fail shows nothing.
RAISED = (AssertionError, AttributeError)
TOOLKIT = "oauth_toolkit/test_oauth_toolkit.py::"

FAULTS = {
    UNMARKED: (
        "test_every_site.py::test_a_sign_out_leaves_the_browser_an_agents",
        "test_every_site.py::test_a_later_login_of_the_same_account_leaves_the_browser_an_agents",
        "allauth/test_allauth.py::test_a_login_leaves_the_browser_an_agents[alice]",
        "allauth/test_allauth.py::test_a_login_leaves_the_browser_an_agents[bob]",
        "allauth/test_allauth.py::test_a_sign_out_leaves_the_browser_an_agents",
        "allauth/test_allauth.py::TestLinks::"
        "test_a_confirmation_leaves_the_browser_an_agents[asks first-bob]",
        "allauth/test_allauth.py::TestLinks::"
        "test_a_confirmation_leaves_the_browser_an_agents[at once-bob]",
        "allauth/test_allauth.py::TestLinks::"
        "test_a_reset_password_leaves_the_browser_an_agents[stays out-bob]",
        "allauth/test_allauth.py::TestLinks::"
        "test_a_reset_password_leaves_the_browser_an_agents[signs in-bob]",
        "allauth/test_allauth.py::TestPasswords::"
        "test_a_changed_password_that_signs_out_leaves_the_browser_an_agents",
        "allauth/test_allauth.py::test_a_new_account_leaves_the_browser_an_agents",
        f"{TOOLKIT}test_an_agents_browser_with_another_clients_token_stays_an_agents",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_is_signed_on_as_another_stays_an_agents[before ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_is_signed_on_as_another_stays_an_agents[persistent, before ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_is_signed_on_as_the_same_account_stays_an_agents[before ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_is_signed_on_as_the_same_account_stays_an_agents[after ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_is_signed_on_as_the_same_account_stays_an_agents"
        "[persistent, before ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_is_signed_on_as_the_same_account_stays_an_agents"
        "[persistent, after ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_was_joined_first_and_is_signed_on_then_stays_an_agents[before ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_was_joined_first_and_is_signed_on_then_stays_an_agents[after ours]",
        "remote_user/test_remote_user.py::"
        "test_a_browser_that_was_joined_first_and_is_signed_on_then_stays_an_agents"
        "[persistent, before ours]",
        "remote_user/test_remote_user.py::"
        "test_a_join_without_a_header_asks_for_operations[before ours-backends1]",
        "remote_user/test_remote_user.py::"
        "test_a_join_without_a_header_asks_for_operations[after ours-backends1]",
        "sesame/test_sesame.py::"
        "test_an_agents_browser_that_signs_in_by_a_link_stays_an_agents"
        "[a page for links-before ours-bob]",
        "sesame/test_sesame.py::"
        "test_an_agents_browser_that_signs_in_by_a_link_stays_an_agents[any page-before ours-bob]",
        "sesame/test_sesame.py::"
        "test_an_agents_browser_that_sends_a_link_with_its_request_stays_an_agents[before ours]",
        "user_sessions/test_user_sessions.py::"
        "test_an_agents_browser_that_deletes_its_own_session_stays_an_agents",
        "user_sessions/test_user_sessions.py::"
        "test_an_agents_browser_whose_session_its_user_deletes_stays_an_agents",
        "user_sessions/test_user_sessions.py::"
        "test_an_approval_is_no_use_after_the_session_was_deleted",
    ),
    NO_USERS: (
        "guardian/test_guardian.py::test_a_join_signs_in_by_the_backend_that_knows_users[first]",
        "guardian/test_guardian.py::test_no_ticket_is_given_where_no_backend_knows_users",
    ),
    NO_NAME: (
        "reversion/test_reversion.py::test_the_middlewares_transaction_is_refused_by_its_name",
    ),
}


def mark(items: list[pytest.Item]) -> None:
    """Expect the listed tests to fail."""
    reasons = {test: reason for reason, tests in FAULTS.items() for test in tests}
    for item in items:
        if FOLDER not in item.path.parents:
            continue
        test = item.path.relative_to(FOLDER).as_posix() + "::" + item.nodeid.split("::", 1)[1]
        if test in reasons:
            item.add_marker(pytest.mark.xfail(strict=True, raises=RAISED, reason=reasons[test]))
