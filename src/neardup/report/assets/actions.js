// What to do about each duplicate: the list, and files to save.

const actions = (() => {
  const { count, pages } = { count: data.clusters.count, pages: data.pages };
  const entries = []; // [page, kept page]
  let first = 0;
  for (const listed of count) {
    for (let page = first + 1; page < first + listed; page += 1) entries.push([page, first]);
    first += listed;
  }
  const STATES = {
    missing: t("canonical link missing"), right: t("canonical link correct"),
    itself: t("canonical link to the page itself"), conflicting: t("canonical link to a third page"),
  };
  const DEEDS = {
    redirect: t("redirect to"), link: t("set the canonical link to"), none: t("nothing to do, leads to"),
    remove: t("remove in favour of"),
  };
  // Two copies of one address are distinguished by their ids.
  const address = (page, kept) => (pages.url[page] && pages.url[page] !== pages.url[kept]
    ? pages.url[page] : pages.id[page]);
  const addresses = ([page, kept]) => [address(page, kept), address(kept, page)];
  const state = ([page]) => data.canonical[pages.canonical[page]];
  const hostOf = (url) => /^https?:\/\/([^/?#]*)/i.exec(url)?.[1].toLowerCase().replace(/^www\./, "");

  function deed(entry) {
    const hosts = entry.map((page) => hostOf(pages.url[page]));
    if (!hosts[0] || !hosts[1] || pages.url[entry[0]] === pages.url[entry[1]]) return "remove";
    if (state(entry) === "right") return "none";
    return hosts[0] === hosts[1] ? "redirect" : "link";
  }

  const list = paged(byId("action-list"), byId("action-pager"), byId("action-status"), "duplicate", draw);

  function draw(at) {
    const entry = entries[at];
    return element("li", {},
      element("span", { class: "what" }, named(pages.title[entry[0]], pages.id[entry[0]]),
        element("bdi", { class: "id" }, addresses(entry)[0])),
      element("span", { class: "deed" }, element("span", { class: `tag ${deed(entry)}` }, DEEDS[deed(entry)]),
        element("bdi", { class: "id" }, addresses(entry)[1])),
      element("span", { class: `tag canonical-${state(entry)}` }, STATES[state(entry)]));
  }

  function filter() {
    const words = byId("action-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = byId("action-canonical").value;
    const found = [];
    entries.forEach((entry, at) => {
      if (wanted !== "all" && state(entry) !== wanted) return;
      const both = addresses(entry).join("\n").toLowerCase();
      if (words.every((word) => both.includes(word))) found.push(at);
    });
    list.set(found);
  }

  // A spreadsheet runs cells that begin like this as formulas; a quote sign makes them text.
  function cell(value) {
    const text = String(value ?? "");
    const harmless = /^[=+\-@\t\r\n']/.test(text) ? `'${text}` : text;
    return `"${harmless.replaceAll('"', '""')}"`;
  }

  function csv() {
    const rows = entries.map((entry) => [...addresses(entry), deed(entry), state(entry),
      data.relations[pages.relation[entry[0]]], pages.similarity[entry[0]], pages.title[entry[0]]]);
    const heading = ["page", "keep", "action", "canonical", "relation", "similarity", "title"];
    return `\ufeff${[heading, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
  }

  // Only characters that mean nothing to a server stay as they are. A shortened address is left out.
  const plain = (url) => url.replace(/[^A-Za-z0-9/:?=&,.\-_~+!*()@%]/gu, (sign) => [...new TextEncoder()
    .encode(sign)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""));

  function redirects() {
    return entries.filter((entry) => deed(entry) === "redirect"
      && entry.every((page) => !/[…⟨\u2400-\u2421]/.test(pages.url[page])))
      .map((entry) => entry.map((page) => plain(pages.url[page])))
      .map(([page, kept]) => [page.replace(/^https?:\/\//i, ""), kept]);
  }

  const nginx = () => ["# include this file in the http block, and in the server block:",
    "#     if ($neardup_keep) { return 301 $neardup_keep; }", "map_hash_bucket_size 1024;",
    'map "$host$request_uri" $neardup_keep {', '    default "";',
    ...redirects().map(([page, kept]) => `    "${page}" "${kept}";`), "}", ""].join("\n");

  const apache = () => ["# In the server or virtual host:", "#     RewriteEngine On",
    '#     RewriteMap neardup "txt:/path/to/redirects.apache.txt"',
    '#     RewriteCond "%{THE_REQUEST}" "^[A-Z]+ (\\S+)"',
    '#     RewriteCond "${neardup:%{HTTP_HOST}%1}" "^(.+)$"', '#     RewriteRule "^" "%1" [R=301,L,NE]',
    ...redirects().map((both) => both.join(" ")), ""].join("\n");

  function save(id, name, type, content) {
    byId(id).addEventListener("click", () => {
      const link = element("a", { href: URL.createObjectURL(new Blob([content()], { type })), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
  save("save-csv", "actions.csv", "text/csv;charset=utf-8", csv);
  save("save-nginx", "redirects.nginx.conf", "text/plain", nginx);
  save("save-apache", "redirects.apache.txt", "text/plain", apache);
  byId("action-search").addEventListener("input", soon(filter));
  byId("action-canonical").addEventListener("change", filter);
  return { filter };
})();
