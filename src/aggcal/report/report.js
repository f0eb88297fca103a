(async () => {
  "use strict";
  const PAGE = 100, SCREEN = 40, MINUS = "\u2212", DASH = "\u2013";
  const $ = (where, from = document) => from.querySelector(where), $$ = (where, from = document) => [...from.querySelectorAll(where)];
  async function read(name) {
    const found = $("#data-" + name);
    if (!found || found.type === "application/json") return found && JSON.parse(found.textContent);
    // Large tables come packed.
    const bytes = Uint8Array.from(atob(found.textContent), (sign) => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }
  const page = await read("page"), itemData = await read("items"), peopleData = await read("annotators"), root = document.documentElement;
  const make = (kind, name, text) => { const made = document.createElement(kind); if (name) made.className = name; if (text !== undefined) made.textContent = text; return made; };
  const drawn = (kind, marks) => { const made = document.createElementNS("http://www.w3.org/2000/svg", kind); for (const [name, value] of Object.entries(marks)) made.setAttribute(name, value); return made; };

  // Numbers, written as Python writes them on this page.
  const ends = { "∞": Infinity, "−∞": -Infinity };
  const number = (value) => typeof value === "string" ? ends[value] : value;
  function fixed(value, decimals) {
    if (value === null || value === undefined || Number.isNaN(value)) return DASH;
    value = number(value);
    if (!Number.isFinite(value)) return value > 0 ? "∞" : MINUS + "∞";
    if (decimals === null) {
      const short = Number(value.toPrecision(4)), size = Math.abs(short);
      let text = size !== 0 && (size < 1e-4 || size >= 1e4) ? short.toExponential().replace(/e([+-])(\d)$/, "e$10$2") : String(short);
      return text.replace(/^-/, MINUS);
    }
    let text = Math.abs(value).toFixed(decimals);
    const negative = value < 0 && Number(text) !== 0, [whole, rest] = text.split(".");
    text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? "." + rest : "");
    return (negative ? MINUS : "") + text;
  }
  const shown = (column, k) => {
    if (column.kind === "mark") return column.words[column.values[k]];
    const value = column.values[k], text = fixed(value, column.decimals);
    return (column.signed && number(value) > 0 && /[1-9∞]/.test(text) ? "+" : "") + text + (value === null ? "" : column.unit || "");
  };
  function interval(column, k) {
    if (!column.low || column.low[k] === null || column.high[k] === null) return "";
    const low = fixed(column.low[k], column.decimals), high = fixed(column.high[k], column.decimals);
    if (low === high) return low;
    return number(column.low[k]) < 0 || number(column.high[k]) < 0 ? low + " to " + high : low + DASH + high;
  }
  const percent = (share) => Number.isNaN(share) ? DASH : share > 0 && share < .005 ? "<1%" : share > .995 && share < 1 ? ">99%" : Math.round(100 * share) + "%";
  const whole = (n) => n.toLocaleString("en-US");
  const place = (axis, value) => (3 + 94 * (Math.min(axis[1], Math.max(axis[0], number(value))) - axis[0]) / (axis[1] - axis[0])).toFixed(2);

  // A table that is sorted, searched and shown a page at a time. Rows that the page holds are moved, others are built.
  function table({ box, data, fixedRows, build, pager, none, count, keys, nouns, heading }) {
    const columns = Object.fromEntries(data.columns.map((column) => [column.key, column]));
    const named = data.columns.find((column) => column.kind === "name"), n = named.values.length;
    const bodies = new Map($$("tbody[data-k]", box).map((body) => [Number(body.dataset.k), body]));
    const state = { sort: "", up: true, words: "", keep: null, page: 0, order: null, rows: [] };
    const heads = $$("thead th[data-key]", box);
    let lower;
    const warm = () => { lower ||= named.values.map((text, k) => (named.texts ? text + "\n" + named.texts[k] : text).toLowerCase()); };
    const body = (k) => { if (!bodies.has(k)) bodies.set(k, build(k)); return bodies.get(k); };
    function values(key) {
      if (keys[key]) return keys[key]();
      const column = columns[key];
      if (column.kind === "number") return Float64Array.from(column.values, (value) => value === null ? NaN : number(value));
      if (column.kind === "mark") { const order = [...Object.keys(page.annotators?.kinds || {}), ...Object.values(page.states)]; return Float64Array.from(column.values, (code) => { const at = order.indexOf(column.words[code]); return at < 0 ? code : at; }); }
      const by = new Intl.Collator("en", { numeric: true }).compare, order = column.values.map((_, k) => k).sort((a, b) => by(column.values[a], column.values[b]) || a - b), rank = new Float64Array(n);
      order.forEach((k, at) => { rank[k] = at; });
      return rank;
    }
    function refresh() {
      const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length) warm();
      if (!state.order) state.order = Uint32Array.from({ length: n }, (_, k) => k);
      // One more letter leaves some of the rows that were there: no others are looked at.
      const before = state.found, narrower = before && before.order === state.order && before.keep === state.keep && before.words.length === 1 && words.length === 1 && words[0].startsWith(before.words[0]);
      const from = narrower ? state.rows : state.order, keep = state.keep, [first, ...rest] = words;
      if (first === undefined && !keep) state.rows = from;
      else {
        const fit = [];
        for (const k of from) if ((first === undefined || lower[k].includes(first)) && (!keep || keep(k)) && rest.every((word) => lower[k].includes(word))) fit.push(k);
        state.rows = Uint32Array.from(fit);
      }
      state.found = { words, order: state.order, keep };
      draw();
    }
    function draw() {
      const size = n > fixedRows ? PAGE : n, pages = Math.max(1, Math.ceil(state.rows.length / size));
      state.page = Math.min(state.page, pages - 1);
      const begin = state.page * size, part = state.rows.slice(begin, begin + size);
      const head = $("thead", box), all = document.createDocumentFragment();
      let last = null;
      const put = (those, into) => { for (const k of those) { const head = heading?.(k, last); if (head) into.append(head); into.append(body(k)); last = k; } };
      // What fits a screen comes at once, the rest of a page after it, so that typing is not held up.
      const rest = n > fixedRows ? part.slice(SCREEN) : [];
      clearTimeout(pending);
      put(part.slice(0, part.length - rest.length), all);
      $$("tbody", box).forEach((old) => old.remove());
      head.after(all);
      box.ariaBusy = String(rest.length > 0);
      finish = () => { if (box.ariaBusy !== "true") return; clearTimeout(pending); put(rest, box); after(rest); box.ariaBusy = "false"; };
      if (rest.length) pending = setTimeout(finish);
      none.hidden = state.rows.length > 0;
      none.textContent = state.rows.length ? "" : (state.words.trim() ? "Nothing matches “" + state.words.trim() + "”." : "No " + nouns + " here.") + " Clear the search and the filters to see all " + whole(n) + ".";
      count.textContent = state.rows.length < n ? whole(state.rows.length) + " of " + whole(n) + " " + nouns : "";
      pager.hidden = pages === 1;
      pager.replaceChildren();
      if (pages > 1) {
        const [back, on] = [["Back", -1], ["Next", 1]].map(([word, step]) => {
          const button = make("button", "btn", word);
          button.type = "button";
          button.disabled = state.page + step < 0 || state.page + step >= pages;
          button.addEventListener("click", () => { state.page += step; draw(); box.scrollIntoView(); $$("button", pager)[step < 0 ? 0 : 1].focus({ preventScroll: true }); });
          return button;
        });
        pager.append(back, make("span", "", whole(begin + 1) + " to " + whole(begin + part.length) + " of " + whole(state.rows.length)), on);
      }
      after(part.slice(0, part.length - rest.length));
    }
    let after = () => {}, pending = 0, finish = () => {};
    addEventListener("beforeprint", () => finish());
    function sort(key, up) {
      state.sort = key; state.up = up; state.page = 0;
      const by = values(key), sign = up ? 1 : -1;
      state.order = Uint32Array.from({ length: n }, (_, k) => k);
      // What is missing comes last, whichever way; equal rows keep their first order.
      state.order.sort((a, b) => isNaN(by[a]) - isNaN(by[b]) || sign * (by[a] > by[b]) - sign * (by[a] < by[b]) || a - b);
      mark();
      refresh();
    }
    const mark = () => heads.forEach((head) => head.dataset.key === state.sort ? head.setAttribute("aria-sort", state.up ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    heads.forEach((head) => {
      const button = make("button", "sort");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(head.dataset.key, state.sort === head.dataset.key ? !state.up : head.dataset.first === "up"));
    });
    return { n, columns, named, state, body, warm, sort, refresh, draw, mark, onDraw: (call) => { after = call; }, go(k) {
      state.words = ""; state.keep = null; refresh();
      state.page = n > fixedRows ? Math.floor(state.rows.indexOf(k) / PAGE) : 0;
      draw();
      finish();
      const found = body(k);
      found.classList.add("hit");
      const details = $("details", found);
      if (details) details.open = true;
      found.scrollIntoView({ block: "center" });
      ($("summary", found) || found).focus?.({ preventScroll: true });
      setTimeout(() => found.classList.remove("hit"), 2500);
    } };
  }

  // Items.
  const S = page.items, itemTable = $("#items");
  const heads = $$("thead th", itemTable), has = (name) => heads.some((head) => head.classList.contains(name));
  let stop = $("#stop") ? Number($("#stop").value) : 0, only = "";
  const C = Object.fromEntries(itemData.columns.map((column) => [column.key, column]));
  function chance(k) {
    if (S.top === S.stops[stop]) return C.p_top_k.values[k] === null ? NaN : C.p_top_k.values[k] / 100;
    const row = S.percent[k];
    if (!row) return NaN; // nobody judged it
    const at = stop - row[0];
    // Draws that all say the same do not make it certain.
    return at < 0 ? .001 : at >= row.length - 1 ? .999 : row[at + 1] / 100;
  }
  function stateOf(k) {
    const best = (S.best || C.sure_low.values)[k], worst = (S.worst || C.sure_high.values)[k];
    if (best === undefined || best === null) return "out"; // nobody judged it
    return worst <= S.stops[stop] ? "in" : best > S.stops[stop] ? "out" : "edge";
  }
  const blocks = (() => {
    const found = [], members = new Map();
    (C.block ? C.block.values : []).forEach((value, k) => { if (value !== null) members.has(value) ? members.get(value).push(k) : members.set(value, [k]); });
    let turn = 0;
    for (const own of members.values()) if (own.length > 1) { turn++; own.forEach((k, at) => { found[k] = [at, own.length, turn]; }); }
    return found;
  })();
  function cell(name, text, kind = "td") { return make(kind, name, text); }
  function buildItem(k) {
    const body = make("tbody", "item"), row = make("tr", "row"), score = C[S.score], [at, size, turn] = blocks[k] || [0, 1, 0];
    body.dataset.k = k;
    if (turn % 2) body.classList.add("band");
    const rank = cell("c-rank");
    if ($("#topk")) rank.append(make("i", "sq"));
    rank.append(make("b", "", C.rank ? shown(C.rank, k) : ""));
    row.append(rank);
    if (has("c-ranks")) row.append(cell("c-ranks", interval(C.rank, k)));
    if (has("c-chance")) row.append(cell("num c-chance", ""));
    const item = cell("c-item", undefined, "th"), details = make("details"), summary = make("summary", "", C.item.values[k].length > 120 ? C.item.values[k].slice(0, 120) + "…" : C.item.values[k]);
    item.scope = "row"; summary.dir = "auto"; details.append(summary); item.append(details); row.append(item);
    const chart = cell("c-chart"), svg = drawn("svg", { class: "dw", "aria-hidden": "true" }), x = (value) => place(S.axis, value) + "%";
    const dot = score.values[k], model = S.score === "calibrated" && C.model ? C.model.values[k] : null;
    if (size > 1) svg.append(drawn("line", { class: "step", x1: x(dot), x2: x(dot), y1: at ? "0" : "50%", y2: at === size - 1 ? "50%" : "100%" }));
    if (model !== null && dot !== null) svg.append(drawn("line", { class: "mv", x1: x(model), x2: x(dot), y1: "50%", y2: "50%" }));
    if (score.low && score.low[k] !== null && score.high[k] !== null) svg.append(drawn("line", { class: "ci", x1: x(score.low[k]), x2: x(score.high[k]), y1: "50%", y2: "50%" }));
    if (model !== null) svg.append(drawn("circle", { class: "md", cx: x(model), cy: "50%", r: "4" }));
    if (dot !== null) svg.append(drawn("circle", { class: "pt", cx: x(dot), cy: "50%", r: "5" }));
    chart.append(svg); row.append(chart);
    const value = cell("num c-score" + (at ? " same" : ""), shown(score, k)), range = interval(score, k);
    if (range) value.append(make("span", "sr", " (" + range + ")"));
    row.append(value);
    if (has("c-tied")) row.append(cell("c-tied " + (size > 1 ? at === 0 ? "first" : at === size - 1 ? "last" : "middle" : ""), size > 1 && at === 0 ? whole(size) : ""));
    if (has("c-change")) row.append(cell("num c-change", shown(C.change || C.win_rate, k)));
    row.append(cell("num c-n", C.n_judgments ? shown(C.n_judgments, k) : ""));
    for (const kind of ["asked", "x"]) heads.filter((head) => head.classList.contains(kind)).forEach((head) => row.append(cell((C[head.dataset.key].kind === "number" ? "num " : "") + kind, shown(C[head.dataset.key], k))));
    const detail = make("tr", "detail"), inside = make("td"), parts = make("div", "parts");
    inside.colSpan = row.children.length; inside.append(parts); detail.append(inside);
    details.addEventListener("toggle", () => {
      if (parts.firstChild) return;
      if (C.item.texts && C.item.texts[k]) { const says = make("div", "says"), text = make("p", "", C.item.texts[k]); text.dir = "auto"; says.append(make("h3", "sub", "Text"), text); parts.append(says); }
      const nums = make("p", "nums");
      for (const column of Object.values(C)) if (column.kind === "number") { const one = make("span"); one.append(make("span", "muted", column.title[0].toUpperCase() + column.title.slice(1)), " " + shown(column, k)); if (interval(column, k)) one.append(" (" + interval(column, k) + ")"); nums.append(one); }
      if (C.item.values[k].length > 120) { const name = make("span", "", C.item.values[k]); name.dir = "auto"; nums.append(name); }
      const copy = make("button", "btn small", "Copy row"); copy.type = "button"; copy.dataset.row = k; nums.append(copy);
      parts.append(nums);
    });
    body.append(row, detail);
    return body;
  }
  const items = table({ box: itemTable, data: itemData, fixedRows: S.static, build: buildItem, pager: $("#pager"), none: $("#no-items"), count: $("#item-count"), nouns: "items",
    heading: S.parts && ((k, last) => {
      const own = C.component.values[k], says = S.parts[own];
      if (items.state.sort !== "rank" || !items.state.up || !says || (last !== null && C.component.values[last] === own)) return null;
      const made = make("tbody", "part"), row = make("tr"), cell = make("th");
      cell.scope = "rowgroup"; cell.colSpan = heads.length;
      cell.append(make("b", "", says[0]), " ", make("span", "muted", says[1])); row.append(cell); made.append(row);
      return made;
    }),
    keys: { ...(S.parts && { rank: () => Float64Array.from(C.rank.values, (rank, k) => rank === null || C.component.values[k] === null ? NaN : C.component.values[k] * 1e9 + rank) }), chance: () => Float64Array.from(C.item.values, (_, k) => chance(k)) } });
  function colour(part) {
    for (const k of part) {
      const body = items.body(k), row = body.firstElementChild, square = $(".sq", row), state = $("#topk") ? stateOf(k) : "in";
      row.className = "row " + state;
      if (square) { square.className = "sq " + state; square.title = page.states[state]; }
      const cell = $(".c-chance", row);
      if (cell) { const p = chance(k); cell.textContent = Number.isNaN(p) ? "" : percent(p); }
      body.classList.toggle("cut", Boolean($("#topk")) && items.state.sort === "rank" && items.state.up && !only && C.rank && C.rank.values[k] === S.stops[stop] && (k + 1 >= items.n || C.rank.values[k + 1] > S.stops[stop]));
    }
  }
  items.onDraw(colour);
  items.state.sort = C.rank ? "rank" : ""; items.mark();
  // Items of which least is known: the tenth with the widest intervals.
  const width = (k) => { const at = C[S.score], low = at.low?.[k], high = at.high?.[k]; return low === null || low === undefined || high === null ? NaN : number(high) - number(low); };
  const tenth = () => { const every = Float64Array.from(C.item.values, (_, k) => width(k)).filter((one) => !Number.isNaN(one)).sort(); return every[Math.floor(.9 * every.length)]; };
  const judged = page.judged.map(([, those]) => new Set(those));
  function filter() {
    const kind = $("#filter").value, who = kind.startsWith("by:") ? judged[Number(kind.slice(3))] : null, part = kind.startsWith("part:") ? Number(kind.slice(5)) : 0;
    const widest = kind === "wide" ? tenth() : NaN;
    const fits = { up: (k) => C.change.values[k] > 0, down: (k) => C.change.values[k] < 0, block: (k) => Boolean(blocks[k]), first: (k) => page.first.includes(k), wide: (k) => width(k) >= widest }[kind] || (who ? (k) => who.has(k) : part ? (k) => C.component.values[k] === part : null);
    items.state.keep = only || fits ? (k) => (!only || stateOf(k) === only) && (!fits || fits(k)) : null;
    items.state.page = 0;
    items.refresh();
  }
  function setStop(at) {
    stop = Math.max(0, Math.min(S.stops.length - 1, at));
    $("#stop").value = stop;
    if (document.activeElement !== $("#k")) $("#k").value = S.stops[stop];
    $("#stop").setAttribute("aria-valuetext", "top " + S.stops[stop]);
    if ($("#shown-k")) $("#shown-k").textContent = S.stops[stop];
    const counts = { in: 0, edge: 0, out: 0 };
    for (let k = 0; k < items.n; k++) counts[stateOf(k)]++;
    for (const [state, n] of Object.entries(counts)) $("[data-state=" + state + "] b").textContent = whole(n);
    only ? filter() : items.draw();
  }
  $("#search").addEventListener("focus", items.warm);
  $("#search").addEventListener("input", (event) => { items.state.words = event.target.value; items.state.page = 0; items.refresh(); });
  $("#filter").addEventListener("change", filter);
  $("#sort-by").addEventListener("change", (event) => items.sort(event.target.value, ["rank", "item"].includes(event.target.value)));
  if ($("#topk")) {
    const near = (k) => S.stops.reduce((best, one, at) => Math.abs(one - k) < Math.abs(S.stops[best] - k) ? at : best, 0);
    $("#stop").addEventListener("input", (event) => setStop(Number(event.target.value)));
    $("#k").addEventListener("input", (event) => { if (event.target.value) setStop(near(Number(event.target.value))); });
    $("#k").addEventListener("blur", (event) => { event.target.value = S.stops[stop]; });
    $$("[data-state]").forEach((button) => button.addEventListener("click", () => {
      only = only === button.dataset.state ? "" : button.dataset.state;
      $$("[data-state]").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.state === only)));
      filter();
    }));
  }
  $("#more").addEventListener("click", (event) => { const on = $("#table-view").classList.toggle("wide"); event.target.setAttribute("aria-pressed", String(on)); event.target.textContent = on ? "Fewer columns" : "More columns"; });

  // Text for a spreadsheet: what a cell must not do is run.
  const raw = (column, k) => column.kind === "name" ? column.values[k] : column.kind === "mark" ? column.words[column.values[k]] : column.values[k] === null ? "" : String(column.values[k]).replace(MINUS, "-").replace("∞", "inf");
  function lines(from, rows) {
    const columns = Object.values(from.columns), head = [], out = [head];
    for (const column of columns) { head.push(column.key); if (column.low) head.push(column.key + "_low", column.key + "_high"); }
    for (const k of rows) {
      const line = [];
      for (const column of columns) { line.push(raw(column, k)); if (column.low) for (const end of ["low", "high"]) line.push(column[end][k] === null ? "" : String(column[end][k]).replace(MINUS, "-").replace("∞", "inf")); }
      out.push(line);
    }
    return out;
  }
  const safe = (text) => /^[=+@\t\r]|^-(?![\d.])/.test(text) ? "'" + text : text;
  const csv = (rows) => rows.map((line) => line.map((text) => /[",\n\r]/.test(text = safe(String(text))) ? '"' + text.replaceAll('"', '""') + '"' : text).join(",")).join("\r\n") + "\r\n";
  const tabbed = (rows) => rows.map((line) => line.map((text) => safe(String(text)).replace(/[\t\n\r]+/g, " ")).join("\t")).join("\n");
  async function copy(text, button) {
    const old = button.textContent;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = make("textarea"); area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    button.textContent = $("#say").textContent = "Copied";
    setTimeout(() => { button.textContent = old; $("#say").textContent = ""; }, 1500);
  }
  $("#copy-items").addEventListener("click", (event) => copy(tabbed(lines(items, items.state.rows.length ? items.state.rows : [])), event.target));
  function save(from, name) {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + csv(lines(from, from.state.rows))], { type: "text/csv" }));
    link.download = name; link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  $("#save-items").addEventListener("click", () => save(items, "items.csv"));

  // Annotators.
  let people = null;
  if ($("#annotator-table")) {
    const A = page.annotators, box = $("#annotator-table"), data = peopleData, P = Object.fromEntries(data.columns.map((column) => [column.key, column]));
    const chips = {};
    $$(".chip", box).forEach((one) => { chips[one.className] ||= one; });
    people = table({ box, data, fixedRows: A.static, pager: $("#annotator-pager"), none: $("#no-annotators"), count: $("#annotator-count"), keys: {}, nouns: "annotators", build(k) {
      const body = make("tbody", "who"), word = P.verdict.words[P.verdict.values[k]], kind = A.kinds[word] || "none", row = make("tr", "row " + kind), who = cell("c-who", P.annotator.values[k].length > 120 ? P.annotator.values[k].slice(0, 120) + "…" : P.annotator.values[k], "th"), verdict = cell("c-verdict");
      body.dataset.k = k; who.scope = "row"; who.dir = "auto";
      const chip = make("span", "chip " + kind), like = chips["chip " + kind], icon = like && $(".icon", like);
      if (icon) chip.append(icon.cloneNode(true));
      chip.append(word[0].toUpperCase() + word.slice(1)); verdict.append(chip);
      const why = P.reason.words[P.reason.values[k]];
      if (why && kind !== "good") { const said = make("span", "why", why); said.title = why; verdict.append(" ", said); }
      row.append(who, verdict);
      for (const [key, axis] of Object.entries(A.axes)) {
        const column = P[key], chart = cell("c-chart " + key), svg = drawn("svg", { class: "dw", "aria-hidden": "true" }), x = (value) => place(axis, value) + "%";
        if (column.low && column.low[k] !== null && column.high[k] !== null) svg.append(drawn("line", { class: "ci", x1: x(column.low[k]), x2: x(column.high[k]), y1: "50%", y2: "50%" }));
        if (column.values[k] !== null) svg.append(drawn("circle", { class: "pt", cx: x(column.values[k]), cy: "50%", r: "5" }));
        chart.append(svg);
        const value = cell("num v-" + key, shown(column, k));
        if (interval(column, k)) value.append(make("span", "sr", " (" + interval(column, k) + ")"));
        row.append(chart, value);
      }
      for (const key of A.numbers) {
        const value = cell("num v-" + key, shown(P[key], k));
        if (interval(P[key], k)) value.append(make("span", "sr", " (" + interval(P[key], k) + ")"));
        row.append(value);
      }
      row.append(cell("num c-n", shown(P.n_judgments, k)));
      body.append(row);
      return body;
    } });
    people.state.sort = "verdict"; people.mark();
    $("#search-annotators").addEventListener("input", (event) => { people.state.words = event.target.value; people.state.page = 0; people.refresh(); });
    $$("[data-verdict]").forEach((button) => button.addEventListener("click", () => {
      const word = button.dataset.verdict;
      people.state.keep = word ? (k) => P.verdict.words[P.verdict.values[k]] === word : null;
      people.state.page = 0;
      $$("[data-verdict]").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      people.refresh();
    }));
    $("#save-annotators").addEventListener("click", () => save(people, "annotators.csv"));
    $("#copy-annotators").addEventListener("click", (event) => copy(tabbed(lines(people, people.state.rows)), event.target));
    people.refresh();
  }

  // Who beat whom.
  const views = { table: $("#table-view"), matrix: $("#matrix-view") };
  function view(name) {
    if (!views.matrix) return;
    views.table.hidden = name !== "table"; views.matrix.hidden = name !== "matrix";
    $$("[data-view]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === name)));
  }
  function heat(name) {
    $$("[data-heat]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.heat === name)));
    for (const one of $$("[data-heat-of]")) one.hidden = one.dataset.heatOf !== name;
    for (const one of $$("[data-key-of]")) one.hidden = one.dataset.keyOf !== name;
  }
  if (views.matrix) {
    const met = new Map(page.pairs.map(([i, j, ...rest]) => [i * items.n + j, rest])), name = (k) => C.item.values[k];
    $$("[data-view]").forEach((button) => button.addEventListener("click", () => view(button.dataset.view)));
    $$("[data-heat]").forEach((button) => button.addEventListener("click", () => heat(button.dataset.heat)));
    $$(".matrix").forEach((svg) => svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width, side = Number(svg.dataset.cell);
      const column = Math.floor(((event.clientX - box.left) * scale - svg.dataset.left) / side), row = Math.floor(((event.clientY - box.top) * scale - svg.dataset.top) / side);
      const inside = row >= 0 && row < items.n && column >= 0 && column < items.n && row !== column, low = Math.min(row, column), found = inside && met.get(low * items.n + Math.max(row, column));
      if (!inside) return;
      const [first, second, tied] = found || [0, 0, 0], mine = row === low ? first : second, theirs = row === low ? second : first;
      $("#heat-read").textContent = found ? name(row) + " won " + whole(mine) + " and lost " + whole(theirs) + (tied ? ", tied " + whole(tied) : "") + " against " + name(column) + "." : name(row) + " and " + name(column) + " were never compared.";
    }));
    $$(".matrix .lab").forEach((label, at) => label.addEventListener("click", () => { location.hash = "item=" + encodeURIComponent(name(at % items.n)); }));
    view("table"); heat("shares");
  }
  // The overall order, or that of a category: the page holds them all, one is shown.
  const by = $("#by");
  function order(key) {
    if (!by) return;
    by.value = key;
    $("#by-view").hidden = !key;
    $$(".by").forEach((one) => { one.hidden = one.dataset.by !== key; });
    for (const one of ["#overview", "#item-tools", "#table-view"]) if ($(one)) $(one).hidden = Boolean(key);
    if (!key) view("table"); else if (views.matrix) views.matrix.hidden = true;
  }
  by?.addEventListener("change", () => { history.replaceState(null, "", by.value ? "#by=" + encodeURIComponent(by.value) : "#results"); order(by.value); });
  order("");
  $(".ribbon")?.addEventListener("click", (event) => {
    const svg = event.currentTarget, box = svg.getBoundingClientRect(), share = (event.clientX - box.left) / box.width;
    items.sort("rank", true);
    items.state.page = Math.floor(Math.min(.9999, Math.max(0, share)) * items.n / PAGE);
    items.draw();
    itemTable.scrollIntoView();
  });

  // Tabs, and links to a tab, an item, an annotator or a word.
  const panels = $$("main > section"), tabs = $$(".tabs a");
  function tab(id, move) {
    panels.forEach((panel) => { panel.hidden = panel.id !== id; });
    tabs.forEach((link) => link.hash === "#" + id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current"));
    if (move && scrollY > $(".tabs").offsetTop) scrollTo(0, $(".tabs").offsetTop);
  }
  const isTab = (hash) => panels.some((panel) => "#" + panel.id === hash);
  function follow(moved) {
    let hash = location.hash.slice(1);
    try { hash = decodeURIComponent(hash); } catch { /* as it was typed */ }
    const [kind, ...rest] = hash.split("="), wanted = rest.join("=");
    if (kind === "by" && by) { tab("results"); order([...by.options].some((one) => one.value === wanted) ? wanted : ""); return; }
    order("");
    if (kind === "item" && rest.length) { const k = C.item.values.indexOf(wanted); tab("results"); view("table"); if (k >= 0) items.go(k); return; }
    if (kind === "annotator" && rest.length && people) { tab("annotators"); const k = people.named.values.indexOf(wanted); if (k >= 0) people.go(k); return; }
    if (panels.some((panel) => panel.id === hash)) { tab(hash, moved); return; }
    if (hash === "next" && $("#next")) { tab("quality"); $("#next").scrollIntoView(); return; }
    if (hash === "doubtful" && $("#doubtful")) { const found = $("#doubtful"); tab("results"); view("table"); if (found.tagName === "DETAILS") found.open = true; found.scrollIntoView(); return; }
    if (hash.startsWith("word")) { tab("method"); document.getElementById(hash)?.scrollIntoView({ block: "center" }); return; }
    tab("results");
  }
  addEventListener("hashchange", () => follow(true));
  addEventListener("popstate", () => follow(true));

  // Words: a tooltip on hover, focus or tap.
  const tip = $("#tip");
  function explain(link) {
    tip.textContent = page.words[link.dataset.term]; tip.hidden = false; link.setAttribute("aria-describedby", "tip");
    const box = link.getBoundingClientRect(), below = box.bottom + 8 + tip.offsetHeight < innerHeight;
    tip.style.left = Math.max(12, Math.min(innerWidth - tip.offsetWidth - 12, box.left + box.width / 2 - tip.offsetWidth / 2)) + scrollX + "px";
    tip.style.top = (below ? box.bottom + 8 : box.top - tip.offsetHeight - 8) + scrollY + "px";
  }
  const hush = () => { tip.hidden = true; $$("[aria-describedby=tip]").forEach((link) => link.removeAttribute("aria-describedby")); };
  for (const [on, off] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(on, (event) => { const link = event.target.closest?.(".term"); if (link) explain(link); });
    document.addEventListener(off, (event) => { if (event.target.closest?.(".term")) hush(); });
  }
  // Keys: a slash goes to the search of what is shown, arrows from row to row.
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hush();
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (event.key === "/") { const box = $$("input[type=search]").find((one) => one.offsetParent); if (box) { event.preventDefault(); box.focus(); box.select(); } }
    const row = event.target.closest?.("#items tbody.item"), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!row || !step || event.target.tagName !== "SUMMARY") return;
    const every = $$("#items tbody.item"), next = every[every.indexOf(row) + step];
    if (next) { event.preventDefault(); $("summary", next).focus(); }
  });
  document.addEventListener("click", (event) => {
    const target = event.target.closest("button, a"), d = target && target.dataset;
    if (!target) return;
    if (d.term) { event.preventDefault(); explain(target); }
    else if (d.copy !== undefined) copy(d.copy, target);
    else if (d.row !== undefined) copy(tabbed(lines(items, [Number(d.row)])), target);
    else if (target.hash && isTab(target.hash)) {
      // A tab is no place further down: the browser's own jump would hide the verdict.
      event.preventDefault();
      if (target.hash !== location.hash) history.pushState(null, "", target.hash);
      tab(target.hash.slice(1), true);
    } else if (target.hash && target.hash === location.hash && target.closest("main, .head")) follow(true);
  });

  S.parts ? items.sort("rank", true) : items.refresh();
  follow();
  // The browser jumps to the tab itself once all is loaded: the verdict above it comes first.
  if (isTab(location.hash)) { addEventListener("load", () => setTimeout(() => scrollTo(0, 0))); setTimeout(() => scrollTo(0, 0)); }
})();
