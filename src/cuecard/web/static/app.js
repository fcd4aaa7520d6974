// The pages of the app. Texts of datasets become text nodes, never markup.
"use strict";
(() => {
  const token = document.querySelector("meta[name=cuecard-page]").content;
  const body = document.body;
  const card = body.dataset.card;
  const $ = (selector, from = document) => from.querySelector(selector);

  async function api(path, { method = "GET", data, raw } = {}) {
    const headers = { "x-cuecard-page": token };
    if (data !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(`/api${path}`, { method, headers, body: raw ?? (data === undefined ? undefined : JSON.stringify(data)) });
    const answer = await response.json().catch(() => ({ problem: "The server did not answer." }));
    if (!response.ok) throw new Error(answer.problem || `Error ${response.status}`);
    return answer;
  }

  function el(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "class") node.className = value;
      else if (name === "chip") node.style.setProperty("--chip", value);
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  const bdi = (text) => el("bdi", {}, String(text ?? ""));

  function toast(text, action) {
    const line = $(".toast");
    line.replaceChildren(text);
    if (action) line.append(el("button", { type: "button", onclick: () => { line.hidden = true; action.run(); } }, action.title));
    line.hidden = false;
    clearTimeout(toast.timer);
    toast.timer = setTimeout(() => (line.hidden = true), action ? 12000 : 5000);
  }
  const problem = (place, error) => { place.textContent = error ? error.message : ""; place.hidden = !error; };

  // Numbers
  const percent = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(1)} %`);
  const whole = (x) => (x === null || x === undefined ? "–" : Math.round(x).toLocaleString("en"));
  const SHARES = /share|chance|coverage|accuracy|low$|high$|prior|confidence|leak_score|base_/, COUNTS = /_n$|count$|texts$/;
  const HEADS = { q_value: "q-value", train_count: "training", test_count: "test", share_n: "compared" };
  function cell(name, value) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value !== "number") return Array.isArray(value) ? value.join(", ") : String(value);
    if (/^gap|difference|change|delta/.test(name) && Math.abs(value) <= 1) return `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`;
    if (SHARES.test(name) && !COUNTS.test(name) && value >= 0 && value <= 1) return value === 0 || value === 1 ? `${100 * value}\u00a0%` : percent(value);
    if (Number.isInteger(value)) return whole(value);
    if (/^[pq](_value)?$|_[pq]_value$/.test(name) && value < 1e-9) return "<10⁻⁹";
    if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(1).replace(/e(.*)$/, (_, power) => `×10${[...String(Number(power))].map((digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]).join("")}`);
    return (Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(3)))).replace("-", "−");
  }

  // Labels have the colours they have in the report.
  const colours = new Map(JSON.parse(body.dataset.labels || "[]").map((label, i) => [label, i % 8]));
  function colour(label) {
    if (!colours.has(label)) colours.set(label, colours.size % 8);
    return `var(--label-${colours.get(label)})`;
  }
  const chip = (label) => el("span", { class: "chip", chip: colour(label) }, bdi(label));

  function pieces(list) {
    const node = el("bdi");
    for (const piece of list) node.append(piece.marked ? el("mark", {}, piece.text) : piece.text);
    return node;
  }

  function later(run, wait = 200) {
    let timer;
    return (...all) => { clearTimeout(timer); timer = setTimeout(() => run(...all), wait); };
  }

  // Address bar: filters are part of it, so that back, reload and a copied address show the same.
  const address = () => new URLSearchParams(location.search);
  function remember(values) {
    const query = address();
    for (const [name, value] of Object.entries(values)) value === "" || value === null ? query.delete(name) : query.set(name, value);
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
  }
  function filled(form) {
    const query = address();
    for (const field of form.elements) if (field.name && query.has(field.name)) field.value = query.get(field.name);
  }

  function pager(place, { offset, limit, total }, go) {
    const last = Math.min(offset + limit, total);
    place.replaceChildren(
      el("button", { type: "button", class: "button small", disabled: offset === 0, onclick: () => go(Math.max(0, offset - limit)) }, "Previous"),
      el("span", { role: "status" }, total ? `${whole(offset + 1)} to ${whole(last)} of ${whole(total)}` : "no rows"),
      el("button", { type: "button", class: "button small", disabled: last >= total, onclick: () => go(offset + limit) }, "Next"),
    );
  }

  // Charts
  let themes;
  async function draw(place) {
    themes ??= await (await fetch(`/static/${body.dataset.version}/themes.json`)).json();
    const spec = await api(`${body.dataset.charts ?? `/cards/${card}/charts/`}${encodeURIComponent(place.dataset.chart)}`);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    await window.cuecard.draw(place, spec, themes[dark ? "dark" : "light"], place.dataset.chart);
  }
  for (const fold of document.querySelectorAll("[data-fold]")) {
    const open = () => {
      if (!fold.open || fold.dataset.drawn) return;
      fold.dataset.drawn = "yes";
      for (const place of fold.querySelectorAll("[data-chart]")) draw(place).catch((error) => (place.textContent = error.message));
    };
    fold.addEventListener("toggle", open);
    if (location.hash === `#${fold.id}`) fold.open = true;
    addEventListener("hashchange", () => { if (location.hash === `#${fold.id}`) fold.open = true; });
    open();
  }
  for (const place of document.querySelectorAll("[data-front] [data-chart]")) draw(place).catch((error) => (place.textContent = error.message));

  const pages = {
    library() {
      const form = $("[data-filter]"), rows = $("[data-cards]"), button = $("[data-compare]");
      filled(form);
      const chosen = new Set();
      async function load() {
        const sort = form.elements.sort.value;
        remember({ search: form.elements.search.value, sort: sort === "created" ? "" : sort });
        const query = new URLSearchParams({ search: form.elements.search.value, sort, descending: sort !== "name" });
        const { cards, deleted } = await api(`/cards?${query}`);
        const by_measure = sort.includes(".");
        $("[data-measure]").textContent = by_measure ? form.elements.sort.selectedOptions[0].textContent.replace(/ \(.*\)$/, "") : "Largest leak";
        rows.replaceChildren(...cards.map((one) => row(one, by_measure)));
        const empty = cards.length === 0 && form.elements.search.value === "";
        $("[data-empty]").hidden = !empty;
        for (const place of document.querySelectorAll("[data-filled]")) place.hidden = empty;
        trash(deleted);
      }
      function row(one, by_measure) {
        const pick = el("input", { type: "checkbox", "aria-label": `Choose ${one.name}`, onchange: (event) => { event.target.checked ? chosen.add(one.id) : chosen.delete(one.id); button.disabled = chosen.size < 2; } });
        pick.checked = chosen.has(one.id);
        const tally = el("td", { class: "tally" }, ...["high", "medium", "low"].filter((s) => one.severities[s]).map((s) => el("span", { class: s }, `${one.severities[s]} ${s}`)));
        const value = by_measure ? one.measure_shown : one.main ? one.main.shown : "–";
        const said = by_measure ? one.measure_chance : one.main ? `${one.main.label}, chance\u00a0${one.main.chance_shown.replace(" ", "\u00a0")}` : "";
        const detail = said ? el("small", { class: "headline" }, said) : null;
        return el("tr", {}, el("td", {}, pick),
          el("th", { scope: "row" }, el("a", { href: `/cards/${one.id}` }, bdi(one.name)), el("span", { class: "headline", dir: "auto" }, one.headline), el("span", { class: "headline" }, one.place === "." ? "" : one.place)),
          tally, el("td", { class: "number" }, value, detail), el("td", { class: "number" }, whole(one.examples)), el("td", { class: "date" }, one.created.slice(0, 10)),
          el("td", {}, el("button", { type: "button", class: "button small", "aria-label": `Delete ${one.name}`, onclick: () => remove(one) }, "Delete")));
      }
      async function remove(one) {
        await api(`/cards/${one.id}`, { method: "DELETE" });
        chosen.delete(one.id);
        await load();
        toast(`${one.name} was deleted.`, { title: "Undo", run: () => back(one.id) });
      }
      async function back(id) {
        try { await api(`/cards/${id}/undelete`, { method: "POST" }); } catch (error) { toast(error.message); }
        await load();
      }
      function trash(deleted) {
        $("[data-trash]").replaceChildren(...(deleted.length ? [el("details", {}, el("summary", {}, `Deleted cards (${deleted.length})`),
          el("ul", {}, ...deleted.map((one) => el("li", {}, bdi(one.name), ` ${one.place} `, el("button", { type: "button", class: "button small", onclick: () => back(one.id) }, "Take back")))))] : []));
      }
      form.addEventListener("input", later(load));
      form.addEventListener("submit", (event) => event.preventDefault());
      $("[data-demo]").addEventListener("click", (event) => { event.target.disabled = true; run($("[data-empty]"), "/demo", {}).then(() => (event.target.disabled = false)); });
      button.addEventListener("click", () => (location.href = `/compare?${[...chosen].map((id) => `card=${id}`).join("&")}`));
      load();
    },

    compare() {},

    job() {
      const id = body.dataset.job, source = new EventSource(`/api/jobs/${id}/events`);
      const stop = $("[data-cancel]"), again = $("[data-again]"), asked = $("[data-probe]");
      source.onmessage = (event) => {
        const job = JSON.parse(event.data);
        $("[data-status]").replaceChildren(el("strong", {}, job.status));
        const steps = job.steps.filter((step, i) => step !== job.steps[i - 1]);
        $("[data-steps]").replaceChildren(...steps.map((step) => el("li", {}, step)));
        stop.hidden = !["queued", "running"].includes(job.status);
        again.hidden = !["failed", "cancelled"].includes(job.status);
        if (stop.hidden) source.close();
        problem($("[data-reason]"), job.reason && job.status !== "done" ? new Error(job.reason) : null);
        const made = $("[data-plan-result]");
        if (made && job.plan) made.replaceChildren(...plan_result(job.plan));
        const said = $("[data-said]"), file = $("[data-file]");
        if (said) { said.textContent = job.said; said.hidden = !job.said; }
        if (file) { file.hidden = !job.file; file.textContent = `Download ${job.file}`; }
        if (job.status !== "done") return;
        if (asked && job.kind === "ask" && job.file && job.source) { asked.href = `/cards/${job.source}/models#answers`; asked.hidden = false; }
        if (body.dataset.then === "reload") location.reload();
        else if (job.card) location.replace(`/cards/${job.card}`);
      };
      stop.addEventListener("click", () => api(`/jobs/${id}/cancel`, { method: "POST" }).catch((error) => toast(error.message)));
      again.addEventListener("click", async () => {
        try { const next = await api(`/jobs/${id}/again`, { method: "POST" }); body.dataset.then === "reload" ? location.reload() : (location.href = `/jobs/${next.id}`); } catch (error) { problem($("[data-reason]"), error); }
      });
    },

    new() {
      const form = $("[data-new]"), sources = { train: "", test: "" }, names = { train: "", test: "" }, source_problem = $("[data-source-problem]");
      let seen, roles = {}, guessed = false, kept = {};
      const steps = (show) => { for (const step of form.querySelectorAll("[data-step]")) step.hidden = !show; };
      const data = () => ({ train: sources.train || form.elements.train.value.trim(), test: sources.test || form.elements.test.value.trim(), task: form.elements.task.value, labels: form.elements.labels.value.trim(), header: form.elements.header.value,
        columns: Object.entries(roles).filter(([, column]) => column).map(([role, column]) => `${role}=${column}`).join(",") });
      // What was entered is kept in this tab, so that the form is as it was after a look at the job and back.
      const FORM = "cuecard-new-audit", fresh = () => { roles = {}; guessed = false; };
      const keep = () => {
        const fields = {};
        for (const field of form.elements) if (field.name && field.name !== "only") fields[field.name] = field.value;
        const off = [...form.querySelectorAll("[name=only]")].filter((box) => !box.checked).map((box) => box.value);
        sessionStorage.setItem(FORM, JSON.stringify({ fields, off, sources, names, roles, guessed }));
      };
      function restore() {
        const kind = performance.getEntriesByType("navigation")[0]?.type, stored = sessionStorage.getItem(FORM);
        if (!stored || !["back_forward", "reload"].includes(kind)) return sessionStorage.removeItem(FORM);
        kept = JSON.parse(stored);
        Object.assign(sources, kept.sources);
        Object.assign(names, kept.names);
        roles = kept.roles;
        guessed = kept.guessed;
        for (const field of form.elements) if (field.name && field.name in kept.fields && field.type !== "file") field.value = kept.fields[field.name];
        uploaded();
        look();
      }
      function uploaded() {
        for (const place of form.querySelectorAll("[data-uploaded]")) {
          const name = names[place.dataset.uploaded];
          place.hidden = !name;
          place.textContent = `Uploaded: ${name}`;
        }
      }
      // A large file takes a while to send and to read.
      function uploading(which, name) {
        const place = form.querySelector(`[data-uploaded=${which}]`);
        place.hidden = false;
        place.textContent = `Uploading ${name} …`;
      }
      async function send(input, which) {
        const [file] = input.files;
        sources[which] = names[which] = "";
        problem(source_problem, null);
        if (file) {
          uploading(which, file.name);
          try { const done = await api(`/uploads?name=${encodeURIComponent(file.name)}`, { method: "POST", raw: file }); sources[which] = done.upload; names[which] = done.name; } catch (error) { input.value = ""; uploaded(); return problem(source_problem, new Error(`${file.name}: ${error.message}`)); }
        }
        uploaded();
        await look();
      }
      for (const input of form.querySelectorAll("[data-upload]")) input.addEventListener("change", () => { if (input.dataset.upload === "train") fresh(); send(input, input.dataset.upload); });
      for (const name of ["train", "test"]) form.elements[name].addEventListener("change", () => { if (name === "train") fresh(); sources[name] = names[name] = ""; uploaded(); look(); });
      for (const name of ["task", "labels", "header"]) form.elements[name].addEventListener("change", () => { if (name === "task") fresh(); look(); });
      form.addEventListener("change", keep);
      async function look() {
        keep();
        if (!data().train) return steps(false);
        const mine = (look.number = (look.number ?? 0) + 1), reading = $("[data-reading]");
        let answer;
        reading.textContent = `Reading the columns of ${names.train || data().train} …`;
        try { answer = await api("/preview", { method: "POST", data: data() }); } catch (error) { reading.textContent = ""; steps(false); return problem(source_problem, error); }
        if (mine !== look.number) return;
        reading.textContent = "";
        seen = answer;
        problem(source_problem, null);
        if (!seen.columns.length) { steps(false); return problem(source_problem, new Error(seen.problem)); }
        if (seen.problem && Object.keys(seen.suggested ?? {}).length && !Object.keys(roles).length) {
          roles = { ...seen.suggested };
          guessed = true;
          return look();
        }
        steps(true);
        for (const step of form.querySelectorAll("[data-step=options],[data-step=run]")) step.hidden = Boolean(seen.problem);
        problem($("[data-problem]", form), seen.problem ? new Error(seen.problem) : null);
        const found = seen.problem ? "Choose what each column is in the menu above it." : `Task: ${seen.task}. Labels in the first rows: ${seen.labels.map((one) => `${one.label} (${one.count})`).join(", ")}.`;
        $("[data-recognised]").textContent = !seen.problem && guessed ? `${found} The names of the columns are not known: the menus show what their values look like. Check them.` : found;
        table();
        $("[data-command]").textContent = seen.command;
        await audits();
        keep();
      }
      function table() {
        const task = seen.task || form.elements.task.value || "pair", names = (seen.roles || {})[task] || [];
        const split = (all) => Object.fromEntries(Object.entries(all || {}).flatMap(([role, columns]) => String(columns).split("+").map((column) => [column.trim(), role])));
        const of = { ...split(seen.recognised), ...split(roles) };
        const menus = seen.columns.map((column) => {
          const menu = el("select", { "aria-label": `Role of ${column}`, onchange: (event) => { for (const role of Object.keys(roles)) if (roles[role] === column) delete roles[role]; if (Object.keys(roles).length === 0) for (const [c, r] of Object.entries(of)) if (c !== column) roles[r] = roles[r] ? `${roles[r]}+${c}` : c; if (event.target.value) roles[event.target.value] = column; guessed = false; look(); } }, el("option", { value: "" }, "–"), ...names.map((role) => el("option", {}, role)));
          menu.value = of[column] && names.includes(of[column]) ? of[column] : "";
          return el("th", { scope: "col" }, bdi(column), el("br"), menu);
        });
        $("[data-preview]").replaceChildren(el("thead", {}, el("tr", {}, ...menus)), el("tbody", {}, ...seen.rows.map((row) => el("tr", {}, ...row.map((text) => el("td", {}, bdi(text)))))));
      }
      let forms;
      async function audits() {
        if (seen.problem) return;
        forms ??= await api("/forms");
        const place = $("[data-audits]");
        if (place.dataset.task === seen.task) return;
        place.dataset.task = seen.task;
        place.replaceChildren(...forms.audits.filter((one) => one.tasks.includes(seen.task)).map((one) => el("details", {}, el("summary", {}, el("label", { class: "check" }, el("input", { type: "checkbox", name: "only", value: one.name, checked: true }), ` ${one.title}`)), el("p", { class: "hint" }, one.about), el("div", { class: "fields" }, ...one.fields.map((f) => field(one.name, f))))));
        for (const box of form.querySelectorAll("[name=only]")) if (kept.off?.includes(box.value)) box.checked = false;
        for (const input of form.querySelectorAll("[name^='set:']")) if (kept.fields?.[input.name]) input.value = kept.fields[input.name];
        kept = {};
      }
      function field(section, f) {
        const name = `set:${section}.${f.name}`, usual = f.default === null || f.default === undefined ? "default" : String(f.default);
        let input;
        if (f.kind === "choice" || f.kind === "flag") input = el("select", { name }, el("option", { value: "" }, `default (${usual})`), ...(f.choices || ["true", "false"]).map((c) => el("option", {}, c)));
        else input = el("input", { name, type: f.kind === "number" ? "number" : "text", step: f.whole ? 1 : "any", placeholder: usual, autocomplete: "off" });
        return el("label", { class: "field", title: f.help }, f.name.replaceAll("_", " "), input);
      }
      form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const boxes = [...form.querySelectorAll("[name=only]")], only = boxes.filter((box) => box.checked).map((box) => box.value);
        const settings = {};
        for (const input of form.querySelectorAll("[name^='set:']")) if (input.value !== "" && only.includes(input.name.slice(4).split(".")[0])) settings[input.name.slice(4)] = input.value;
        try {
          const job = await api("/audits", { method: "POST", data: { data: data(), only: only.length === boxes.length ? [] : only, settings, name: form.elements.name.value.trim() } });
          keep();
          location.href = `/jobs/${job.id}`;
        } catch (error) { problem($("[data-run-problem]", form), error); }
      });
      restore();
      const drop = $("[data-drop]"), input = $("#train-file");
      for (const kind of ["dragover", "dragleave", "drop"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.toggle("over", kind === "dragover"); if (kind === "drop" && event.dataTransfer.files.length) { input.files = event.dataTransfer.files; fresh(); send(input, "train"); } });
    },

    table() {
      const form = $("[data-filter]"), table = $("[data-rows]"), name = body.dataset.table, limit = 50;
      filled(form);
      const query = address();
      let state = { sort: query.get("sort") ?? table.dataset.sort ?? "", up: query.get("up") === "1", offset: Number(query.get("offset")) || 0 }, last;
      async function load() {
        const values = Object.fromEntries([...new FormData(form)]);
        remember({ ...values, sort: state.sort, up: state.up ? "1" : "", offset: state.offset || "" });
        const ask = new URLSearchParams({ search: values.search ?? "", sort: state.sort, descending: !state.up, by_size: table.dataset.bySize === "true" && state.sort === "z", offset: state.offset, limit });
        if (values.kind === "cues") ask.append("where", "is_cue:=:true");
        if (values.kind === "significant") ask.append("where", "significant:=:true");
        if (values.label) ask.append("where", `label:=:${values.label}`);
        const mine = (load.number = (load.number ?? 0) + 1);
        const page = await api(`/cards/${card}/tables/${name}?${ask}`);
        if (mine !== load.number) return;
        last = page;
        const columns = table.dataset.columns ? table.dataset.columns.split(",").filter((column) => page.columns.includes(column) && (column !== "test_count" || page.rows.some((row) => row[column]))) : page.columns;
        last.shown = columns;
        const numeric = (column) => page.rows.some((row) => typeof row[column] === "number");
        table.replaceChildren(
          el("thead", {}, el("tr", {}, ...columns.map((column) => el("th", { scope: "col", class: numeric(column) ? "number" : "", "aria-sort": state.sort === column ? (state.up ? "ascending" : "descending") : undefined }, el("button", { type: "button", onclick: () => { state = { sort: column, up: state.sort === column ? !state.up : !numeric(column), offset: 0 }; load(); } }, (table.dataset.columns && HEADS[column]) || column.replaceAll("_", " ")))))),
          el("tbody", {}, ...page.rows.map((row) => el("tr", {}, ...columns.map((column, i) => {
            if (name === "concept_cues" && column === "concept") return el("th", { scope: "row" }, el("a", { href: `/cards/${card}/concepts?${new URLSearchParams({ name: row.concept })}` }, bdi(row.concept)));
            if (name === "cues" && column === "feature") return el("th", { scope: "row" }, el("a", { href: `/cards/${card}/cue?${new URLSearchParams({ family: row.family, feature: row.feature })}` }, bdi(row.feature)));
            if (column === "label" && row.label !== null) return el("td", {}, chip(row.label));
            return el(i ? "td" : "th", { class: typeof row[column] === "number" ? "number" : column === "direction" ? "date" : "", scope: i ? undefined : "row" }, bdi(cell(column, row[column])));
          })))));
        pager($("[data-pager]"), { offset: page.offset, limit, total: page.total }, (offset) => { state.offset = offset; load(); });
      }
      for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", async () => {
        const lines = [last.shown, ...last.rows.map((row) => last.shown.map((column) => String(row[column] ?? "")))];
        if (!(await window.cuecard.copy(window.cuecard[button.dataset.copy](lines)))) return toast("Copying is not allowed here.");
        toast("Copied.");
      });
      form.addEventListener("input", () => remember({ ...Object.fromEntries([...new FormData(form)]), offset: "" }));
      form.addEventListener("input", later(() => { state.offset = 0; load().catch((error) => toast(error.message)); }));
      form.addEventListener("submit", (event) => event.preventDefault());
      load().catch((error) => toast(error.message));
    },

    async cue() {
      const { family, feature } = body.dataset;
      const answer = await api(`/cards/${card}/cues/${encodeURIComponent(family)}/${encodeURIComponent(feature)}`).catch((error) => ({ problem: error }));
      if (answer.problem) return toast(answer.problem.message);
      const row = answer.cue, share = (value, low, high) => `${percent(value)} (95 % CI ${percent(low)} to ${percent(high)})`;
      $("[data-lead]").replaceChildren(row.direction === "rules out" ? "Rules out " : "Associated with ", chip(row.label), `: ${share(row.share, row.share_low, row.share_high)} of ${whole(row.share_n ?? row.train_count)} training instances have this label; chance is ${percent(row.chance)}. z = ${cell("z", row.z)}, q = ${cell("q", row.q_value)}.`);
      const splits = ["train", "test"].filter((split) => Object.keys(row).some((name) => name.startsWith(`${split}_`) && !["count", "texts"].includes(name.slice(split.length + 1)) && row[name]));
      for (const split of splits) {
        const labels = Object.keys(row).filter((name) => name.startsWith(`${split}_`) && !["count", "texts"].includes(name.slice(split.length + 1)));
        const total = labels.reduce((sum, name) => sum + (row[name] ?? 0), 0) || 1;
        $("[data-shares]").append(el("h3", {}, `${split}: ${whole(row[`${split}_count`])} instances`), ...labels.map((name) => {
          const label = name.slice(split.length + 1), line = el("i");
          line.style.width = `${(100 * (row[name] ?? 0)) / total}%`;
          line.style.setProperty("--chip", colour(label));
          return el("div", { class: "share" }, chip(label), el("div", { class: "bar-line" }, line), el("span", {}, `${whole(row[name])} · ${percent((row[name] ?? 0) / total)}`));
        }));
      }
      const listing = (rows, columns) => el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((column) => el("th", { scope: "col", class: rows.some((one) => typeof one[column] === "number") ? "number" : "" }, column.replaceAll("_", " "))))), el("tbody", {}, ...rows.map((one) => el("tr", {}, ...columns.map((column) => el("td", { class: typeof one[column] === "number" ? "number" : "" }, column === "feature" ? el("a", { href: `/cards/${card}/cue?${new URLSearchParams({ family: one.family, feature: one.feature })}` }, bdi(one.feature)) : bdi(cell(column, one[column])))))))));
      if (answer.together.length) { $("[data-together-section]").hidden = false; $("[data-together]").append(listing(answer.together, ["feature", "family", "label", "jaccard", "z_given"])); }
      if (answer.answers.length) {
        $("[data-models-section]").hidden = false;
        for (const model of [...new Set(answer.answers.map((one) => one.model))]) {
          $("[data-models]").append(el("h3", {}, `Predictions of ${model} with this cue, all labels equally frequent`), ...answer.answers.filter((one) => one.model === model).map((one) => {
            const line = el("i"), mark = el("b", { title: `${percent(one.flat)} where the cue has no influence` });
            line.style.width = `${100 * one.predicted_share}%`;
            line.style.setProperty("--chip", colour(one.answer));
            mark.style.left = `${100 * one.flat}%`;
            return el("div", { class: "share wide", title: `${percent(one.predicted_share)} (95 % CI ${percent(one.low)} to ${percent(one.high)}); training set ${percent(one.train_share)}` }, chip(one.answer), el("div", { class: "bar-line" }, line, mark), el("span", {}, `${percent(one.predicted_share)} · train ${percent(one.train_share)}`));
          }));
        }
      }
      if (answer.models.length) {
        $("[data-models-section]").hidden = false;
        const apart = ["card", "family", "feature", "row", "test", "model", "label"];
        for (const test of [...new Set(answer.models.map((one) => one.test))]) {
          const rows = answer.models.filter((one) => one.test === test);
          const first = ["verdict", "difference", "difference_low", "difference_high", "usual_accuracy", "unusual_accuracy"].filter((name) => name in rows[0]);
          const columns = [...first, ...Object.keys(rows[0]).filter((name) => !first.includes(name) && !apart.includes(name))].filter((name) => rows.some((one) => one[name] !== null)).slice(0, 7);
          $("[data-models]").append(el("h3", {}, test.replaceAll("_", " ")), listing(rows, ["model", ...columns]));
        }
      }
      browse({ family, feature });
    },

    async examples() {
      $("[data-look-again]")?.addEventListener("click", async () => {
        try { await api(`/cards/${card}/prepare`, { method: "POST" }); location.reload(); } catch (error) { problem($("[data-problem]"), error); }
      });
      const form = $("[data-filter]"), menu = form.elements.cluster;
      if (menu) menu.append(...[...await cluster_words()].map(([number, words]) => el("option", { value: number }, words)));
      filled(form);
      const show = () => {
        const values = Object.fromEntries([...new FormData(form)]);
        remember(values);
        const where = [];
        for (const name of ["label", "split", "cluster"]) if (values[name]) where.push(`${name}:=:${values[name]}`);
        if (values.leak) where.push(`leak_score:>=:${values.leak}`);
        if (values.flag) where.push(values.flag);
        const [family, ...rest] = (values.cue || "").split(":");
        const cue = values.cue ? (rest.length ? { family, feature: rest.join(":") } : { family: "word", feature: family }) : {};
        browse({ ...cue, where, sort: values.sort || "", same: address().get("same") ?? "" });
      };
      form.addEventListener("input", later(show));
      form.addEventListener("submit", (event) => event.preventDefault());
      show();
    },

    async concepts() {
      const { tables } = await api(`/cards/${card}/tables`), menu = $("[data-concept]"), slider = $("[data-threshold]");
      if (!tables.includes("concept_strengths")) { $("[data-lead]").textContent = "No concept on this card predicts a label."; return; }
      const found = await api(`/cards/${card}/tables/concept_cues?${new URLSearchParams({ where: "significant:=:true", limit: 200 })}`);
      for (const one of found.rows) menu.append(el("option", { value: one.concept }, `${one.concept} · ${one.label} ${percent(one.share)}`));
      if (found.rows.some((one) => one.concept === body.dataset.feature)) menu.value = body.dataset.feature;
      async function load() {
        const row = found.rows.find((one) => one.concept === menu.value);
        const { rows } = await api(`/cards/${card}/tables/concept_strengths?${new URLSearchParams({ where: `concept:=:${row.concept}`, sort: "texts", descending: false, limit: 200 })}`);
        $("[data-lead]").replaceChildren(row.direction === "rules out" ? "Rules out " : "Associated with ", chip(row.label), `: ${percent(row.share)} (95 % CI ${percent(row.share_low)} to ${percent(row.share_high)}) of ${whole(row.train_count)} instances; chance is ${percent(row.chance)}, q = ${cell("q", row.q_value)}. ${row.beyond_words ? "It adds" : "It does not add"} to length and the strongest words. Words: ${row.words}.`);
        slider.max = rows.length - 1;
        slider.value = Math.max(rows.findLastIndex((one) => one.strength > 0), 0);
        const mark = () => {
          const at = Number(slider.value), one = rows[at];
          $("[data-said]").textContent = `${whole(one.texts)} distinct texts: ${percent(one.share)} ${row.label} (95 % CI ${percent(one.share_low)} to ${percent(one.share_high)})${one.strength > 0 ? "" : "; the card's threshold is higher"}`;
          slider.setAttribute("aria-valuetext", $("[data-said]").textContent);
          $("[data-note]").textContent = `${whole(at + 1)} of these texts, by strength`;
          $("[data-texts]").replaceChildren(...rows.slice(0, at + 1).map((each) => el("li", {}, chip(each.label), " ", bdi(each.text), el("small", {}, ` ${each.strength > 0 ? "+" : "−"}${Math.abs(each.strength).toFixed(3)}`))));
        };
        slider.oninput = mark;
        mark();
      }
      menu.addEventListener("change", () => { remember({ name: menu.value }); load().catch((error) => toast(error.message)); });
      await load();
    },

    map() {
      return window.cuecardMap({ api, el, bdi, chip, colour, percent, whole, card, $ });
    },

    async models() {
      const { cards } = await api("/cards"), mine = cards.find((one) => one.id === card);
      const related = cards.filter((one) => one.about === "models" && (one.name === mine?.name || one.fingerprint === mine?.fingerprint));
      $("[data-model-cards]").replaceChildren(...related.map((one) => el("article", { class: "panel" }, el("h2", {}, el("a", { href: `/cards/${one.id}` }, bdi(one.headline))), el("p", { class: "hint" }, `${one.place} · ${one.created.slice(0, 10)}`))));
      biased().catch((error) => toast(error.message));
      const form = $("[data-probe]"), uploads = [];
      $("[data-upload]", form).addEventListener("change", async (event) => {
        for (const file of event.target.files) {
          try { const done = await api(`/uploads?name=${encodeURIComponent(file.name)}`, { method: "POST", raw: file }); uploads.push(done); } catch (error) { toast(error.message); }
        }
        $("[data-uploaded]").textContent = uploads.map((one) => one.name).join(", ");
      });
      form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const path = form.elements.path.value.trim(), is_file = /\.(csv|tsv|jsonl?|parquet)$/i.test(path);
        const models = [...form.querySelectorAll("[name=models]:checked")].map((box) => box.value);
        const answers = [...form.querySelectorAll("[name=answers]:checked")].map((box) => box.value);
        const cues = form.elements.cues.value.split(",").map((cue) => cue.trim()).filter(Boolean);
        const data = { predictions: [...answers, ...uploads.map((one) => one.upload), ...(path && is_file ? [path] : [])], models: [...models, ...(path && !is_file ? [path] : [])], test: form.elements.test.value.trim(), cues };
        run(form, `/cards/${card}/probes`, data);
      });
      answered(form).catch((error) => toast(error.message));
      const ask = $("[data-ask]");
      if (ask.elements.model) ask.addEventListener("submit", (event) => {
        event.preventDefault();
        const ticked = (name) => [...ask.querySelectorAll(`[name=${name}]:checked`)].map((box) => box.value), field = (name) => ask.elements[name].value.trim();
        const data = { endpoint: field("endpoint"), model: field("model"), key_variable: field("key_variable"), stress: field("stress"), permute: field("permute"), prompts: ticked("prompts"), inputs: ticked("inputs"), structured: ask.elements.structured.checked, dry_run: event.submitter?.value === "dry" };
        if (data.inputs.join() === "full") data.inputs = [];
        for (const name of ["sample", "max_requests", "max_cost"]) if (field(name)) data[name] = Number(field(name));
        run(ask, `/cards/${card}/questions`, data);
      });
    },

    async remedies() {
      const { cards } = await api("/cards"), mine = cards.find((one) => one.id === card);
      const related = cards.filter((one) => one.about === "weights" && one.name === mine?.name);
      $("[data-weight-cards]").replaceChildren(...related.map((one) => el("article", { class: "panel" }, el("h2", {}, el("a", { href: `/cards/${one.id}` }, bdi(one.headline))), el("p", {}, el("a", { class: "button small", href: `/api/cards/${one.id}/weights` }, "Download the weighted rows")))));
      const form = $("[data-debias]");
      form.addEventListener("submit", (event) => { event.preventDefault(); run(form, `/cards/${card}/remedies`, { method: new FormData(form).get("method") }); });
      const plan = $("[data-plan]");
      plan.addEventListener("submit", (event) => {
        event.preventDefault();
        const data = { goals: [plan.elements.goal.value || plan.elements.other.value.trim()], change: plan.elements.change.value };
        if (plan.elements.budget.value) data.budget = Number(plan.elements.budget.value);
        run(plan, `/cards/${card}/plans`, data);
      });
      plan.elements.goal.addEventListener("change", () => ($("[data-other-goal]").hidden = plan.elements.goal.value !== ""));
      const { plans } = await api(`/cards/${card}/plans`);
      $("[data-plans]").replaceChildren(...plans.map((one) => el("li", {}, el("a", { href: `/jobs/${one.id}` }, one.file ?? one.title), ` ${one.plan ? reached(one.plan) : one.status}`)));
    },
  };

  // What a plan reaches, what it changes and why.
  const reached = (plan) => `${plan.reached ? "reaches its goal" : "does not reach its goal"}: ${plan.change} ${whole(plan.changed)} of ${whole(plan.examples)} examples (${percent(plan.changed / (plan.examples || 1))})`;
  function plan_result(plan) {
    const left = plan.left, short = (x) => (x === null || x === undefined ? "–" : Math.abs(x) < 1 && !Number.isInteger(x) ? percent(x) : whole(x));
    const table = (heads, rows) => el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": heads[0] }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((title, i) => el("th", { scope: "col", class: i ? "number" : "" }, title)))), el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((text, i) => el(i ? "td" : "th", { class: i ? "number" : "", scope: i ? undefined : "row" }, text)))))));
    return [
      el("h2", {}, `The plan ${reached(plan)}`),
      table(["Goal", "limit", "before", "predicted", "verified", "verdict"], plan.goals.map((one) => [bdi(one.measure), one.limits.join(" and ").replaceAll("==", "=").replaceAll("<=", "≤").replaceAll(">=", "≥"), short(one.before), short(one.predicted), short(one.verified), one.verdict])),
      el("p", { class: "note" }, "Predicted: the same answers without these examples. Verified: an audit of the changed data."),
      left ? el("p", { class: "lead" }, `On examples that the plan never saw, a fresh learner reaches ${percent(left.value)} (95 % CI ${percent(left.low)} to ${percent(left.high)}), and ${percent(left.without_the_plan)} without the plan; chance is ${percent(left.chance)}.`) : null,
      plan.protected ? el("p", { class: "note" }, `${whole(plan.protected)} examples that contradict a strong cue are kept: they are what breaks the shortcut.`) : null,
      plan.why?.length ? el("h3", {}, "Why examples are changed") : null,
      plan.why?.length ? table(["Reason", "examples"], plan.why.map((one) => [bdi(one.why), whole(one.examples)])) : null,
      plan.rows?.length ? el("h3", {}, "The first of them") : null,
      ...(plan.rows ?? []).map((row) => el("article", { class: "example" }, row.premise ? el("p", { class: "premise", dir: "auto" }, bdi(row.premise)) : null, el("p", { dir: "auto" }, bdi(row.text)), el("p", { class: "source" }, chip(row.label), el("span", {}, bdi(row.why))))),
    ].filter(Boolean);
  }
  // Answers of language models about this dataset, to be probed together.
  async function answered(form) {
    const { answers } = await api(`/cards/${card}/answers`);
    $("[data-answers-field]").hidden = !answers.length;
    $("[data-answers]").replaceChildren(...answers.map((one) => el("label", { class: "check" }, el("input", { type: "checkbox", name: "answers", value: one.path, onchange: (event) => { const cues = form.elements.cues; if (event.target.checked && one.stress && !cues.value) cues.value = one.stress; } }), ` ${one.title}${one.stress ? `, with and without “${one.stress}”` : ""} (${one.path})`)));
  }

  const points = (x) => (x === null || x === undefined ? "–" : `${x > 0 ? "+" : x < 0 ? "−" : ""}${Math.abs(100 * x).toFixed(1)}`);
  // A dot with its interval on a line from -100 to +100 points, 0 in the middle.
  function gap(value, low, high) {
    const at = (x) => `${50 + 50 * Math.max(-1, Math.min(1, x))}%`, line = el("div", { class: "gap", role: "img", "aria-label": `${points(value)} points, 95 % CI ${points(low)} to ${points(high)}`, title: `${points(value)} points (95 % CI ${points(low)} to ${points(high)})` });
    const part = (name, left, right) => { const made = el("span", { class: name }); made.style.left = left; if (right) made.style.width = `calc(${right} - ${left})`; line.append(made); };
    part("zero", at(0));
    if (value === null || value === undefined) return el("span", {}, "–");
    if (low !== null && low !== undefined) part("range", at(low), at(high));
    part("value", at(value));
    return line;
  }
  async function biased() {
    const { models, rows } = await api(`/cards/${card}/models`);
    $("[data-biased]").hidden = !models.length;
    const said = (one) => { const relies = one.verdicts.relies ?? 0, signs = one.verdicts.signs ?? 0; const few = one.verdicts.unknown ?? 0, rest = few ? `; too few examples for ${few}` : ""; return relies ? `relies on ${relies} of ${one.cues} cues${rest}` : signs ? `shows signs of using ${signs} of ${one.cues} cues${rest}` : few === one.cues ? `too few examples for all ${few} cues` : `no sign of using ${one.cues - few} of ${one.cues} cues${rest}`; };
    $("[data-model-list]").replaceChildren(...models.map((one) => el("a", { class: `model ${one.verdicts.relies ? "high" : one.verdicts.signs ? "medium" : ""}`, href: `/cards/${one.card}` }, el("b", {}, bdi(one.model)), el("span", {}, said(one)))));
    const heads = [["Model"], ["Cue"], ["Points to"], ["Verdict"], ["Gap", "number"], ["95 % CI"], ["Test examples", "number"]];
    $("[data-biased-rows]").replaceChildren(el("thead", {}, el("tr", {}, ...heads.map(([title, kind]) => el("th", { scope: "col", class: kind }, title)))),
      el("tbody", {}, ...rows.slice(0, 200).map((row) => el("tr", {}, el("th", { scope: "row" }, bdi(row.model)), el("td", {}, el("a", { href: `/cards/${card}/cue?${new URLSearchParams({ family: row.family, feature: row.feature })}` }, bdi(row.feature)), el("small", { class: "family" }, row.family)), el("td", {}, chip(row.label)), el("td", {}, el("span", { class: `verdict ${row.verdict}` }, row.said)), el("td", { class: "number" }, points(row.difference)), el("td", {}, gap(row.difference, row.difference_low, row.difference_high)), el("td", { class: "number" }, el("a", { href: `/cards/${card}/examples?${new URLSearchParams({ cue: `${row.family}:${row.feature}`, flag: `right ${row.model}:=:0` })}`, "aria-label": `${row.test_count} test examples: those that ${row.model} answers wrong` }, whole(row.test_count)))))));
  }

  async function run(form, path, data) {
    try { location.href = `/jobs/${(await api(path, { method: "POST", data })).id}`; } catch (error) { problem($("[data-problem]", form), error); }
  }

  // Whether a shortcut solves an example is said in words; what else analyses know is in the table of examples.
  const GRAPH = { s1_freq: "frequency of the first sentence:", s2_freq: "frequency of the second sentence:", s1s2_inter: "shared neighbours:" };
  const fact = (name, value) => name.startsWith("solved_") ? `${name.slice(7).replace(/_only$/, "-only").replaceAll("_", " ")}: ${value === 1 ? "right" : value === 0 ? "wrong" : `right in ${percent(value)}`}` : `${GRAPH[name] ?? name.replaceAll("_", " ")} ${cell(name, value)}`;

  // Clusters are called by their words.
  async function cluster_words() {
    const { tables } = await api(`/cards/${card}/tables`);
    const rows = tables.includes("clusters") ? (await api(`/cards/${card}/tables/clusters?sort=divergence_l2&limit=200`)).rows : [];
    return new Map(rows.map((row) => [row.cluster, row.words ? row.words.split(",").slice(0, 3).join(",") : `cluster ${row.cluster}`]));
  }
  async function browse({ family = "", feature = "", where = [], sort = "", same = "" }, offset = 0) {
    const limit = 25, place = $("[data-examples]"), note = $("[data-note]");
    const ask = new URLSearchParams({ offset, limit, sort, family, feature });
    for (const one of where) ask.append("where", one);
    if (same !== "") ask.set("same", same);
    const mine = (browse.number = (browse.number ?? 0) + 1);
    let page;
    try { page = await api(`/cards/${card}/examples?${ask}`); } catch (error) { place.replaceChildren(); $("[data-pager]").replaceChildren(); note.textContent = error.message; return; }
    if (page.rows.some((row) => row.cluster !== undefined)) browse.words ??= await cluster_words();
    if (mine !== browse.number) return;
    note.textContent = page.with_cue !== undefined ? `${whole(page.with_cue)} examples have it${page.listed < page.with_cue ? `; ${whole(page.listed)} of them are listed` : ""}.` : page.shared !== undefined ? `Examples that share the premise or the text of example ${page.shared}: its neighbours in the pair graph.${page.listed < page.sharing ? ` There are ${whole(page.sharing)}; ${whole(page.listed)} of them are listed.` : ""}` : "";
    place.replaceChildren(...page.rows.map((row) => {
      const texts = row.texts ?? [], gold = Number(row.label ?? row.answer);
      const body = texts.length > 1 ? el("ol", {}, ...texts.map((text, i) => el("li", { class: i + 1 === gold ? "gold" : "" }, pieces(text)))) : texts.length ? el("p", { class: "hypothesis", dir: "auto" }, pieces(texts[0])) : null;
      const answers = Object.keys(row).filter((name) => name.startsWith("prediction ") && row[name] !== null).map((name) => {
        const model = name.slice(11), right = row[`right ${model}`] ?? String(row[name]) === String(row.label);
        return el("span", { class: `model-answer ${right ? "right" : "wrong"}` }, bdi(model), ": ", bdi(row[name]), right ? " (right)" : " (wrong)");
      });
      const facts = Object.entries(row).filter(([name, value]) => !["row", "texts", "premise", "label", "split", "example_id", "answer", "content"].includes(name) && !/^(prediction|right|probability) |^(confidence|leak|pvi)(_(?!score)|$)/.test(name) && value !== null).slice(0, 6);
      return el("article", { class: "example" }, row.premise?.length ? el("p", { class: "premise", dir: "auto" }, pieces(row.premise)) : null, body,
        el("p", { class: "source" }, texts.length > 1 ? null : chip(row.label), row.texts ? el("a", { href: `/cards/${card}/examples?same=${row.row}` }, "same sentences") : null, el("span", {}, `${row.split} · `, bdi(row.example_id)), ...answers, ...facts.map(([name, value]) => el("span", {}, name === "cluster" && browse.words.has(value) ? `cluster: ${browse.words.get(value)}` : fact(name, value)))));
    }));
    pager($("[data-pager]"), { offset, limit, total: page.total }, (next) => browse({ family, feature, where, sort, same }, next));
  }

  $(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  if (body.dataset.page in pages) Promise.resolve(pages[body.dataset.page]()).catch((error) => toast(error.message));
})();
