// Elements, numbers and words. Text of pages is only ever added as text nodes.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const PAGE_LENGTH = 50;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function drawing(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Words in the language of the report, with their values filled in.
function t(words, values = {}) {
  return (data.words[words] ?? words).replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
}

const number = (value) => value.toLocaleString("en-GB");
function plural(count, word) {
  const many = `{count} ${word}s`;
  const words = count === 1 && !(many in data.words) ? `{count} ${word}` : many;
  return t(words, { count: number(count) });
}
const fixed = (similarity) => (similarity === null ? "–" : similarity.toFixed(2));

function size(count) {
  if (count < 1000) return plural(count, "byte");
  let value = count;
  let unit = "";
  for (unit of ["KB", "MB", "GB", "TB"]) {
    value /= 1000;
    if (value < 999.5) break;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

function meter(share, kind) {
  return drawing("svg", { class: "meter", "aria-hidden": "true", focusable: "false" },
    drawing("rect", { class: "track", width: "100%", height: "100%" }),
    drawing("rect", { class: kind, width: `${Math.round(share * 1000) / 10}%`, height: "100%" }));
}

function similarity(value, kind) {
  return element("span", { class: "similarity" }, value === null ? null : meter(value, kind),
    element("span", { class: "visually-hidden" }, `${t("similarity")} `), fixed(value));
}

const WORDS = {
  same: t("same text"), near: t("nearly the same"), contains: t("contains the other"),
  contained: t("contained in the other"), overlap: t("overlap"), different: t("different"),
  undecided: t("undecided"),
};
const tag = (relation) => element("span", { class: `tag ${relation}` }, WORDS[relation] || relation);

// Only http and https URLs become links, and only if nothing in them was cut or made visible.
function address(url) {
  if (!url) return null;
  const safe = /^https?:\/\/[^\s⟨…\u2400-\u2421]+$/i.test(url);
  if (!safe) return element("bdi", { class: "address" }, url);
  const link = { class: "address", href: url, rel: "noreferrer noopener nofollow", target: "_blank" };
  return element("a", link, element("bdi", {}, url));
}

// A page's id and URL, or one of them if they are the same.
function names(id, url) {
  const isAddress = url === id || url === `http://${id}` || url === `https://${id}`;
  const plain = isAddress && /^https?:/i.test(url) ? null : element("bdi", { class: "id" }, id);
  return [plain, isAddress && plain ? null : address(url)];
}

const named = (title, id) => element("bdi", { class: "title" }, title || id);

const NOTHING = {
  cluster: "No cluster matches.", pair: "No pair matches.", duplicate: "No duplicate matches.",
};

// A list shown in pages: `draw` makes one entry, `matches` are the numbers of the entries to show.
function paged(list, pager, status, word, draw) {
  let matches = [];
  let first = 0;

  function show() {
    const last = Math.min(first + PAGE_LENGTH, matches.length);
    list.replaceChildren(...matches.slice(first, last).map(draw));
    list.start = first + 1;
    status.textContent = matches.length === 0 ? t(NOTHING[word])
      : `${plural(matches.length, word)}${matches.length > PAGE_LENGTH
        ? t(", {first} to {last} shown", { first: number(first + 1), last: number(last) }) : ""}`;
    pager.replaceChildren(...(matches.length > PAGE_LENGTH
      ? [turn(t("Previous"), -PAGE_LENGTH, first > 0), turn(t("Next"), PAGE_LENGTH, last < matches.length)]
      : []));
  }

  function turn(label, by, possible) {
    const button = element("button", { type: "button", disabled: !possible }, label);
    button.addEventListener("click", () => {
      first += by;
      show();
      list.querySelector("summary, a")?.focus();
      list.scrollIntoView({ block: "start" });
    });
    return button;
  }

  list.addEventListener("keydown", (event) => {
    const entries = [...list.querySelectorAll(":scope > li > a, :scope > li > details > summary")];
    const at = entries.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[event.key];
    if (at < 0 || next === undefined || !entries[next]) return;
    event.preventDefault();
    entries[next].focus();
  });

  return {
    set(found) { matches = found; first = 0; show(); },
    reveal(entry) {
      const at = matches.indexOf(entry);
      if (at < 0) return false;
      first = at - (at % PAGE_LENGTH);
      show();
      return true;
    },
  };
}

// Wait for a pause in typing before filtering.
function soon(action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, 120);
  };
}
