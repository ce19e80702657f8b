"use strict";
report.mark("facts", (body, data) => {
  const { element } = report;
  body.append(element("dl", { class: "facts" }, ...data.entries.map(([name, value]) =>
    element("div", null, element("dt", null, name), element("dd", null, value)))));
});
