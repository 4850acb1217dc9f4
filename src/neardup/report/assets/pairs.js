// The list of pairs, and one pair with its two texts side by side.

const pairs = (() => {
  const DECISIONS = [
    ["joined", t("In one cluster")], ["related", t("Related, kept apart")], ["rejected", t("Rejected")],
  ];
  const [SHARED, LEFT, RIGHT, WRITTEN] = [0, 1, 2, 3];
  const haystacks = [];
  const ofPage = new Map(); // a page's id: the numbers of its pairs
  data.pairs.forEach((pair, at) => {
    for (const { id } of [pair.a, pair.b]) {
      if (pair.decision === "joined") ofPage.set(id, [...(ofPage.get(id) || []), at]);
    }
  });
  let list = null;
  let matches = [];

  function start() {
    list = paged(byId("pair-list"), byId("pair-pager"), byId("pair-status"), "pair", drawEntry);
    byId("pair-decisions").append(...DECISIONS.map(([name, label]) => {
      const count = data.pairs.filter((pair) => pair.decision === name).length;
      const box = element("input", { type: "checkbox", value: name, checked: true });
      box.addEventListener("change", filter);
      return element("label", {}, box, element("span", { class: `key ${name}` }), `${label} `,
        element("span", { class: "note" }, number(count)));
    }));
    byId("pair-search").addEventListener("input", soon(filter));
    filter();
  }

  function haystack(at) {
    const { a, b, relation, why } = data.pairs[at];
    haystacks[at] ??= [a.title, a.id, a.url, b.title, b.id, b.url, relation, WORDS[relation],
      why].join("\n").toLowerCase();
    return haystacks[at];
  }

  function filter() {
    const wanted = new Set([...byId("pair-decisions").querySelectorAll("input:checked")]
      .map((box) => box.value));
    const words = byId("pair-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    matches = data.pairs.map((_, at) => at).filter((at) => wanted.has(data.pairs[at].decision)
      && words.every((word) => haystack(at).includes(word)));
    list.set(matches);
  }

  function drawEntry(at) {
    const pair = data.pairs[at];
    return element("li", {}, element("a", { href: `#pair-${at}`, class: pair.decision },
      element("span", { class: "verdict" }, similarity(pair.similarity, pair.decision),
        tag(pair.relation)),
      element("span", { class: "both" }, named(pair.a.title, pair.a.id),
        element("bdi", { class: "id" }, pair.a.id), named(pair.b.title, pair.b.id),
        element("bdi", { class: "id" }, pair.b.id)),
      element("span", { class: "why" }, pair.why)));
  }

  function drawPair(at) {
    const pair = data.pairs[at];
    const order = matches.includes(at) ? matches : data.pairs.map((_, each) => each);
    const place = order.indexOf(at);
    return [
      element("nav", { class: "along", "aria-label": t("Pairs") },
        element("a", { href: "#pairs", id: "to-pairs" }, t("All pairs")),
        step("previous", `← ${t("Previous pair")}`, order[place - 1]), step("next", `${t("Next pair")} →`, order[place + 1])),
      element("p", { class: "eyebrow" }, DECISIONS.find(([name]) => name === pair.decision)[1]),
      element("h1", { id: "pair-heading", tabindex: "-1" }, sentence(pair)),
      element("div", { class: "judged" }, element("div", {}, similarity(pair.similarity, pair.decision),
        tag(pair.relation)), element("p", { class: "why" }, pair.why)),
      drawEvidence(pair.evidence),
      element("div", { class: "cards" }, drawCard("A", pair.a), drawCard("B", pair.b)),
      ...drawTexts(pair),
    ];
  }

  function step(id, label, to) {
    return to === undefined ? element("span", { class: "off" }, label)
      : element("a", { href: `#pair-${to}`, id }, label);
  }

  function sentence({ relation }) {
    return {
      same: t("A and B have the same text"), near: t("A and B are nearly the same"),
      contains: t("A contains B"), contained: t("A is contained in B"), overlap: t("A and B overlap"),
      different: t("A and B are different pages"), undecided: t("Too little text to compare A and B"),
    }[relation] || relation;
  }

  function drawEvidence(evidence) {
    const long = (value) => JSON.stringify(value).length > 40;
    const rest = Object.entries(evidence)
      .sort(([, a], [, b]) => long(a) - long(b)); // numbers first, then what takes a line
    if (rest.length === 0) return null;
    return element("dl", { class: "terms evidence" }, ...rest.map(([name, value]) => element("div", {},
      element("dt", {}, spaced(name)), element("dd", {}, describe(value)))));
  }

  const spaced = (name) => name.replaceAll("_", " ");

  function describe(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "boolean") return value ? t("yes") : t("no");
    if (typeof value === "number") return Number.isInteger(value) ? number(value) : String(+value.toFixed(4));
    if (typeof value === "string") return element("bdi", {}, value);
    const parts = Array.isArray(value) ? value.map((each) => [describe(each)])
      : Object.entries(value).map(([name, each]) => [element("bdi", {}, spaced(name)), ": ", describe(each)]);
    if (parts.length === 0) return "–";
    return element("span", {}, ...parts.flatMap((part, at) => (at ? [", ", ...part] : part)));
  }

  function drawCard(side, page) {
    return element("article", { class: `card side-${side.toLowerCase()}` },
      element("h2", {}, element("span", { class: "side" }, side), named(page.title, page.id)),
      element("p", {}, names(page.id, page.url)),
      element("p", { class: "note" }, `${size(page.bytes)} · ${t("{count} characters of text", { count: number(page.characters) })}`,
        page.cluster < 0 ? ` · ${t("not in a listed cluster")}`
          : [" · ", element("a", { href: `#cluster-${page.cluster}` }, t("its cluster"))]));
  }

  function drawTexts(pair) {
    if (pair.texts === null) {
      return [element("p", { class: "empty" }, t("These texts are not in this file: it holds a limited number of texts, and none from earlier runs."))];
    }
    const box = element("input", { type: "checkbox", id: "only-differences" });
    const texts = element("div", { class: "texts", role: "group", "aria-label": t("The two texts") },
      ...pair.texts.rows.map(drawRow));
    box.addEventListener("change", () => texts.classList.toggle("only-differences", box.checked));
    return [
      element("h2", { class: "texts-heading" }, t("The two texts")),
      drawMap(pair),
      element("div", { class: "legend" },
        element("span", {}, element("span", { class: "sample" }, t("shared"))),
        element("span", {}, element("del", {}, t("only in A"))), element("span", {}, element("ins", {}, t("only in B"))),
        element("span", {}, element("u", {}, t("written differently"))),
        element("span", { class: "sample-folded" }, t("does not count")),
        element("label", {}, box, t("Only the differences"))),
      texts,
      pair.texts.cut ? element("p", { class: "note" }, t("Only the first {count} characters that count are compared here; the verdict is based on the full texts.",
        { count: number(CUT_AT) })) : null,
    ];
  }

  const CUT_AT = data.longest_text;

  function drawRow(row) {
    if (typeof row === "number") {
      return element("div", { class: "row gap" }, element("p", {},
        t("{count} shared characters omitted", { count: number(row) })));
    }
    if (typeof row === "object" && !Array.isArray(row)) return drawFolded(row);
    const runs = typeof row === "string" ? [[SHARED, row]] : row;
    const only = (...kinds) => runs.every(([part]) => kinds.includes(part));
    const kind = only(SHARED) ? "row agrees shared" : only(SHARED, WRITTEN) ? "row agrees" : "row";
    return element("div", { class: kind },
      drawSide(runs, "A", LEFT, "del"), drawSide(runs, "B", RIGHT, "ins"));
  }

  // Text that does not count; it is there for whoever wants to see it.
  function drawFolded({ a, b, more }) {
    const cell = (side, text, hidden) => element("div", { class: `cell side-${side}`, dir: "auto" },
      text, hidden ? ` … ${t("{count} more characters", { count: number(hidden) })}` : null);
    return element("details", { class: "folded" },
      element("summary", {}, t("Does not count: {a} characters of A, {b} of B",
        { a: number(a.length + more[0]), b: number(b.length + more[1]) })),
      element("div", { class: "row" }, cell("a", a, more[0]), cell("b", b, more[1])));
  }

  function drawSide(runs, side, own, name) {
    const shown = runs.filter(([part]) => part === own || part === SHARED || part === WRITTEN);
    const text = ([part, left, right]) => (side === "B" ? right ?? left : left);
    return element("div", { class: `cell side-${side.toLowerCase()}`, dir: "auto" },
      ...shown.map((run) => (run[0] === SHARED ? text(run)
        : element(run[0] === WRITTEN ? "u" : name, {}, text(run)))));
  }

  // Each text from start to end in one bar: what counts, shared or not, and what does not.
  function drawMap({ texts, shares }) {
    return element("div", { class: "map" }, ...[["A", LEFT, 0], ["B", RIGHT, 1]].map(([side, own, at]) => {
      const share = shares[at];
      const parts = texts.rows.flatMap((row) => barParts(row, side, own, at));
      const total = parts.reduce((sum, [, length]) => sum + length, 0) || 1;
      let from = 0;
      const rects = parts.map(([kind, length]) => {
        const rect = drawing("rect", {
          class: kind, x: `${(100 * from) / total}%`, width: `${(100 * length) / total}%`, height: "100%",
        });
        from += length;
        return rect;
      });
      return element("div", { class: `side-${side.toLowerCase()}` },
        element("span", { class: "side" }, side),
        drawing("svg", { focusable: "false", "aria-hidden": "true" }, ...rects),
        element("p", { class: "note" }, share === null ? null
          : [element("b", {}, t("{percent}% shared", { percent: Math.round(100 * share) })), " · "],
        t("{counting} of {count} characters count",
          { counting: number(texts.counting[at]), count: number(texts.characters[at]) })));
    }));
  }

  function barParts(row, side, own, at) {
    if (typeof row === "number") return [["shared", row]];
    if (typeof row === "string") return [["shared", row.length]];
    if (!Array.isArray(row)) return [["left-out", row[side.toLowerCase()].length + row.more[at]]];
    return row.filter(([part]) => part === own || part === SHARED || part === WRITTEN)
      .map(([part, left, right]) => [part === own ? "own" : "shared",
        (side === "B" ? right ?? left : left).length]);
  }

  return {
    start,
    drawPair,
    // A joined pair with this page, preferably the one with the kept page.
    withPage(id, kept) {
      const found = ofPage.get(id) || [];
      return found.find((at) => [data.pairs[at].a.id, data.pairs[at].b.id].includes(kept)) ?? found[0];
    },
  };
})();
