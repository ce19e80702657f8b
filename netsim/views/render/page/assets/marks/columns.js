"use strict";
report.mark("columns", (body, data) => {
  const keys = data.columns[0].values;
  sortableTable(body, {
    caption: data.caption, columns: data.columns, firstKey: data.sort, descending: data.descending,
    ...(data.picks ? { marked: new Set(data.marked), rowOf: (k) => keys[k] } : {}),
  });
});
