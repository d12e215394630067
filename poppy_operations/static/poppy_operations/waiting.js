// Watches the operation that this page waits for, and makes its request again once it is approved.
// The page is complete without it. What may happen twice here does not happen twice at the site:
// an approval is used for one request.
(() => {
  "use strict";

  const FIRST_MS = 2000;
  const LONGEST_MS = 15000;
  const BACK_OFF = 1.5;
  const KEPT = "poppy_operations.continued:";

  function start(box) {
    const url = box.dataset.poppyWatch;
    const page = box.parentElement;
    const form = page.querySelector("[data-poppy-continue]");
    let delay = FIRST_MS;
    let timer;
    let asking = false;
    let over = false;

    function show(status) {
      for (const text of box.querySelectorAll("[data-poppy-when]")) {
        text.hidden = text.dataset.poppyWhen !== status;
      }
      for (const part of page.querySelectorAll("[data-poppy-while=open]")) {
        part.hidden = status === "performed";
      }
    }

    // The first tab that asks for it continues, and none after it, this one included.
    async function mayContinue() {
      const claim = () => {
        try {
          if (localStorage.getItem(KEPT + url)) {
            return false;
          }
          localStorage.setItem(KEPT + url, "1");
          return true;
        } catch {
          return false; // Without a memory that tabs share, the button is there.
        }
      };
      return navigator.locks ? navigator.locks.request(KEPT + url, claim) : claim();
    }

    async function handle(status) {
      show(status);
      over = status === "unknown" || status === "performed";
      if (status === "approved" && form && (await mayContinue())) {
        over = true;
        // A field may be called "submit", and then hides the form's own method.
        HTMLFormElement.prototype.submit.call(form);
      }
    }

    async function ask() {
      asking = true;
      try {
        const answer = await fetch(url, {
          cache: "no-store",
          credentials: "same-origin",
          headers: { Accept: "application/json" },
          redirect: "error",
        });
        if (answer.ok) {
          await handle((await answer.json()).status);
        }
      } catch {
        // No answer this time.
      }
      asking = false;
      plan();
    }

    function plan() {
      clearTimeout(timer);
      if (over || asking || document.hidden || !box.isConnected) {
        return;
      }
      timer = setTimeout(ask, delay);
      delay = Math.min(delay * BACK_OFF, LONGEST_MS);
    }

    document.addEventListener("visibilitychange", () => {
      delay = FIRST_MS;
      plan();
    });
    plan();
  }

  for (const box of document.querySelectorAll("[data-poppy-watch]:not([data-poppy-watching])")) {
    box.dataset.poppyWatching = "";
    start(box);
  }
})();
