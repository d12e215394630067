"""Runs the state machine: a smoke of it always, all of it in CI.

``POPPY_MODEL_STEPS`` says how many steps (CI: 10000), ``POPPY_MODEL_SEED`` which ones, and
``POPPY_MODEL_SHRINK`` has Hypothesis look for a shorter way to what failed, for some minutes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from poppy_operations.declarations.registry import registry
from poppy_operations.sessions.agents import add_agent
from tests.agents import ISSUER
from tests.configuring import configure
from tests.model.machine import OperationsMachine
from tests.model.people import AGENTS, PASSWORD
from tests.model.site import ACTIONS
from tests.model.world import CAP

SMOKE_STEPS = 200
STEPS_OF_EXAMPLE = 50
LEAST_OF_EXAMPLE = 45  # On average; a few examples end before.
PARTS = 2  # For two processes.
YEARS_S = 10 * 365 * 24 * 60 * 60


@pytest.fixture
def company(db: None, settings: Any) -> Iterator[None]:
    """The site of the model, its customers and the agents that it allows."""
    settings.ROOT_URLCONF = "tests.model.site"
    settings.SESSION_COOKIE_AGE = YEARS_S
    configure(
        settings,
        COMPANY="tests.model.site.ModelCompany",
        TOKEN_JWKS=ISSUER.jwks,
        OPEN_REVISIONS=CAP,
    )
    for agent in AGENTS.values():
        add_agent(agent.client_id, jwks=agent.jwks)
    users = get_user_model().objects
    OperationsMachine.accounts = {
        name: str(users.create_user(name, password=PASSWORD).pk) for name in ("alice", "bob")
    }
    for action in ACTIONS.values():
        registry.add(action)
    logging.disable()
    yield
    logging.disable(logging.NOTSET)
    for action in ACTIONS.values():
        registry.discard(action)


@pytest.mark.slow
@pytest.mark.timeout(3600)  # for as many steps as somebody asks for
@pytest.mark.parametrize("part", range(PARTS))
def test_the_package_does_what_the_model_says(part: int, company: None, pytestconfig: Any) -> None:
    told = os.environ.get("POPPY_MODEL_STEPS")
    first = int(os.environ.get("POPPY_MODEL_SEED") or 1)
    examples = int(told or SMOKE_STEPS) // PARTS // LEAST_OF_EXAMPLE + 1
    OperationsMachine.steps.clear()
    OperationsMachine.kinds.clear()
    run_state_machine_as_test(
        seed(first * PARTS + part)(OperationsMachine), settings=_settings(examples)
    )
    if told:
        writer = pytestconfig.get_terminal_writer()
        for name in ("steps", "kinds"):
            counted = getattr(OperationsMachine, name)
            named = ", ".join(f"{number} {kind}" for kind, number in counted.most_common())
            writer.line(f"\n{counted.total()} {name}: {named}")
        assert OperationsMachine.steps.total() >= int(told) // PARTS


def _settings(examples: int) -> settings:
    phases = [Phase.generate]
    if os.environ.get("POPPY_MODEL_SHRINK"):
        phases.append(Phase.shrink)
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS_OF_EXAMPLE,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
