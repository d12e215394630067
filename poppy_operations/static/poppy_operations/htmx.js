// For sites with htmx: include it beside htmx, and answers that ask for approval are shown.
// htmx shows nothing of an answer with an error status unless it is told to.
(() => {
  "use strict";

  const OURS = "#poppy-operations";

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (xhr.getResponseHeader("HX-Reselect") !== OURS) {
      return;
    }
    document.querySelector(".poppy-fragment")?.remove();
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  });
})();
