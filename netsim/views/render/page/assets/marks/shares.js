// A bar a word, from 0 to 100 %, in parts.
"use strict";
report.mark("shares", (body, data) => {
  const { element, number, named } = report;
  const layers = data.layers.map(({ name, colour }, k) => ({ name, colour: colour || named({}, name, k) }));
  const list = element("div", { class: "shares", role: "list" });
  data.rows.forEach((row) => {
    const told = layers.map(({ name }, k) => [name, row.shares[k], row.counts[k]]).filter(([, share]) => share > 0)
      .map(([name, share, count]) => `${name} ${number(share, 3)} % (${number(count)})`);
    const bar = element("div", { class: "share-bar", role: "img", "aria-label": `${row.name}: ${told.join(", ")}`, title: told.join("\n") });
    layers.forEach(({ colour }, k) => {
      const part = element("span");
      part.style.width = `${row.shares[k]}%`;
      part.style.background = colour;
      bar.append(part);
    });
    list.append(element("div", { role: "listitem" }, element("span", { class: "share-name" }, row.name), bar,
      element("span", { class: "share-count" }, `${number(row.counts.reduce((sum, one) => sum + one, 0))}`)));
  });
  body.append(charts.legend(layers), list, element("p", { class: "muted" }, `${charts.titled(data.y)}; the number of messages beside.`));
});
