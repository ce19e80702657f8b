"use strict";
for (const [name, title] of [["points", "Points"], ["measures", "Numbers"]]) report.panel(name, title, (body, data) => {
  sortableTable(body, { caption: data.caption, columns: data.columns });
});
