// The page's frame: theme, numbers, which run, which nodes and which moment are looked at.
"use strict";
const report = (() => {
  const drawers = new Map();
  const listeners = { theme: [], picked: [], moment: [], print: [] };
  const page = { isPaper: false, run: 0, panels: null, picked: [], moment: 0, clock_s: null, cleanups: [] };

  // Okabe and Ito's colours, told apart by colour-blind readers too, in light and dark.
  const COLOURS = {
    light: ["#0072b2", "#d55e00", "#00805d", "#a8478f", "#8a6100", "#3d7ea6", "#6b4fa0", "#b0413e"],
    dark: ["#56b4e9", "#f28e4b", "#29c79a", "#e39bc6", "#e6b93d", "#9ad1f5", "#b9a3e8", "#f1958f"],
  };
  const SPARE = ["#44aa99", "#882255", "#ddcc77", "#999933"];

  function isDark() { return document.documentElement.dataset.theme === "dark"; }
  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }
  function colour(k) { const set = COLOURS[isDark() ? "dark" : "light"]; return set[k % set.length]; }
  function named(set, name, k) { return set[name] || SPARE[k % SPARE.length]; }

  const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  function number(value, digits) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e9)) {
      const [head, tail] = value.toExponential((digits || 3) - 1).split("e");
      return `${Number(head).toString().replace("-", "−")}e${tail.replace("+", "").replace("-", "−")}`;
    }
    if (Number.isInteger(value)) return value.toLocaleString("en").replace("-", "−");
    const spelled = digits && digits !== 4
      ? value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, Math.floor(Math.log10(size || 1)) + 1) })
      : plain.format(value);
    return spelled.replace("-", "−");
  }
  // A span of time with a unit of its size.
  function seconds(value) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size === 0 || size >= 1) return `${number(value, 3)} s`;
    if (size >= 1e-3) return `${number(value * 1e3, 3)} ms`;
    if (size >= 1e-6) return `${number(value * 1e6, 3)} µs`;
    return `${number(value * 1e9, 3)} ns`;
  }

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  const packs = new Map();
  const found = new Map();  // of those that are unpacked
  function unpacked(k) {
    if (!packs.has(k)) packs.set(k, unpack(k).then((panels) => { found.set(k, panels); return panels; }));
    return packs.get(k);
  }
  async function unpack(k) {
    const text = atob(document.getElementById(`run-${k}`).textContent);
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function listen(what, heard) {
    listeners[what].push(heard);
    page.cleanups.push(() => { listeners[what] = listeners[what].filter((one) => one !== heard); });
  }
  function tell(what) { for (const heard of [...listeners[what]]) heard(); }

  function pick(nodes) { page.picked = [...new Set(nodes)].slice(0, 6); tell("picked"); }
  function toggle(node) {
    pick(page.picked.includes(node) ? page.picked.filter((one) => one !== node) : [...page.picked, node]);
  }
  function setMoment(k) { page.moment = k; tell("moment"); }

  function theme(choice) {
    const dark = choice === "dark" || (choice === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    tell("theme");
  }

  // Register how a mark is drawn: `draw(body, data)` fills an element.
  function mark(name, draw) { drawers.set(name, draw); }

  async function show(k) {
    page.cleanups.forEach((clean) => clean());
    page.cleanups = [];
    page.run = k;
    page.picked = [];
    page.clock_s = null;
    const outline = JSON.parse(document.getElementById("outline").textContent);
    const panels = page.panels = await unpacked(k);
    for (const view of Object.values(panels)) for (const one of view.panels) one.data.others?.forEach(({ run }) => unpacked(run));
    const main = document.getElementById("panels");
    const contents = document.getElementById("contents");
    main.replaceChildren();
    contents.replaceChildren();
    outline.runs[k].notices.forEach((text, at) => {
      const bad = at === 0 && text.startsWith("This run");
      main.append(element("p", { class: bad ? "notice bad" : "notice", role: bad ? "alert" : null }, text));
    });
    const waiting = new Map();
    const draw = (section) => {
      const job = waiting.get(section);
      if (!job) return;
      waiting.delete(section);
      watcher.unobserve(section);
      job();
      section.dataset.drawn = "";
      section.style.minHeight = "";
      report.drawn(section);
    };
    const watcher = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
      { rootMargin: "300px" },
    );
    page.cleanups.push(() => watcher.disconnect());
    for (const name of Object.keys(panels)) {
      const view = panels[name];
      const many = view.panels.length > 1;
      const beside = many && !view.panels.some(({ mark: one }) => one === "columns" || one === "sentences");
      const body = element("div", { class: beside ? "two" : "" });
      const keys = element("div");
      if (view.curves) {
        const legend = () => keys.replaceChildren(charts.legend(view.curves.map((one, at) => ({ name: one, colour: colour(at), rule: true }))));
        listen("theme", legend);
        legend();
      }
      const section = element("section", { id: name, "aria-labelledby": `${name}-title` },
        element("h2", { id: `${name}-title` }, view.title), view.about ? element("p", { class: "muted about" }, view.about) : null, keys, body);
      main.append(section);
      waiting.set(section, () => view.panels.forEach((one) => {
        const space = many ? element("figure", null, one.data.title ? element("h3", null, one.data.title) : null) : body;
        if (many) body.append(space);
        drawers.get(one.mark)(space, one.data);
      }));
      watcher.observe(section);
      contents.append(element("li", null, element("a", { href: `#${name}`, onclick: () => draw(section) }, view.title)));
    }
    report.drawAll = () => [...waiting.keys()].forEach(draw);
    report.draw = draw;
  }

  // Which runs there are to choose from; the one that is shown stays so.
  function offer() {
    const outline = JSON.parse(document.getElementById("outline").textContent);
    document.getElementById("run").replaceChildren(...outline.runs.map((run, k) => element("option", { value: k, selected: k === page.run }, run.label)));
    document.getElementById("run-choice").hidden = outline.runs.length < 2;
  }

  function prepare() {
    const choice = document.getElementById("theme");
    choice.addEventListener("change", () => theme(choice.value));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(choice.value));
    theme("auto");
    const select = document.getElementById("run");
    select.addEventListener("change", () => show(Number(select.value)));
    addEventListener("beforeprint", () => { report.drawAll(); page.isPaper = true; theme("light"); tell("print"); });  // paper is white
    addEventListener("afterprint", () => { page.isPaper = false; theme(choice.value); });
  }

  return {
    page, mark, show, element, number, seconds, css, colour, named, isDark, listen, pick, toggle,
    setMoment, unpacked, found, prepare, offer, drawAll: () => {}, draw: () => {}, drawn: () => {},
  };
})();
