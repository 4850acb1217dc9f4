// Conveniences; every page works without them. Nothing here turns text into markup.
"use strict";
(() => {
  // Arrow keys move between the entries of a list.
  for (const list of document.querySelectorAll("[data-list]")) {
    list.addEventListener("keydown", (event) => {
      if (event.target.matches("input")) return;
      const entries = [...list.querySelectorAll(":scope > li > a, :scope > tbody > tr > th a.title")];
      const at = entries.indexOf(document.activeElement);
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[event.key];
      if (at < 0 || next === undefined || !entries[next]) return;
      event.preventDefault();
      entries[next].focus();
    });
  }

  // Escape goes up to the page above.
  const back = document.querySelector("[data-back]");
  if (back) {
    addEventListener("keydown", (event) => {
      const busy = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
      if (event.key === "Escape" && !busy && !event.target.matches("input, textarea, select")) back.click();
    });
  }

  // j and k go on to the next and previous pair, y and n answer; in a list, j and k move.
  addEventListener("keydown", (event) => {
    const busy = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
    if (busy || !/^[jkyn]$/.test(event.key) || event.target.matches("input, textarea, select")) return;
    const marked = document.querySelector(`[data-key="${event.key}"]`);
    if (marked) marked.click();
    else if (event.key === "j" || event.key === "k") {
      const entries = [...document.querySelectorAll("[data-list] > li > a")];
      const next = entries.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
      entries[Math.max(next, 0)]?.focus();
    }
  });

  // Send a request of the API's documentation and show the answer as text.
  for (const form of document.querySelectorAll("form[data-route]")) {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const shown = form.querySelector("pre");
      const fields = new FormData(form);
      let path = form.dataset.route;
      const query = new URLSearchParams();
      for (const field of form.querySelectorAll("[data-in]")) {
        const value = String(fields.get(field.name));
        if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(value));
        else if (value) query.set(field.name, value);
      }
      const headers = {};
      const token = document.getElementById("api-token")?.value;
      if (token) headers.Authorization = `Bearer ${token}`;
      const body = form.querySelector("textarea")?.value;
      if (body) headers["Content-Type"] = form.dataset.type;
      shown.hidden = false;
      try {
        const answer = await fetch(query.size ? `${path}?${query}` : path, { method: form.dataset.method, headers, body });
        const text = await answer.text();
        shown.textContent = `${answer.status} ${answer.statusText}\n${text.slice(0, 20000)}`;
      } catch (error) {
        shown.textContent = String(error);
      }
    });
  }

  // Hide what the texts share.
  const box = document.getElementById("only-differences");
  if (box) {
    box.parentElement.hidden = false;
    const texts = document.querySelector(".texts");
    box.addEventListener("change", () => texts.classList.toggle("only-differences", box.checked));
  }

  // After a comparison, focus its result.
  document.getElementById("result-heading")?.focus();
})();
