// For scripts of the site: include it below watch.js, and call poppyOperations.fetch() as fetch().
//
//   const answer = await poppyOperations.fetch("/cart/pay/", () => ({
//     method: "POST", body: new FormData(form), headers: { "X-CSRFToken": currentToken() },
//   }));
//
// If the answer asks for approval, this waits for it, and then makes the request again. The options
// may be a function, which is then called again for the second request: a login in between has
// changed the CSRF token. The result is the answer to the last request that was made.
//
// Meanwhile the document gets "poppy:status" events, whose `detail` has `status` (waiting,
// approved, performing, performed or unknown) and `resource`. If the request is not made again,
// because another tab carries on or the time for an approval is over, the answer still is the first
// one, with status 403, and its `poppyStatus` is the last status that was seen.
(() => {
  "use strict";

  const { watch, mayContinue } = window.poppyOperations;
  const STATUS_LINK = /<([^>]*)>\s*;\s*rel="status"/;

  // The site's own answers to a script may have been replaced on the way; the headers have not.
  function watchUrl(answer) {
    const link = STATUS_LINK.exec(answer.headers.get("Link") || "");
    return answer.status === 403 && answer.headers.has("Poppy-Operation") && link ? link[1] : null;
  }

  function outcome(url, resource, signal) {
    return new Promise((resolve, reject) => {
      const tell = (status) =>
        document.dispatchEvent(new CustomEvent("poppy:status", { detail: { status, resource } }));
      const isWanted = () => !(signal && signal.aborted);

      async function handle({ status }) {
        tell(status);
        const isOver = ["approved", "performed", "unknown"].includes(status);
        if (isOver && isWanted()) {
          resolve({ status, repeat: status === "approved" && (await mayContinue(url)) });
        }
        return isOver;
      }

      if (signal) {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }
      tell("waiting");
      watch(url, handle, isWanted);
    });
  }

  async function fetchApproved(resource, options) {
    const optionsNow = () => ({ ...(typeof options === "function" ? options() : options) });
    const attempt = () => {
      const own = optionsNow();
      const headers = new Headers(own.headers);
      if (!headers.has("Accept")) {
        headers.set("Accept", "application/json");
      }
      return { own, answer: fetch(resource, { ...own, headers }) };
    };

    for (;;) {
      const { own, answer: coming } = attempt();
      const answer = await coming;
      const url = watchUrl(answer);
      if (!url) {
        return answer;
      }
      const { status, repeat } = await outcome(url, resource, own.signal);
      if (!repeat) {
        return Object.assign(answer, { poppyStatus: status });
      }
    }
  }

  window.poppyOperations.fetch = fetchApproved;
})();
