"""The test site with the tokens of djangorestframework-simplejwt."""

from __future__ import annotations

from tests.packages import settings as plain
from tests.packages.settings import *  # noqa: F403  the same site in all else

# Long enough for a signature.
SECRET_KEY = "tests-only-and-long-enough-to-sign-tokens-with-it"
ROOT_URLCONF = "tests.packages.simplejwt.urls"
POPPY_OPERATIONS = {
    **plain.POPPY_OPERATIONS,
    "COMPANY": "tests.packages.simplejwt.company.ShopCompany",
}
