// Search, filters, sorting and details of the page. Every value reaches the page as text, never as markup.
(() => {
  "use strict";
  const facts = JSON.parse(document.getElementById("facts").textContent);
  for (const table of facts.tables)
    table.runs = table.runs.map((values) => Object.fromEntries(facts.run_columns.map((name, place) => [name, values[place]])));
  const tables = new Map(facts.tables.map((table) => [table.log, table]));
  const overview = document.getElementById("overview");
  const bodies = [...overview.tBodies];
  const STATUSES = ["accepted", "merged", "ignored", "waiting", "rejected"];
  const AGES = ["under an hour", "under a day", "under a week", "older"];
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // elements

  function element(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  const number = (value) =>
    value === null || value === undefined ? "–" : Math.abs(value) < 10000 ? String(value) : value.toLocaleString("en").replaceAll(",", "\u00a0");
  const moment = (time) => (time ? time.slice(0, 16).replace("T", " ") : "–");
  const badge = (state) => element("span", { className: `badge ${state}` }, state);

  function duration(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 0) return `-${duration(-seconds)}`;
    for (const [unit, length, from] of [["days", 86400, 2], ["h", 3600, 1], ["min", 60, 1]]) {
      const amount = seconds / length;
      if (amount >= from) return `${amount < 10 ? Number(amount.toFixed(1)) : Math.round(amount)} ${unit}`;
    }
    return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
  }

  // A text whose words in backticks are code.
  const prose = (text) => element("span", {}, ...text.split("`").map((part, place) => (place % 2 ? element("code", {}, part) : part)));

  function tableOf(caption, columns, rows) {
    const head = columns.map(([name, isNumber]) => element("th", { scope: "col", className: isNumber ? "number" : "" }, name));
    const lines = rows.map((cells) =>
      element("tr", {}, ...cells.map((cell, place) => element("td", { className: columns[place][1] ? "number" : "", "data-label": columns[place][0] }, cell))),
    );
    return element(
      "div",
      { className: "scroll", tabIndex: 0, role: "region", ariaLabel: caption },
      element("table", { className: "stack" }, element("caption", { className: "unseen" }, caption), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines)),
    );
  }

  // plots

  const plots = [];

  function colours() {
    return dark.matches
      ? { text: "#e4e8ec", quiet: "#a0acb8", line: "#323b45", range: ["#5aa9e6", "#3d5f80", "#5b6875", "#f3c26b", "#ff7a6e"], one: "#5aa9e6" }
      : { text: "#1d2733", quiet: "#5b6875", line: "#dfe3e8", range: ["#2f7fc1", "#a3c7e6", "#b9c1c9", "#e0a030", "#c0352b"], one: "#2f7fc1" };
  }

  function config() {
    const { text, quiet, line } = colours();
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: "transparent",
      font,
      view: { stroke: null },
      axis: { labelColor: quiet, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 11 },
      legend: { labelColor: text, titleColor: quiet, orient: "top", columns: matchMedia("(max-width: 700px)").matches ? 3 : 0, title: null, symbolType: "square", labelFontSize: 11 },
    };
  }

  function draw({ place, spec }) {
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, config: config() };
    return vegaEmbed(place, spec(), options).catch((error) => place.replaceChildren(`This plot cannot be drawn: ${error.message}`));
  }

  function plot(caption, summary, spec) {
    const place = element("div", { className: "plot" });
    const made = { place, spec: () => ({ description: `${caption}. ${summary}`, width: "container", height: 170, ...spec() }) };
    plots.push(made);
    const figure = element("figure", {}, element("figcaption", {}, caption), place, element("p", {}, summary));
    requestAnimationFrame(() => draw(made));
    return figure;
  }

  // A plot is redrawn in the colours of the other mode. One that has left the page is forgotten.
  dark.addEventListener("change", () => {
    for (const made of plots.splice(0).filter(({ place }) => place.isConnected)) {
      plots.push(made);
      draw(made);
    }
  });

  const stacked = (values, x) => () => ({
    data: { values },
    mark: { type: "bar", tooltip: true },
    encoding: {
      x,
      y: { field: "rows", type: "quantitative", title: "rows", axis: { tickCount: 4, format: "~s" } },
      color: { field: "status", type: "nominal", scale: { domain: STATUSES, range: colours().range } },
      order: { field: "order", type: "quantitative" },
    },
  });

  // Rows of a run by status. A run that does not count them apart has as accepted what it has used.
  function rowsOf(run) {
    const counts = { ...run, accepted: run.accepted ?? run.rows - run.rejected - run.waiting };
    return STATUSES.map((status, order) => ({ status, order, rows: counts[status] ?? 0 })).filter(({ rows }) => rows > 0);
  }

  function shareOf(rejected, rows) {
    const share = rows ? (100 * rejected) / rows : 0;
    return share > 0 && share < 0.1 ? "under 0.1 %" : `${Number(share.toFixed(1))} %`;
  }

  // A first run reads all that has ever landed, so that beside it others would not be seen.
  const isDrawn = (run, place, runs) => run.kind !== "first" || runs.every(({ kind }) => kind === "first");

  function plotsOfAll() {
    const byDay = new Map();
    for (const table of facts.tables)
      for (const run of table.runs.filter(isDrawn))
        for (const { status, order, rows } of rowsOf(run)) {
          const key = `${run.started_at.slice(0, 10)} ${status}`;
          const known = byDay.get(key) ?? { day: run.started_at.slice(0, 10), status, order, rows: 0 };
          known.rows += rows;
          byDay.set(key, known);
        }
    const values = [...byDay.values()];
    const sum = (list) => list.reduce((total, { rows }) => total + rows, 0);
    const rejected = sum(values.filter(({ status }) => status === "rejected"));
    const days = new Set(values.map(({ day }) => day)).size;
    const byAge = AGES.flatMap((age, place) =>
      ["waiting", "rejected", "reported"].map((status) => ({
        age,
        place,
        status,
        rows: facts.tables.reduce((total, table) => total + table.kept.filter((kept) => kept.status === status).reduce((all, kept) => all + (kept.by_age[age] ?? 0), 0), 0),
      })),
    ).filter(({ rows }) => rows > 0);
    const kept = sum(byAge);
    const all = document.getElementById("all-plots");
    all.append(
      plot(
        "Rows by status and day",
        `${number(sum(values))} rows on ${days} days, ${number(rejected)} of them rejected (${shareOf(rejected, sum(values))}). First runs are left out; of runs that read everything again, what was news.`,
        stacked(values, { field: "day", type: "ordinal", title: null, axis: { labelAngle: 0, labelOverlap: true, labelSeparation: 12 } }),
      ),
    );
    if (kept)
      all.append(
        plot("Rows that wait or are rejected, and reported changes, by age", `${number(kept)} rows; ${number(sum(byAge.filter(({ age }) => age === "older")))} of them older than a week.`, () => ({
          data: { values: byAge },
          mark: { type: "bar", tooltip: true },
          encoding: {
            y: { field: "age", type: "ordinal", sort: AGES, title: null, scale: { domain: AGES } },
            x: { field: "rows", type: "quantitative", title: "rows", axis: { tickCount: 4, format: "~s" } },
            color: { field: "status", type: "nominal", scale: { domain: ["waiting", "rejected", "reported"], range: [colours().range[3], colours().range[4], colours().quiet] } },
          },
        })),
      );
  }

  function plotsOf(table) {
    const x = { field: "started_at", type: "ordinal", title: null, axis: { labelAngle: 0, labelOverlap: true, labelSeparation: 12, labelExpr: "slice(datum.value, 5)" } };
    const values = table.runs.filter(isDrawn).flatMap((run) => rowsOf(run).map((row) => ({ ...row, started_at: moment(run.started_at) })));
    const last = table.runs.at(-1);
    const made = [
      plot(
        "Rows by status over the runs",
        `${table.runs.length} runs${table.runs.every(isDrawn) ? "" : ", the first of which is left out"}; the last one had ${number(last.rows)} rows and rejected ${number(last.rejected)} (${shareOf(last.rejected, last.rows)}).`,
        stacked(values, x),
      ),
    ];
    const lags = table.runs.filter((run) => run.lag !== null).map((run) => ({ started_at: moment(run.started_at), hours: run.lag / 3600 }));
    if (lags.length)
      made.push(
        plot("Lag over the runs", `The last one is ${duration(table.lag)}, the longest ${duration(3600 * Math.max(...lags.map(({ hours }) => hours)))}.`, () => ({
          data: { values: lags },
          mark: { type: "line", point: { color: colours().one }, tooltip: true, color: colours().one },
          encoding: { x, y: { field: "hours", type: "quantitative", title: "hours", axis: { tickCount: 4 } } },
        })),
      );
    return element("div", { className: "pair" }, ...made);
  }

  // details

  function detailsOf(table) {
    const parts = [];
    const todo = facts.to_do.filter(({ logs }) => logs.includes(table.log));
    if (todo.length) {
      parts.push(element("h3", {}, "What to do"));
      const remedy = (each) => element("div", {}, prose(each.remedy), ...each.paste.map((text) => element("pre", { className: "paste", tabIndex: 0 }, text)));
      parts.push(tableOf(`What to do about ${table.log}`, [["State"], ["What is wrong"], ["What to do"]], todo.map((each) => [badge(each.state), each.what, remedy(each)])));
    }
    parts.push(element("h3", {}, "Runs"), plotsOf(table));
    if (table.kept.length) {
      parts.push(element("h3", {}, "Rows that could not be used or wait, and changes that need a look"));
      parts.push(
        tableOf(
          `Kept rows of ${table.log} by code and age`,
          [["Status"], ["Code"], ["Rows", true], ["Acknowledged", true], ...AGES.map((age) => [age, true]), ["What it means, and what to do"]],
          table.kept.map((kept) => [
            kept.status,
            kept.code,
            number(kept.rows),
            number(kept.acknowledged),
            ...AGES.map((age) => (kept.by_age[age] ? number(kept.by_age[age]) : "–")),
            prose([kept.meaning, kept.remedy].filter(Boolean).join(" ")),
          ]),
        ),
      );
      const samples = table.kept.flatMap((kept) => kept.samples.map((sample) => ({ ...sample, status: kept.status })));
      if (samples.length) {
        parts.push(element("h3", {}, "Some of these rows"));
        parts.push(
          tableOf(
            `Sample rows of ${table.log}`,
            [["Status"], ["Reason"], ["Equal rows", true], ["Raw row"]],
            samples.map((sample) => [sample.status, sample.detail, number(sample.rows), element("pre", {}, sample.raw_row || "–")]),
          ),
        );
      }
    }
    const codes = [...Object.entries(table.runs.at(-1).codes), ...Object.entries(table.runs.at(-1).reports).map(([code, rows]) => [`reported: ${code}`, rows])];
    if (codes.length) {
      parts.push(element("h3", {}, "Codes of the last run"));
      parts.push(tableOf(`Codes of the last run of ${table.log}`, [["Code"], ["Rows", true], ["What to do"]], codes.map(([code, rows]) => [code, number(rows), prose(facts.remedies[code])])));
    }
    parts.push(element("h3", {}, "Each run, the newest first"));
    parts.push(
      tableOf(
        `Runs of ${table.log}`,
        [["Began"], ["Kind"], ...["Read", "Rows", "Accepted", "Merged", "Ignored", "Waiting", "Rejected", "New changes", "Revised", "Reported", "Lag", "Took"].map((name) => [name, true])],
        table.runs.toReversed().map((run) => [
          moment(run.started_at),
          run.kind,
          ...[run.raw_rows, run.rows, run.accepted, run.merged, run.ignored, run.waiting, run.rejected, run.new_changes, run.revised_changes].map(number),
          number(Object.values(run.reports).reduce((all, changes) => all + changes, 0)),
          duration(run.lag),
          run.seconds === null ? "no end" : duration(run.seconds),
        ]),
      ),
    );
    if (table.size) parts.push(element("p", { className: "quiet" }, `The table of the log has ${number(table.size.files)} files and ${number(table.size.size_bytes)} bytes.`));
    return parts;
  }

  function toggle(body, isOpen) {
    const button = body.querySelector(".open");
    const known = body.querySelector(".detail");
    button.setAttribute("aria-expanded", String(isOpen));
    if (known) known.hidden = !isOpen;
    else if (isOpen) {
      const cell = element("td", { colSpan: overview.tHead.rows[0].cells.length });
      body.append(element("tr", { className: "detail" }, cell));
      cell.append(element("div", {}, ...detailsOf(tables.get(body.dataset.log))));
    }
  }

  overview.addEventListener("click", ({ target }) => {
    const button = target.closest(".open");
    if (button) toggle(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
  });

  document.getElementById("next")?.addEventListener("click", (event) => {
    const link = event.target.closest("[data-log]");
    if (!link) return;
    event.preventDefault();
    const body = bodies.find(({ dataset }) => dataset.log === link.dataset.log);
    if (body.hidden) {
      filters.reset();
      filter();
    }
    toggle(body, true);
    body.querySelector(".open").focus();
    body.scrollIntoView();
  });

  document.getElementById("further")?.addEventListener("click", ({ target }) => {
    const all = document.getElementById("next").classList.toggle("all");
    target.setAttribute("aria-expanded", String(all));
    target.textContent = all ? "Show the first 10" : `Show all ${facts.to_do.length}`;
  });

  // search and filters

  const filters = document.getElementById("filters");
  const search = document.getElementById("search");
  const source = document.getElementById("source");
  const texts = new Map(
    facts.tables.map((table) => [
      table.log,
      [table.log, table.source_name, table.table_name, ...table.kept.map(({ code }) => code), ...table.runs.flatMap(({ codes }) => Object.keys(codes)), ...facts.to_do.filter(({ logs }) => logs.includes(table.log)).map(({ what }) => what)].join("\n").toLowerCase(),
    ]),
  );

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const states = new Set([...filters.querySelectorAll("[name=state]:checked")].map(({ value }) => value));
    let shown = 0;
    for (const body of bodies) {
      const { log, state, source: of } = body.dataset;
      body.hidden = !(states.has(state) && (!source.value || source.value === of) && words.every((word) => texts.get(log).includes(word)));
      shown += body.hidden ? 0 : 1;
    }
    document.getElementById("count").textContent = `${shown} of ${bodies.length} tables`;
    document.getElementById("none").hidden = shown > 0;
  }

  for (const event of ["input", "change"]) filters.addEventListener(event, filter);
  filters.addEventListener("submit", (event) => event.preventDefault());

  // sorting

  function sort(header) {
    const place = header.cellIndex;
    const { sortsAs } = header.dataset;
    const isNumber = ["number", "urgency"].includes(sortsAs);
    const sorted = header.getAttribute("aria-sort");
    const ascending = sorted ? sorted === "descending" : ["text", "urgency"].includes(sortsAs); // of numbers and times the greatest come first
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const valueOf = (body) => body.rows[0].cells[place].dataset.value;
    // what is not known is at the end in both directions
    bodies.sort((one, other) => {
      const [left, right] = [valueOf(one), valueOf(other)];
      if (left === "" || right === "") return (left === "") - (right === "");
      const difference = isNumber ? left - right : left.localeCompare(right, "en");
      return ascending ? difference : -difference;
    });
    overview.append(...bodies);
  }

  overview.tHead.addEventListener("click", ({ target }) => {
    const header = target.closest("th");
    if (target.closest("button")) sort(header);
  });

  plotsOfAll();
})();
