// Tables of a page: sorted by any column, filtered, paged, copied. Without this script they are plain and whole.
"use strict";
window.cuecard = Object.assign(window.cuecard ?? {}, (() => {
  const node = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const whole = (n) => n.toLocaleString("en");

  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = (lines) => lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  const cell = (text) => text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("<", "&lt;").replace(/\s*\n\s*/g, " ");
  const markdown = ([head, ...lines]) => [head, head.map(() => "---"), ...lines].map((line, i) => `| ${line.map((text) => (i === 1 ? text : cell(text))).join(" | ")} |`).join("\n") + "\n";

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = node("textarea", { value: text });
      document.body.append(area);
      area.select();
      const copied = document.execCommand("copy");
      area.remove();
      return copied;
    }
  }

  function explore(block) {
    const body = block.querySelector("tbody"), heads = [...block.querySelectorAll("thead th")];
    const rows = [...body.rows], size = Number(block.dataset.table);
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const titles = heads.map((head) => head.textContent.trim());
    const title = block.querySelector(".table-head h2, .table-head h3");
    let order = rows, matching = rows, page = 0, everything = rows.length <= size;

    const search = node("input", { type: "search", autocomplete: "off", spellcheck: false });
    const status = node("span", { className: "table-range" });
    status.setAttribute("role", "status");
    const button = (text, run) => {
      const made = node("button", { type: "button" }, text);
      made.addEventListener("click", run);
      return made;
    };
    const back = button("Previous", () => { page -= 1; show(); });
    const next = button("Next", () => { page += 1; show(); });
    const all = button("", () => { everything = !everything; page = 0; show(); });
    const said = (made, make) => made.addEventListener("click", async () => {
      const was = made.textContent;
      made.textContent = (await copy(make())) ? "Copied" : "Copying is not allowed here";
      setTimeout(() => { made.textContent = was; }, 1600);
    });
    const as_csv = node("button", { type: "button" }, "Copy CSV"), as_markdown = node("button", { type: "button" }, "Copy Markdown");
    as_csv.title = as_markdown.title = "Copies the rows that match, in this order";
    const words_in = (cell) => [...cell.childNodes].map((child) => child.textContent.trim()).filter(Boolean).join(" ");
    const exact = (cell) => cell.dataset.sort || words_in(cell);
    said(as_csv, () => csv([titles, ...matching.map((row) => [...row.cells].map(exact))]));
    said(as_markdown, () => markdown([titles, ...matching.map((row) => [...row.cells].map(words_in))]));

    const tools = node("p", { className: "table-tools" });
    if (rows.length > 5) {
      const label = node("label", {}, "Filter ", search);
      label.append(node("span", { className: "unseen" }, ` ${title ? title.textContent : "the table"}`));
      tools.append(label);
    }
    if (rows.length > size) tools.append(back, status, next, all);
    else tools.append(status);
    tools.append(as_csv, as_markdown);
    const head = block.querySelector(".table-head");
    head ? head.append(tools) : block.prepend(tools);

    function show() {
      const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      matching = order.filter((row) => words.every((word) => texts.get(row).includes(word)));
      const pages = everything ? 1 : Math.max(1, Math.ceil(matching.length / size));
      page = Math.max(0, Math.min(page, pages - 1));
      const first = everything ? 0 : page * size, last = everything ? matching.length : Math.min(first + size, matching.length);
      const shown = new Set(matching.slice(first, last));
      for (const row of rows) row.hidden = !shown.has(row);
      back.disabled = page === 0;
      next.disabled = page >= pages - 1;
      all.textContent = everything ? `Show ${size} at a time` : `Show all ${whole(matching.length)}`;
      const range = matching.length ? `${whole(first + 1)} to ${whole(last)} of ${whole(matching.length)}` : "no row matches";
      const few = rows.length <= size;
      status.textContent = few ? (words.length ? `${whole(matching.length)} of ${whole(rows.length)} rows match` : "") : range + (words.length && matching.length ? (matching.length === 1 ? " that matches" : " that match") : "");
    }

    heads.forEach((head, column) => {
      const made = node("button", { type: "button" }, ...head.childNodes);
      made.addEventListener("click", () => sort(head, column));
      head.replaceChildren(made);
    });
    function sort(head, column) {
      const numeric = head.classList.contains("number"), was = head.getAttribute("aria-sort");
      const up = was ? was === "descending" : !numeric;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = new Map(rows.map((row) => [row, numeric ? row.cells[column].dataset.sort || "" : row.cells[column].textContent.trim()]));
      const compare = numeric ? (x, y) => Number(x) - Number(y) : (x, y) => x.localeCompare(y, "en", { numeric: true });
      order = [...rows].sort((a, b) => {
        const x = key.get(a), y = key.get(b);
        if (x === "" || y === "") return (x === "") - (y === "");  // what is missing comes last, up or down
        return up ? compare(x, y) : compare(y, x);
      });
      body.append(...order);
      page = 0;
      show();
    }
    search.addEventListener("input", () => { page = 0; show(); });
    show();
  }

  for (const block of document.querySelectorAll(".table[data-table]")) explore(block);
  return { copy, csv, markdown };
})());
