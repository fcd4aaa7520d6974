// Charts of a page: fitted to the width they have, with hover text, saved as PNG or SVG.
"use strict";
window.cuecard = Object.assign(window.cuecard ?? {}, (() => {
  // Panels beside each other share the width; where the page is too narrow for them they are below each other.
  function fitted(spec, width) {
    if (!spec.facet) return spec;
    const facet = spec.facet.column || spec.facet.row || spec.facet;
    const rows = (spec.data && spec.datasets && spec.datasets[spec.data.name]) || [];
    const panels = Math.max(1, new Set(rows.map((row) => row[facet.field])).size);
    const columns = width <= 600 ? 1 : Math.min(panels, Math.max(1, Math.floor((width - 60) / 220)));
    const inner = { ...spec.spec, width: Math.max(160, Math.min(520, Math.floor((width - 60) / columns) - 45)) };
    return { ...spec, facet, columns, spec: inner };
  }

  async function draw(place, declared, config, name) {
    // A chart of the first screen is lower than in its section.
    const height = Number(place.dataset.height);
    const spec = height && typeof declared.height === "number" ? { ...declared, height } : declared;
    // On a phone, entries of a legend that do not fit beside each other are below each other.
    const look = place.clientWidth < 420 ? { ...config, legend: { ...config.legend, columns: 2 } } : config;
    const { view } = await window.vegaEmbed(place, fitted(spec, place.clientWidth), {
      mode: "vega-lite", renderer: "svg", ast: true, config: look, actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true },
    });
    place.parentNode.querySelector(".save")?.remove();
    if (place.scrollWidth > place.clientWidth + 1) place.tabIndex = 0;  // wider than the page: scrolled by keyboard, too
    else place.removeAttribute("tabindex");
    const line = document.createElement("p");
    line.className = "save";
    line.append("Save as ");
    for (const kind of ["PNG", "SVG"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.addEventListener("click", async () => {
        const link = document.createElement("a");
        link.href = await view.toImageURL(kind.toLowerCase(), 2);
        link.download = `cuecard-${name}.${kind.toLowerCase()}`;
        link.click();
      });
      line.append(button);
    }
    if (spec.usermeta?.note) line.prepend(spec.usermeta.note, " ");
    place.after(line);
    return view;
  }
  return { draw };
})());
