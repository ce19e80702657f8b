// A table that its headings sort.
"use strict";
let tables = 0;

// The form of a column's numbers: shares have one decimal, others as many as the largest has for three digits,
// or four digits each where the smallest would have less than two.
function spelling({ values, unit }) {
  const { number } = report;
  const sizes = values.filter((value) => Number.isFinite(value) && value !== 0).map(Math.abs);
  const most = sizes.reduce((a, b) => Math.max(a, b), 0);
  if (!(most >= 1e-2 && most < 1e9) || values.every((value) => typeof value !== "number" || Number.isInteger(value))) return (value) => number(value);
  const isShare = unit === "%" || unit === "pp";
  const decimals = isShare ? 1 : Math.max(most < 1e3 ? 1 : 0, Math.min(3, 2 - Math.floor(Math.log10(most))));
  const least = (isShare ? 0.5 : 10) * 10 ** -decimals;
  if (sizes.some((size) => size < least)) return (value) => number(value);
  const form = new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return (value) => (Number.isFinite(value) ? form.format(value).replace("-", "−") : number(value));
}

function sortableTable(into, { caption, columns, marked, rowOf, firstKey, descending }) {
  // columns: [{key, title, unit, values, about?, show?}]; `rowOf(k)` may give a node to pick.
  const { element } = report;
  const spelled = columns.map((column) => column.show || spelling(column));
  const rows = columns[0].values.map((_, k) => k);
  const body = element("tbody");
  const heads = columns.map((column) => {
    const isWord = column.values.some((value) => typeof value === "string");
    const button = element("button", { type: "button", title: column.about || "", onclick: () => sort(column) }, column.title);
    return element("th", { scope: "col", class: isWord ? "word" : "" }, button,
      element("small", null, column.unit || " "));
  });
  let by = null;
  let down = false;
  const made = rows.map((k) => {
    const row = element("tr", marked && marked.has(k) ? { class: "marked" } : null);
    columns.forEach((column, at) => {
      const value = column.values[k];
      const isWord = typeof value === "string";
      const text = isWord && !column.show ? value : spelled[at](value);
      const node = at === 0 && rowOf ? rowOf(k) : null;
      row.append(element("td", { class: isWord ? "word" : "", "data-label": text === column.title ? "" : `${column.title}${column.unit ? ` [${column.unit}]` : ""}` }, node === null ? text
        : element("button", { type: "button", "aria-label": `show node ${node} in the figures`, onclick: () => report.toggle(node) }, text)));
    });
    return row;
  });
  function sort(column) {
    if (by === column) down = !down;
    else { by = column; down = column === columns[0] ? false : !column.values.some((v) => typeof v === "string"); }
    arrange();
  }
  function arrange() {
    const missing = (value) => value === null || value === undefined || value === "";
    rows.sort((a, b) => {
      const [left, right] = [by.values[a], by.values[b]];
      if (missing(left) || missing(right)) return missing(left) - missing(right) || a - b;
      const order = typeof left === "string" ? left.localeCompare(right) : left - right;
      return (down ? -order : order) || a - b;
    });
    body.replaceChildren(...rows.map((k) => made[k]));
    heads.forEach((head, k) => {
      if (columns[k] === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.firstChild.textContent = columns[k].title + (columns[k] === by ? (down ? " ▼" : " ▲") : "");
    });
  }
  by = columns.find((column) => column.key === firstKey) || null;
  down = Boolean(descending);
  if (by) arrange();
  else body.append(...made);  // in the order in which they came
  if (rowOf) {
    const mark = () => made.forEach((row, k) => row.classList.toggle("picked", report.page.picked.includes(rowOf(k))));
    report.listen("picked", mark);
    mark();
  }
  const few = columns.length > 10 && rows.length <= 7;
  const told = `caption-${tables++}`;  // above the box that scrolls, so that it stays
  into.append(element("p", { class: "muted", id: told }, caption),
    element("div", { class: few ? "scroll on-screen" : columns.length > 10 ? "scroll wide" : "scroll", tabindex: 0, role: "region", "aria-labelledby": told },
      element("table", { "aria-labelledby": told }, element("thead", null, element("tr", null, ...heads)), body)));
  if (!few) return;
  const paper = element("div");
  into.append(paper);
  report.listen("print", () => paper.replaceChildren(turned(columns, rows)));
}

// The same with a row a column, for paper: it is higher than wide.
function turned(columns, rows) {
  const { element } = report;
  const text = (value, column) => (typeof value === "string" ? value : spelling(column)(value));
  const [names, ...others] = columns;
  return element("table", { class: "on-paper" },
    element("thead", null, element("tr", null, element("th", { scope: "col", class: "word" }, names.title), ...rows.map((k) => element("th", { scope: "col" }, text(names.values[k], names))))),
    element("tbody", null, ...others.map((column) => element("tr", null,
      element("td", { class: "word" }, `${column.title}${column.unit ? ` [${column.unit}]` : ""}`), ...rows.map((k) => element("td", null, text(column.values[k], column)))))));
}
