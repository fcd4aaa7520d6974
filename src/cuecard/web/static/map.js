// The map of clusters (PECO, Figure 1): regions whose labels deviate, a threshold, and the curve over thresholds.
"use strict";
window.cuecardMap = async ({ api, el, bdi, chip, colour, percent, whole, card, $ }) => {
  const SPACE = "http://www.w3.org/2000/svg";
  const node = (tag, all = {}, text) => {
    const made = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(all)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  async function rows(table, most) {
    const all = [];
    for (let offset = 0, total = 1; offset < total && offset < most; offset += 200) {
      const page = await api(`/cards/${card}/tables/${table}?offset=${offset}&limit=200`);
      all.push(...page.rows);
      total = page.total;
    }
    return all;
  }
  const { tables } = await api(`/cards/${card}/tables`), present = (name, most) => (tables.includes(name) ? rows(name, most) : []);
  const [points, clusters, curve] = await Promise.all([rows("cluster_map", 20000), present("clusters", 2000), present("cluster_curve", 400)]);
  const svg = $("[data-map]"), slider = $("[data-threshold]"), menu = $("[data-cluster]");
  const by_number = new Map(clusters.map((one) => [one.cluster, one]));
  for (const number of new Set(points.map((p) => p.cluster))) if (!by_number.has(number)) by_number.set(number, { cluster: number, words: `region ${number}` });

  // Places
  const range = (name) => [Math.min(...points.map((p) => p[name])), Math.max(...points.map((p) => p[name]))];
  const [x0, x1] = range("x"), [y0, y1] = range("y");
  const outlines = node("g", { class: "outlines" }), dots = node("g", { class: "dots" }), names = node("g", { class: "names" });
  svg.append(outlines, dots, names);
  for (const p of points) {
    p.at = [30 + (940 * (p.x - x0)) / (x1 - x0 || 1), 30 + (640 * (p.y - y0)) / (y1 - y0 || 1)];
    p.dot = node("circle", { cx: p.at[0], cy: p.at[1], r: 4 });
    p.dot.style.setProperty("--chip", colour(p.label));
    p.dot.append(node("title", {}, `${p.label}: ${p.text}`));
    dots.append(p.dot);
  }
  // A region is where points of a cluster lie close together; it is named at its densest place.
  const NEAR = 75;
  for (const one of by_number.values()) {
    one.points = points.filter((p) => p.cluster === one.cluster);
    if (!one.points.length) continue;
    for (const p of one.points) p.near = one.points.reduce((count, q) => count + (Math.hypot(p.at[0] - q.at[0], p.at[1] - q.at[1]) < NEAR), 0) - 1;
    one.core = one.points.filter((p) => p.near > 0);
    one.at = one.points.reduce((best, p) => (p.near > best.near ? p : best)).at;
  }
  const shown = [...by_number.values()].filter((one) => one.points.length);
  const title = (one) => String(one.words ?? `region ${one.cluster}`).split(",").slice(0, 3).join(",");
  const labels = [...new Set(points.map((p) => p.label))];
  $("[data-legend]").replaceChildren(...labels.flatMap((label) => [chip(label), " "]));

  // The threshold: steps over the distances that occur; it begins where shuffled labels put hardly any text.
  const distance = (one) => one.divergence_l2 ?? 0;
  const top = Math.max(...shown.map(distance), 1e-9) * 1.05;
  const value = () => (top * Number(slider.value)) / 100;
  const quiet = curve.find((one) => (one.null_high ?? 0) <= 0.02)?.threshold ?? 0.25;
  slider.value = Math.max(1, Math.min(95, Math.ceil((100 * quiet) / top)));
  function mark() {
    const least = value(), beyond = shown.filter((one) => distance(one) >= least && clusters.length);
    const inside = new Set(beyond.map((one) => one.cluster));
    for (const p of points) { p.dot.classList.toggle("deviates", inside.has(p.cluster)); p.dot.setAttribute("r", inside.has(p.cluster) ? 6 : 3); }
    const ring = (one, name, r) => { const made = node("g", { class: name }); made.style.setProperty("--chip", one.label ? colour(one.label) : ""); made.append(...one.core.map((p) => node("circle", { cx: p.at[0], cy: p.at[1], r }))); return made; };
    const ascending = [...beyond].sort((a, b) => distance(a) - distance(b));
    outlines.replaceChildren(...ascending.flatMap((one) => [ring(one, "edge", 21), ring(one, "ground", 19), ring(one, "tint", 19)]));
    // A name keeps clear of those that are there already: the strongest region comes first.
    const placed = [];
    names.replaceChildren();
    for (const one of [...beyond].sort((a, b) => distance(b) - distance(a)).slice(0, 12)) {
      const text = title(one), width = 8.6 * text.length + 12, x = Math.min(1000 - width / 2, Math.max(width / 2, one.at[0]));
      let y = Math.max(26, one.at[1] - 28);
      while (placed.some((other) => Math.abs(other.x - x) < (other.width + width) / 2 && Math.abs(other.y - y) < 24) && y < 680) y += 24;
      placed.push({ x, y, width });
      names.append(node("rect", { x: x - width / 2, y: y - 16, width, height: 22, rx: 5 }), node("text", { x, y, "text-anchor": "middle" }, text));
    }
    const texts = beyond.reduce((sum, one) => sum + (one.size ?? one.points.length), 0), all = shown.reduce((sum, one) => sum + (one.size ?? one.points.length), 0);
    $("[data-said]").textContent = clusters.length ? `${least.toFixed(3)}: ${whole(beyond.length)} of ${whole(shown.length)} regions, ${percent(texts / (all || 1))} of the texts` : "This card has no table of clusters.";
    slider.setAttribute("aria-valuetext", $("[data-said]").textContent);
    draw_curve(least);
  }

  function draw_curve(least) {
    const place = $("[data-curve]"), far = top, X = (t) => 36 + (254 * Math.min(t, far)) / far, Y = (s) => 162 - 150 * s;
    const line = (name) => curve.filter((one) => one.threshold <= far).map((one) => `${X(one.threshold).toFixed(1)},${Y(one[name] ?? 0).toFixed(1)}`);
    place.replaceChildren();
    if (!curve.length) return;
    place.append(
      node("polygon", { class: "null", points: [...line("null_high"), ...line("null_low").reverse()].join(" ") }),
      node("polyline", { class: "seen", points: line("share_above").join(" ") }),
      node("path", { class: "axis", d: "M36 12V162H290" }),
      node("line", { class: "at", x1: X(least), x2: X(least), y1: 8, y2: 162 }),
      node("text", { x: 32, y: 17, "text-anchor": "end" }, "100 %"), node("text", { x: 32, y: 164, "text-anchor": "end" }, "0 %"),
      node("text", { x: 36, y: 180 }, "0"), node("text", { x: 290, y: 180, "text-anchor": "end" }, `${far.toFixed(2)} distance`),
    );
  }
  slider.addEventListener("input", mark);

  // Lists
  function list(chosen, one) {
    svg.classList.toggle("chosen", chosen.length > 0);
    const set = new Set(chosen);
    for (const p of points) p.dot.classList.toggle("in", set.has(p));
    $("[data-note]").textContent = chosen.length ? `${whole(chosen.length)} of ${whole(points.length)} texts on the map` : `${whole(points.length)} texts on the map`;
    $("[data-points]").replaceChildren(...chosen.slice(0, 300).map((p) => el("li", {}, chip(p.label), " ", bdi(p.text))));
    const place = $("[data-region]");
    place.replaceChildren();
    if (!one || one.share === undefined) return;
    place.append(el("p", {}, chip(one.label), ` ${percent(one.share)} of ${whole(one.size)} texts (95 % CI ${percent(one.share_low)} to ${percent(one.share_high)}); overall ${percent(one.prior)}.`),
      el("p", {}, el("a", { href: `/cards/${card}/examples?cluster=${one.cluster}` }, "See these examples")));
  }
  const ordered = [...shown].sort((a, b) => distance(b) - distance(a));
  for (const one of ordered) menu.append(el("option", { value: one.cluster }, `${title(one)}${one.label ? ` · ${one.label} ${percent(one.share)}` : ""}`));
  menu.addEventListener("change", () => { const one = shown.find((each) => String(each.cluster) === menu.value); list(one ? one.points : [], one); });
  let line = null, path = null;
  const place = (event) => { const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()); return [at.x, at.y]; };
  svg.addEventListener("pointerdown", (event) => { line = [place(event)]; path?.remove(); path = node("path", { class: "lasso" }); svg.append(path); svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointermove", (event) => { if (!line) return; line.push(place(event)); path.setAttribute("d", `M${line.map((at) => at.join(" ")).join("L")}Z`); });
  svg.addEventListener("pointerup", () => { if (!line) return; const shape = line; line = null; menu.value = ""; list(shape.length < 4 ? [] : points.filter((p) => within(p.at, shape))); if (shape.length < 4) path.remove(); });
  const within = ([x, y], shape) => shape.reduce((inside, [ax, ay], i) => { const [bx, by] = shape[(i + shape.length - 1) % shape.length]; return ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax ? !inside : inside; }, false);
  mark();
  list([]);
};
