// What the numbers say, in words.
"use strict";
report.mark("sentences", (body, data) => {
  body.append(...data.sentences.map((text) => report.element("p", null, text)));
});
