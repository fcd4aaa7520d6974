"use strict";
(() => {
  const data = JSON.parse(document.getElementById("cuecard-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  async function draw() {
    if (!window.vegaEmbed) {
      for (const place of document.querySelectorAll("[data-chart]")) {
        place.textContent = data.charts[place.dataset.chart].description + " (" + data.without_charts + ")";
      }
      return;
    }
    const theme = data.themes[dark.matches ? "dark" : "light"];
    for (const place of document.querySelectorAll("[data-chart]")) {
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
    document.documentElement.dataset.charts = "drawn";
  }
  // Charts beside each other stand below each other where the page is too narrow for them.
  function fitted(spec, width) {
    if (!spec.facet || width > 600) return spec;
    const facet = spec.facet.column || spec.facet.row || spec.facet;
    const inner = { ...spec.spec, width: Math.max(160, width - 90) };
    return { ...spec, facet, columns: 1, spec: inner };
  }

  dark.addEventListener("change", draw);
  // Folded findings are part of the print.
  const folded = [];
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      folded.push(details);
    }
  });
  window.addEventListener("afterprint", () => { while (folded.length) folded.pop().open = false; });
  draw();

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
