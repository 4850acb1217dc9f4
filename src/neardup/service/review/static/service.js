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
