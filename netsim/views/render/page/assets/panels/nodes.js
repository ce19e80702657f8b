"use strict";
report.panel("nodes", "Nodes", (body, data) => {
  const { element } = report;
  const starved = new Set(data.starved);
  const nodes = data.columns[0].values;
  if (starved.size) {
    body.append(element("p", null, `${starved.size === 1 ? "One node is" : starved.size + " nodes are"} starved: handed fewer than ${100 * data.starved_share} % of the messages that the median node was. Their rows are marked.`));
    data.columns.splice(1, 0, { key: "starved", title: "starved", unit: "", values: nodes.map((node) => (starved.has(node) ? "starved" : "")) });
  }
  sortableTable(body, {
    caption: "A row a node. A heading sorts; a node's number picks it out in the figures.",
    columns: data.columns, marked: starved, rowOf: (k) => nodes[k], firstKey: "node",
  });
});
