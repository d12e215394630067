// Watches the operation that this page waits for, and makes its request again once it is approved.
// The page is complete without it. Even if the request is made twice here, the site acts once: an
// approval is used for one request.
(() => {
  "use strict";

  const { watch, mayContinue } = window.poppyOperations;
  // A field of the form may be called as any member of a form is: `hidden`, `dataset`, `submit`.
  const { getAttribute, querySelector, toggleAttribute } = Element.prototype;
  const { requestSubmit } = HTMLFormElement.prototype;

  function start(box) {
    const page = box.closest("#poppy-operations");
    const form = page.querySelector("[data-poppy-continue]");
    const heading = page.querySelector("[data-poppy-heading]");
    const first = { heading: heading.textContent, title: document.title };

    function show(status) {
      let title;
      for (const text of box.querySelectorAll("[data-poppy-when]")) {
        text.hidden = text.dataset.poppyWhen !== status;
        title = text.hidden ? title : text.dataset.poppyTitle;
      }
      for (const part of page.querySelectorAll("[data-poppy-while]")) {
        const statuses = getAttribute.call(part, "data-poppy-while").split(" ");
        toggleAttribute.call(part, "hidden", !statuses.includes(status));
      }
      heading.textContent = title || first.heading;
      if (page.matches("main")) {
        document.title = title || first.title;
      }
    }

    // A login since has changed the token that Django expects.
    function renew(token) {
      const field = form && querySelector.call(form, "[name=csrfmiddlewaretoken]");
      if (field && token) {
        field.value = token;
      }
    }

    async function handle({ status, csrf_token: token }) {
      renew(token);
      show(status);
      if (status === "approved" && form && (await mayContinue(box.dataset.poppyWatch))) {
        show("continuing");
        // Not submit(): Turbo and the like must see it.
        requestSubmit.call(form);
        return true;
      }
      return status === "unknown" || status === "performed";
    }

    show("waiting");
    watch(box.dataset.poppyWatch, handle, () => box.isConnected);
  }

  for (const box of document.querySelectorAll("[data-poppy-watch]:not([data-poppy-watching])")) {
    box.dataset.poppyWatching = "";
    start(box);
  }
})();
