"use strict";
(() => {
  const data = JSON.parse(document.getElementById("cuecard-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  async function draw({ again = false, folded = false } = {}) {
    if (!window.vegaEmbed) {
      for (const place of document.querySelectorAll("[data-chart]")) {
        place.textContent = data.charts[place.dataset.chart].description + " (" + data.without_charts + ")";
      }
      return;
    }
    const theme = data.themes[dark.matches ? "dark" : "light"];
    for (const place of document.querySelectorAll("[data-chart]")) {
      const fold = place.closest("[data-fold]");
      if (place.dataset.state && !again) continue;
      if (fold && !fold.open && (!folded || !place.clientWidth)) continue;
      place.dataset.state = "drawing";
      const spec = fitted(data.charts[place.dataset.chart], place.clientWidth);
      try {
        await window.vegaEmbed(place, spec, {
          mode: "vega-lite",
          renderer: "svg",
          ast: true,
          config: theme,
          tooltip: { theme: "cuecard" },
          actions: { export: { png: true, svg: true }, source: false, compiled: false, editor: false },
          downloadFileName: "cuecard-" + place.dataset.chart,
        });
        place.dataset.state = "drawn";
      } catch (error) {
        place.dataset.state = "failed";
        place.textContent = "This chart could not be drawn (" + error.message + ").";
      }
    }
    if (folded) document.documentElement.dataset.charts = "drawn";
  }
  // Charts beside each other stand below each other where the page is too narrow for them.
  function fitted(spec, width) {
    if (!spec.facet || width > 600) return spec;
    const facet = spec.facet.column || spec.facet.row || spec.facet;
    const inner = { ...spec.spec, width: Math.max(160, width - 90) };
    return { ...spec, facet, columns: 1, spec: inner };
  }

  dark.addEventListener("change", () => draw({ again: true, folded: true }));

  // A section is folded behind its first sentence. Its charts are drawn when it opens, or when nothing else is to do,
  // so that they are there in a print.
  const folds = [...document.querySelectorAll("[data-fold]")];
  for (const fold of folds) fold.addEventListener("toggle", () => { if (fold.open) draw(); });
  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && (target.closest("details") || target.querySelector("[data-fold]"));
    if (fold) { fold.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", openTarget);
  for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener("click", () => setTimeout(openTarget));
  const all = document.querySelector("[data-unfold]");
  if (all) {
    all.hidden = folds.length === 0;
    all.addEventListener("click", () => { for (const fold of folds) fold.open = true; });
  }
  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      opened.push(details);
    }
  });
  window.addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
  openTarget();
  draw().then(() => setTimeout(() => draw({ folded: true })));

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const said = button.textContent;
      button.textContent = (await copy(data.snippets[Number(button.dataset.copy)])) ? "Copied" : "Copying is not allowed here";
      setTimeout(() => { button.textContent = said; }, 1600);
    });
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const copied = document.execCommand("copy");
      area.remove();
      return copied;
    }
  }

  for (const block of document.querySelectorAll("[data-table]")) explore(block);

  function explore(block) {
    const body = block.querySelector("tbody");
    const texts = new Map([...body.rows].map((row) => [row, row.textContent.toLowerCase()]));
    const search = block.querySelector("input[type=search]");
    const more = block.querySelector("button[data-more]");
    const status = block.querySelector("[role=status]");
    const page = Number(block.dataset.table);
    let limit = page;

    function show() {
      const wanted = search ? search.value.trim().toLowerCase() : "";
      let matching = 0;
      for (const row of body.rows) {
        const match = texts.get(row).includes(wanted);
        row.hidden = !match || matching >= limit;
        matching += match ? 1 : 0;
      }
      if (more) more.hidden = matching <= limit;
      if (status) status.textContent = wanted ? matching + (matching === 1 ? " row matches" : " rows match") : "";
    }

    if (search) search.addEventListener("input", () => { limit = page; show(); });
    if (more) more.addEventListener("click", () => { limit = Infinity; show(); });
    block.querySelectorAll("thead button").forEach((button, column) => {
      button.addEventListener("click", () => sort(button.closest("th"), column));
    });

    function sort(head, column) {
      const numeric = head.classList.contains("number");
      const was = head.getAttribute("aria-sort");
      const up = was ? was === "descending" : !numeric;
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (!numeric) return x.localeCompare(y);
        if (x === "" || y === "") return (x === "") - (y === "");
        return Number(x) - Number(y);
      };
      const sorted = [...body.rows].sort((a, b) => {
        const missing = numeric && (key(a) === "") !== (key(b) === "");
        return missing || up ? order(a, b) : order(b, a);
      });
      body.append(...sorted);
      show();
    }
    show();
  }
})();
