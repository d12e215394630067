"""The Personal Agent's browser: cookies, redirects, forms and the headers that browsers send."""

from __future__ import annotations

from http.cookies import SimpleCookie
from urllib.parse import urlencode, urljoin, urlsplit

from example_project.tour.pages import Button, Form, Page
from example_project.tour.web import Answer, send

FORM = "application/x-www-form-urlencoded"
GO_ON = frozenset({301, 302, 303, 307, 308})
REPEAT_WHEN_MOVED = frozenset({307, 308})
MOST_REDIRECTS = 10


class TooManyRedirects(Exception):
    """A page sends the browser in circles."""


def origin_of(url: str) -> str:
    """Return the origin of an address: scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class Browser:
    """A browser with one tab. Its cookies go back to the host that set them."""

    def __init__(self) -> None:
        self.cookies: dict[tuple[str, str], str] = {}
        self._page: Page | None = None
        self.answers: list[Answer] = []
        self._shows_referrer = True

    @property
    def page(self) -> Page:
        """The page that is shown."""
        if self._page is None:
            message = "The browser shows no page yet."
            raise ValueError(message)
        return self._page

    def open(self, url: str) -> Answer:
        """Open an address as if it were typed in."""
        return self._go("GET", url, None, initiator=None)

    def submit(
        self, form: Form, values: dict[str, str] | None = None, button: Button | None = None
    ) -> Answer:
        """Fill in a form of the page that is shown, and send it with a button."""
        page = self.page
        url = urljoin(page.url, form.action or page.url)
        content = urlencode(form.filled(values or {}, button))
        if form.method == "GET":
            return self._go("GET", f"{url.split('?')[0]}?{content}", None, initiator=page.url)
        return self._go("POST", url, content.encode(), initiator=page.url)

    def _go(self, method: str, url: str, body: bytes | None, *, initiator: str | None) -> Answer:
        for _ in range(MOST_REDIRECTS):
            answer = send(method, url, self._headers(method, url, body, initiator), body)
            self.answers.append(answer)
            self._keep_cookies(answer)
            target = answer.header("Location")
            if answer.status not in GO_ON or target is None:
                self._page = Page(url, answer.text)
                self._shows_referrer = answer.header("Referrer-Policy") != "no-referrer"
                return answer
            url = urljoin(url, target)
            if answer.status not in REPEAT_WHEN_MOVED:
                method, body = "GET", None
        message = f"{url} sends the browser in circles."
        raise TooManyRedirects(message)

    def _headers(
        self, method: str, url: str, body: bytes | None, initiator: str | None
    ) -> dict[str, str]:
        headers = {
            "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
            "Accept-Language": "en",
            "Sec-Fetch-Dest": "document",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Site": self._site(url, initiator),
            "Sec-Fetch-User": "?1",
            "User-Agent": "Stormline-Tour/1",
        }
        if method == "POST":
            shown = initiator is not None and self._shows_referrer
            headers["Origin"] = origin_of(initiator or url) if shown else "null"
        if body is not None:
            headers["Content-Type"] = FORM
        if initiator is not None and self._shows_referrer:
            headers["Referer"] = initiator
        cookies = self._cookies_for(url)
        if cookies:
            headers["Cookie"] = cookies
        return headers

    @staticmethod
    def _site(url: str, initiator: str | None) -> str:
        if initiator is None:
            return "none"
        return "same-origin" if origin_of(url) == origin_of(initiator) else "cross-site"

    def _cookies_for(self, url: str) -> str:
        host = urlsplit(url).hostname or ""
        return "; ".join(
            f"{name}={value}" for (owner, name), value in self.cookies.items() if owner == host
        )

    def _keep_cookies(self, answer: Answer) -> None:
        host = urlsplit(answer.url).hostname or ""
        for line in answer.all("Set-Cookie"):
            for name, morsel in SimpleCookie(line).items():
                if morsel["max-age"] == "0" or not morsel.value:
                    self.cookies.pop((host, name), None)
                else:
                    self.cookies[host, name] = morsel.coded_value
