"use strict";
(() => {
  const data = JSON.parse(document.getElementById("cuecard-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  async function draw({ again = false, folded = false } = {}) {
    if (!window.vegaEmbed) return;
    const theme = data.themes[dark.matches ? "dark" : "light"];
    for (const place of document.querySelectorAll("[data-chart]")) {
      const fold = place.closest("[data-fold]");
      if (place.dataset.state && !again) continue;
      if (fold && !fold.open && (!folded || !place.clientWidth)) continue;
      place.dataset.state = "drawing";
      try {
        await window.cuecard.draw(place, data.charts[place.dataset.chart], theme, place.dataset.chart);
        place.dataset.state = "drawn";
      } catch (error) {
        place.dataset.state = "failed";
        place.textContent = "This chart could not be drawn (" + error.message + ").";
      }
    }
    if (folded) document.documentElement.dataset.charts = "drawn";
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
      button.textContent = (await window.cuecard.copy(data.snippets[Number(button.dataset.copy)])) ? "Copied" : "Copying is not allowed here";
      setTimeout(() => { button.textContent = said; }, 1600);
    });
  }
})();
