// What waiting.js and fetch.js share: asking the site for an operation's state, less and less
// often, and letting one tab of the browser carry on, once.
(() => {
  "use strict";

  const FIRST_MS = 2000;
  const LONGEST_MS = 15000;
  const BACK_OFF = 1.5;
  const KEPT = "poppy_operations.continued:";

  // Asks until `handle` returns true. `isWanted` says whether anybody still wants to know.
  function watch(url, handle, isWanted = () => true) {
    let delay = FIRST_MS;
    let timer;
    let asking = false;
    let over = false;

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
          over = await handle(await answer.json());
        }
      } catch {
        // No answer this time.
      }
      asking = false;
      plan();
    }

    function plan() {
      clearTimeout(timer);
      if (over || !isWanted()) {
        document.removeEventListener("visibilitychange", look);
      } else if (!asking && !document.hidden) {
        timer = setTimeout(ask, delay);
        delay = Math.min(delay * BACK_OFF, LONGEST_MS);
      }
    }

    function look() {
      delay = FIRST_MS;
      plan();
    }

    document.addEventListener("visibilitychange", look);
    plan();
  }

  // True for the first call in any tab; false for every later one, in the same tab as well.
  async function mayContinue(url) {
    const claim = () => {
      try {
        if (localStorage.getItem(KEPT + url)) {
          return false;
        }
        localStorage.setItem(KEPT + url, "1");
        return true;
      } catch {
        return false; // If the tabs share no memory, the person decides.
      }
    };
    return navigator.locks ? navigator.locks.request(KEPT + url, claim) : claim();
  }

  window.poppyOperations = Object.assign(window.poppyOperations || {}, { watch, mayContinue });
})();
