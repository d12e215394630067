"""What rows and statements rarely meet: keys that are references or none, and earlier slots."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from django.db import connection

from poppy_operations.company import Company
from poppy_operations.lifecycle.asking import return_operation
from poppy_operations.models import row_by_key
from poppy_operations.models.statements import options
from poppy_operations.sessions import reports
from tests.api.test_exact_accounts import ById
from tests.lifecycle.rows import ASKED, NOW, returned


def test_a_key_that_is_a_reference_has_the_range_of_what_it_refers_to() -> None:
    assert row_by_key._is_within_range(options(ById).pk, uuid4(), connection)


@pytest.mark.django_db
@pytest.mark.parametrize("account", ["alice", "", "1.5", "9" * 30])
def test_a_text_that_is_no_key_is_nobodys_account(account: str) -> None:
    assert Company().user_of(account) is None


@pytest.mark.django_db
def test_an_operation_in_the_slot_of_an_earlier_key_is_in_the_way_of_a_new_one() -> None:
    standing = returned(slot="earlier").operation
    asked = replace(ASKED, slot="later", earlier_slots=["earlier"])
    assert return_operation(asked, NOW) is None
    standing.delete()
    assert return_operation(asked, NOW) is not None


def test_where_nobody_called_nothing_is_ours() -> None:
    assert not reports._is_ours(None)
