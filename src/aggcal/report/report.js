"use strict";
(() => {
  const PAGE = 100, PRINTED = 1000, LONG = 80, LONG_TEXT = 160;

  // The theme: what the system says, unless the reader chose otherwise (the head of the page knows).
  const root = document.documentElement, theme = document.getElementById("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  name();
  system.addEventListener("change", name);
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("aggcal-theme", root.dataset.theme); } catch { /* then it is forgotten */ }
    name();
  });

  const make = (tag, cls, text) => {
    const element = document.createElement(tag);
    if (cls) element.className = cls;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const number = (value) => value === "∞" ? Infinity : value === "-∞" ? -Infinity : value;

  function writer(column) {
    const decimals = column.decimals;
    const format = decimals === null ? { format: (x) => String(Number(x.toPrecision(4))) }
      : new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    return (value) => {
      if (value === null) return "–";
      if (typeof value === "string") return value;
      return (column.signed && value > 0 ? "+" : "") + format.format(value === 0 ? 0 : value) + (column.unit || "");
    };
  }

  // A text that is long stands folded: its beginning, and the whole of it on demand.
  function unfolding(text, long) {
    const signs = text.length > long ? [...text] : text; // whole signs: no half of a pair
    if (signs.length <= long) { const plain = make("div", "", text); plain.dir = "auto"; return plain; }
    const whole = make("details"), head = make("summary", "", signs.slice(0, long).join("") + "…"), body = make("div", "", text);
    head.dir = body.dir = "auto";
    body.tabIndex = 0; // keys must be able to scroll it
    whole.append(head, body);
    return whole;
  }

  // Numbers to sort by: a column's own, or the places of its names, which are slow to compare.
  function sortable(column) {
    const keys = Float64Array.from(column.values, (value) => value === null ? NaN : number(value));
    if (column.kind !== "name") return keys;
    const { compare } = new Intl.Collator(undefined, { numeric: true }), names = column.values;
    Uint32Array.from(names, (_, k) => k).sort((a, b) => compare(names[a], names[b])).forEach((k, place) => { keys[k] = place; });
    return keys;
  }

  const draw = {
    name(column, k, cell) {
      const said = column.texts && column.texts[k];
      cell.append(unfolding(column.values[k], LONG));
      if (said) { const text = unfolding(said, LONG_TEXT); text.classList.add("says"); cell.append(text); }
    },
    number(column, k, cell) {
      const text = column.write ||= writer(column);
      cell.textContent = text(column.values[k]);
      if (!column.low || column.low[k] === null || column.high[k] === null) return;
      cell.append(make("small", "", text(column.low[k]) + " to " + text(column.high[k])));
      if (!column.ends) return;
      cell.classList.add("ranged");
      const [least, most] = column.ends;
      const share = (x) => most > least ? Math.min(100, Math.max(0, 100 * (number(x) - least) / (most - least))) : 50;
      const bar = make("span", "bar"), range = make("i"), at = make("b");
      const low = share(column.low[k]);
      range.style.left = low + "%";
      range.style.width = share(column.high[k]) - low + "%";
      at.style.left = share(column.values[k]) + "%";
      bar.setAttribute("aria-hidden", "true");
      bar.append(range, at);
      cell.append(bar);
    },
    mark(column, k, cell) {
      const word = column.words[column.values[k]];
      cell.append(make("span", word.split(" ")[0], word));
    },
  };

  document.querySelectorAll("[data-listing]").forEach((box) => {
    const columns = JSON.parse(document.getElementById("data-" + box.dataset.listing).textContent).columns;
    const n = columns[0].values.length, named = columns.find((c) => c.kind === "name"), names = named.values;
    const body = box.querySelector("tbody"), heads = [...box.querySelectorAll("thead th")];
    const search = box.querySelector("input"), said = box.querySelector("output"), scroll = box.querySelector(".scroll");
    const left = make("p", "note printed");
    const [back, on] = box.querySelectorAll(".tools button");
    let lower, order = Uint32Array.from({ length: n }, (_, k) => k), shown = order, page = 0;

    function show(size = PAGE) {
      const begin = size === PAGE ? page * PAGE : 0, rows = document.createDocumentFragment();
      for (const k of shown.subarray(begin, begin + size)) {
        const row = make("tr");
        for (const column of columns) {
          const cell = make("td", column.kind);
          draw[column.kind](column, k, cell);
          row.append(cell);
        }
        rows.append(row);
      }
      if (!shown.length) {
        const row = make("tr"), cell = make("td", "none", "Nothing matches “" + search.value.trim() + "”.");
        cell.colSpan = columns.length;
        row.append(cell);
        rows.append(row);
      }
      body.replaceChildren(rows);
      scroll.scrollTop = 0;
      const end = Math.min(begin + PAGE, shown.length), write = (x) => x.toLocaleString("en-US");
      said.textContent = (shown.length ? write(begin + 1) + " to " + write(end) + " of " : "") + write(shown.length) + (shown.length < n ? " found" : "");
      back.disabled = page === 0;
      on.disabled = end >= shown.length;
      back.hidden = on.hidden = shown.length <= PAGE;
      // Paper can be neither searched nor sorted: it says what it leaves out.
      const printed = Math.min(PRINTED, shown.length), some = shown.length < n, sorted = heads.findIndex((head) => head.getAttribute("aria-sort") !== "none");
      left.textContent = printed === n ? "" : (printed < shown.length ? "The first " : "") + write(printed) + " of " + write(printed < shown.length ? shown.length : n)
        + (some ? " that match “" + search.value.trim() + "”" : "") + (sorted < 0 ? "" : ", sorted by " + heads[sorted].textContent) + ". All are in " + box.dataset.file + ".";
    }
    function find() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length) lower ||= names.map((text, k) => (named.texts ? text + "\n" + named.texts[k] : text).toLowerCase());
      shown = words.length ? order.filter((k) => words.every((word) => lower[k].includes(word))) : order;
      page = 0;
      show();
    }
    function sort(at, up) {
      const keys = columns[at].keys ||= sortable(columns[at]), sign = up ? 1 : -1;
      order = Uint32Array.from({ length: n }, (_, k) => k);
      // What is not there stands last, whichever way; equals keep their first order.
      order.sort((a, b) => isNaN(keys[a]) - isNaN(keys[b]) || sign * (keys[a] > keys[b]) - sign * (keys[a] < keys[b]) || a - b);
      heads.forEach((head, k) => head.setAttribute("aria-sort", k === at ? (up ? "ascending" : "descending") : "none"));
      find();
    }
    heads.forEach((head, k) => {
      const button = make("button", "", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      const first = columns[k].kind !== "number" || head.dataset.first === "up";
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sort(k, now === "none" ? first : now === "descending");
      });
    });
    search.addEventListener("input", find);
    back.addEventListener("click", () => { page -= 1; show(); });
    on.addEventListener("click", () => { page += 1; show(); });
    // Rows come in some order: say which, by the first number that rises or falls all the way.
    const steady = (column, sign) => column.kind === "number" && column.values.every((value, k, all) => !k || value === null || (all[k - 1] !== null && sign * number(all[k - 1]) <= sign * number(value)));
    const first = heads.findIndex((_, k) => steady(columns[k], 1) || steady(columns[k], -1));
    if (first >= 0) heads[first].setAttribute("aria-sort", steady(columns[first], 1) ? "ascending" : "descending");
    addEventListener("beforeprint", () => show(PRINTED));
    addEventListener("afterprint", () => show());
    scroll.before(left);
    box.querySelector(".tools").hidden = false;
    box.querySelectorAll(".static").forEach((note) => { note.hidden = true; });
    show();
  });

  // Nobody can unfold paper.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.more:not([open])")];
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
})();
