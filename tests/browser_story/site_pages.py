"""Pages that a site could have, with the libraries that sites use, on the shop's own origin."""

from __future__ import annotations

from typing import Any

from tests.browser_story.npm import npm_file

LIBRARIES = {
    "htmx.js": "htmx.org/dist/htmx.min.js",
    "turbo.js": "@hotwired/turbo/dist/turbo.es2017-umd.js",
}
POLICY = "default-src 'self'"
# htmx and Turbo bring styles of their own, which a strict policy lets in by a nonce.
NONCE = "bm9uY2U"
HEAD = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>A site's own page</title>
<meta name="htmx-config" content='{{"includeIndicatorStyles": false}}'>
<meta name="csp-nonce" content="{NONCE}">
"""
FIELDS = """<input type="hidden" name="csrfmiddlewaretoken" value="TOKEN">
<input type="hidden" name="sku" value="squall-cap"><input type="hidden" name="quantity" value="2">
<button>Reserve</button>"""
OURS = "/static/poppy_operations"
PAGES = {
    "htmx": f"""<script src="/site/htmx.js" defer></script>
<script src="{OURS}/htmx.js" defer></script>
<main><h1>With htmx</h1><form hx-post="/reservations/" hx-target="#answer">{FIELDS}</form>
<div id="answer"></div></main>""",
    "boosted": f"""<script src="/site/htmx.js" defer></script>
<script src="{OURS}/htmx.js" defer></script>
<main><h1>Boosted</h1>
<form hx-boost="true" method="post" action="/reservations/">{FIELDS}</form></main>""",
    "turbo": f"""<script src="/site/turbo.js" defer></script>
<main><h1>With Turbo</h1><form method="post" action="/reservations/">{FIELDS}</form></main>""",
    "frame": f"""<script src="/site/turbo.js" defer></script>
<main><h1>With a frame</h1><turbo-frame id="cart">
<form method="post" action="/reservations/">{FIELDS}</form></turbo-frame></main>""",
    "fetch": f"""<script src="{OURS}/watch.js" defer></script>
<script src="{OURS}/fetch.js" defer></script>
<script src="/site/own.js" defer></script>
<main><h1>With a script</h1><form id="own">{FIELDS}</form>
<p id="state" role="status"></p></main>""",
}
OWN = """
const state = document.querySelector("#state");
document.addEventListener("poppy:status", ({ detail }) => { state.textContent = detail.status; });
document.querySelector("#own").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = () => document.cookie.match(/csrftoken=([^;]*)/)[1];
  const answer = await poppyOperations.fetch("/reservations/", () => ({
    method: "POST",
    body: new URLSearchParams({ sku: "squall-cap", quantity: "2" }),
    headers: { "X-CSRFToken": token() },
  }));
  state.textContent = `${answer.status} ${answer.poppyStatus || answer.url}`;
});
"""


def serve_site_pages(context: Any) -> None:
    """Answer below ``/site/`` with these pages, in place of the shop."""

    def answer(route: Any) -> None:
        name = route.request.url.rsplit("/", 1)[1]
        if name in LIBRARIES:
            route.fulfill(path=npm_file(LIBRARIES[name]), content_type="text/javascript")
        elif name == "own.js":
            route.fulfill(body=OWN, content_type="text/javascript")
        else:
            cookies = {one["name"]: one["value"] for one in context.cookies(route.request.url)}
            page = HEAD + PAGES[name].replace("TOKEN", cookies["csrftoken"])
            policy = f"{POLICY}; style-src 'self' 'nonce-{NONCE}'"
            headers = {"Content-Security-Policy": policy}
            route.fulfill(body=page, content_type="text/html", headers=headers)

    context.route("**/site/*", answer)
