"use strict";
report.panel("links", "Messages by link", (body, data) => {
  const { number } = report;
  const least = data.links > data.src.length ? `the ${data.src.length} of ${number(data.links)} links on which most were not delivered` : `all ${number(data.links)} links, those on which most were not delivered first`;
  const delivered = data.outcomes.indexOf("delivered");
  const arrived = data.counts.map((row) => (delivered < 0 ? 0 : row[delivered]));
  sortableTable(body, {
    caption: `Messages from a sender to a receiver and how they ended: ${least}.`,
    columns: [
      { key: "src", title: "from", values: data.src }, { key: "dst", title: "to", values: data.dst },
      { key: "sent", title: "messages", values: data.sent },
      { key: "share", title: "delivered", unit: "%", values: data.sent.map((sent, k) => (100 * arrived[k]) / sent) },
      ...data.outcomes.map((name, o) => ({ key: name, title: name, unit: "messages", values: data.counts.map((row) => row[o]) })),
      { key: "missed", title: "not delivered", unit: "messages", values: data.sent.map((sent, k) => sent - arrived[k]) },
    ],
    firstKey: "missed", descending: true,
  });
});
