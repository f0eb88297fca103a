(() => {
  "use strict";
  // All rows are in the page: they are moved and hidden, never built.
  const $ = (where) => document.querySelector(where), box = $("#items"), bodies = [...box.querySelectorAll("tbody")];
  const search = $("#search"), moved = $("#moved"), heads = [...box.querySelectorAll("thead th")];
  let key = "", up = true;
  const value = (body, at) => { const cell = body.rows[0].cells[at], given = cell.dataset.value; return given === undefined ? cell.textContent : given === "" ? NaN : Number(given); };
  const by = new Intl.Collator("en", { numeric: true }).compare;
  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), only = moved && moved.getAttribute("aria-pressed") === "true";
    let n = 0;
    for (const body of bodies) {
      const cells = body.rows[0], name = cells.querySelector(".c-item").title.toLowerCase();
      body.hidden = (only && !cells.classList.contains("in")) || !words.every((word) => name.includes(word));
      n += !body.hidden;
    }
    $("#nothing").hidden = n > 0;
    $("#shown").textContent = n < bodies.length ? n.toLocaleString("en-US") + " of " + bodies.length.toLocaleString("en-US") + " items" : "";
  }
  heads.forEach((head, at) => {
    if (!head.dataset.key) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      up = key === head.dataset.key ? !up : head.dataset.key === "rank" || head.dataset.key === "item";
      key = head.dataset.key;
      heads.forEach((each) => each === head ? each.setAttribute("aria-sort", up ? "ascending" : "descending") : each.removeAttribute("aria-sort"));
      const sign = up ? 1 : -1, values = new Map(bodies.map((body, k) => [body, [value(body, at), k]]));
      bodies.sort((a, b) => {
        const [x, i] = values.get(a), [y, j] = values.get(b);
        if (typeof x === "string") return sign * by(x, y) || i - j;
        return isNaN(x) - isNaN(y) || sign * (x > y) - sign * (x < y) || i - j;
      });
      box.append(...bodies);
    });
  });
  search.addEventListener("input", show);
  if (moved) moved.addEventListener("click", () => { moved.setAttribute("aria-pressed", moved.getAttribute("aria-pressed") !== "true"); show(); });
})();
