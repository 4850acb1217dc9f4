// The fragment of the URL decides which view is shown, so that back and forward work.

const VIEWS = ["overview", "clusters", "pairs", "pair", "actions"];
const viewOf = (name) => byId(`view-${name}`);

function show(first) {
  const [name, at] = location.hash.slice(1).split("-");
  const entry = /^\d+$/.test(at ?? "") ? Number(at) : -1;
  if (name === "main") {
    byId("main").focus();
    return;
  }
  const isPair = name === "pair" && data.pairs[entry] !== undefined;
  const isCluster = name === "cluster" && data.clusters.count[entry] !== undefined;
  const view = isPair ? "pair" : isCluster ? "clusters" : ["clusters", "pairs", "actions"].includes(name) ? name
    : "overview";
  if (isPair) viewOf("pair").replaceChildren(...pairs.drawPair(entry).filter(Boolean));
  for (const each of VIEWS) viewOf(each).hidden = each !== view;
  for (const link of document.querySelectorAll("header nav a")) {
    const here = link.hash === `#${view}` || (view === "pair" && link.hash === "#pairs");
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${viewOf(view).querySelector("h1").textContent} – ${t("neardup report")}`;
  if (isCluster) clusters.open(entry);
  else if (!first) {
    scrollTo(0, 0);
    viewOf(view).querySelector("h1").focus({ preventScroll: true });
  }
}

addEventListener("hashchange", () => show(false));
addEventListener("keydown", (event) => {
  if (viewOf("pair").hidden || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const id = { ArrowLeft: "previous", ArrowRight: "next", Escape: "to-pairs" }[event.key];
  if (id) byId(id)?.click();
});
clusters.filter();
actions.filter();
pairs.start();
show(true);
