// The list of clusters. Columns are arrays in which the pages of a cluster follow each other.

// A text stored as its difference from another: see `differences` in listing.py.
function whole(text, other) {
  if (text === null) return other;
  if (typeof text === "string") return text;
  const [start, end, between] = text;
  return other.slice(0, start) + between + other.slice(other.length - end);
}

const clusters = (() => {
  const { count, size: sizes, hosts, saved } = data.clusters;
  const pages = data.pages;
  const MEMBERS_AT_ONCE = 100;
  const firsts = [];
  let total = 0;
  for (const listed of count) {
    const first = total;
    firsts.push(first);
    total += listed;
    for (let page = first; page < total; page += 1) {
      pages.id[page] = whole(pages.id[page], pages.id[first]);
      pages.title[page] = whole(pages.title[page], pages.title[first]);
      pages.url[page] = whole(pages.url[page], pages.id[page]);
    }
  }
  const haystacks = [];
  let leastAlike = null;

  const rows = (cluster) => Array.from({ length: count[cluster] }, (_, at) => firsts[cluster] + at);

  function haystack(cluster) {
    haystacks[cluster] ??= rows(cluster)
      .map((page) => `${pages.title[page]}\n${pages.id[page]}\n${pages.url[page]}`)
      .join("\n").toLowerCase();
    return haystacks[cluster];
  }

  function least(cluster) {
    leastAlike ??= count.map((_, each) => rows(each).reduce(
      (lowest, page) => Math.min(lowest, pages.similarity[page] ?? 1), 1));
    return leastAlike[cluster];
  }

  const list = paged(byId("cluster-list"), byId("cluster-pager"), byId("cluster-status"), "cluster",
    drawCluster);

  function filter() {
    const words = byId("cluster-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const where = byId("cluster-hosts").value;
    const found = [];
    for (let cluster = 0; cluster < count.length; cluster += 1) {
      if (where !== "all" && (hosts[cluster] > 1) !== (where === "several")) continue;
      if (words.every((word) => haystack(cluster).includes(word))) found.push(cluster);
    }
    const order = byId("cluster-order").value;
    if (order === "saved") found.sort((a, b) => saved[b] - saved[a] || a - b);
    if (order === "doubtful") found.sort((a, b) => least(a) - least(b) || a - b);
    list.set(found);
  }

  function drawCluster(cluster) {
    const first = firsts[cluster];
    const details = element("details", { id: `cluster-${cluster}` },
      element("summary", {},
        element("span", { class: "count" }, number(sizes[cluster]),
          element("span", { class: "visually-hidden" }, ` ${t("pages:")} `)),
        element("span", { class: "what" }, named(pages.title[first], pages.id[first]),
          element("span", { class: "note" }, description(cluster)))));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(drawMembers(cluster));
    });
    return element("li", {}, details);
  }

  function description(cluster) {
    const lowest = least(cluster);
    return [plural(sizes[cluster], "page"), hosts[cluster] ? t("on {hosts}", { hosts: plural(hosts[cluster], "host") }) : "",
      t("{size} saved", { size: size(saved[cluster]) }),
      lowest < 1 ? t("similarity from {least}", { least: fixed(lowest) }) : t("all identical"),
    ].filter(Boolean).join(" · ");
  }

  function drawMembers(cluster) {
    const body = element("tbody");
    const more = element("button", { type: "button" });
    const box = element("div", { class: "members" },
      element("table", {}, element("caption", { class: "visually-hidden" }, t("Pages of this cluster")),
        element("thead", {}, element("tr", {}, ...[t("Page"), t("Relation to the kept page"), t("Similarity"), t("Size"),
          t("Texts")].map((heading) => element("th", { scope: "col" }, heading)))), body), more);
    let shown = 0;

    function showMore() {
      const next = rows(cluster).slice(shown, shown + MEMBERS_AT_ONCE);
      body.append(...next.map((page) => drawMember(page, firsts[cluster])));
      shown += next.length;
      more.hidden = shown >= count[cluster];
      more.textContent = t("Show more of {pages}", { pages: plural(count[cluster], "page") });
      const unlisted = sizes[cluster] - count[cluster];
      if (more.hidden && unlisted) {
        box.append(element("p", { class: "note" },
          t("{pages} in the clusters table next to this report", { pages: plural(unlisted, "more page") })));
      }
    }
    more.addEventListener("click", showMore);
    showMore();
    return box;
  }

  function drawMember(page, first) {
    const kept = page === first;
    const relation = kept ? null : data.relations[pages.relation[page]];
    const pair = pairs.withPage(pages.id[page], pages.id[first]);
    return element("tr", {},
      element("th", { scope: "row" }, named(pages.title[page], pages.id[page]),
        names(pages.id[page], pages.url[page])),
      element("td", {}, kept ? element("span", { class: "tag kept" }, t("kept")) : tag(relation)),
      element("td", {}, kept ? "" : similarity(pages.similarity[page], "joined")),
      element("td", { class: "number" }, size(pages.bytes[page])),
      element("td", {}, pair === undefined || kept ? ""
        : element("a", { href: `#pair-${pair}` }, t("Compare"),
          element("span", { class: "visually-hidden" }, ` ${pages.id[page]}`))));
  }

  byId("cluster-search").addEventListener("input", soon(filter));
  byId("cluster-order").addEventListener("change", filter);
  byId("cluster-hosts").addEventListener("change", filter);

  return {
    filter,
    // Show one cluster, whatever the filters are set to.
    open(cluster) {
      if (!list.reveal(cluster)) {
        byId("cluster-search").value = "";
        byId("cluster-hosts").value = "all";
        filter();
        list.reveal(cluster);
      }
      const details = byId(`cluster-${cluster}`);
      if (!details) return;
      details.open = true;
      details.firstChild.focus();
      details.scrollIntoView({ block: "start" });
    },
  };
})();
