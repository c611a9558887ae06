// Many rows: a table that sorts, opens a row, and can be saved.

import { el, hue, percent, save } from "./dom.js";
import { csvLine } from "./rows.js";
import { noPrediction, shown } from "./result.js";
import { domain, ruledOut } from "./words.js";

const PAGE = 200; // rows shown at first

const COLUMNS = [
  { name: "Row", value: (one) => one.number, number: true },
  { name: "Input", value: (one) => one.asked.name || shown(one.asked) },
  { name: "Class", value: (one) => one.record.class ?? "" },
  { name: "Probability", value: (one) => one.record.probability, number: true },
  { name: "Not ruled out", value: (one) => one.record.conformal_set?.length ?? null, number: true },
  { name: "Domain", value: (one) => one.record.domain_score, number: true },
  { name: "Model uncertainty", value: (one) => one.record.model_uncertainty, number: true },
];

export class RowTable {
  constructor(place, card, open) {
    Object.assign(this, { place, card, open, rows: [], by: 0, down: false, most: PAGE, chosen: null });
  }

  show(rows, inOrder = false) {
    Object.assign(this, { rows, by: inOrder ? -1 : 0, down: false, most: PAGE, chosen: null });
    this.draw();
  }

  sorted() {
    if (this.by < 0) return this.rows; // as given
    const { value, number } = COLUMNS[this.by];
    const sign = this.down ? -1 : 1;
    const known = (one) => value(one) !== null && value(one) !== undefined && value(one) !== "";
    return [...this.rows].sort((a, b) => {
      if (known(a) !== known(b)) return known(a) ? -1 : 1; // what failed stays at the end
      const order = number ? value(a) - value(b) : String(value(a)).localeCompare(String(value(b)));
      return sign * order || a.number - b.number;
    });
  }

  sortBy(column) {
    this.down = this.by === column ? !this.down : COLUMNS[column].number && column > 0;
    this.by = column;
    this.draw();
    this.place.querySelectorAll("th button")[column].focus();
  }

  draw() {
    const head = COLUMNS.map((column, k) =>
      el("th", { scope: "col", "aria-sort": k !== this.by ? "none" : this.down ? "descending" : "ascending" },
        el("button", { type: "button", onclick: () => this.sortBy(k) }, column.name,
          el("span", { class: "arrow", "aria-hidden": "true" }, k !== this.by ? "" : this.down ? "↓" : "↑"))));
    const order = this.sorted();
    const body = el("tbody", { onkeydown: (event) => this.move(event) }, order.slice(0, this.most).map((one) => this.line(one)));
    const more = order.length > this.most
      ? el("button", { type: "button", class: "more", onclick: () => { this.most += 10 * PAGE; this.draw(); } }, `Show more of the ${order.length} rows`)
      : null;
    this.place.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, head)), body), ...(more ? [more] : []));
  }

  line(one) {
    const { asked, record } = one;
    const name = el("button", { type: "button", class: "row-name", title: shown(asked) },
      asked.name ? el("strong", {}, asked.name) : null, el("code", {}, shown(asked) || "(empty)"));
    const cells = record.status === "ok" ? this.numbers(record)
      : [el("td", { colspan: 5 }, noPrediction(record))];
    const line = el("tr", { onclick: () => this.choose(one, line) }, el("td", { class: "num" }, String(one.number)), el("td", { class: "input" }, name), ...cells);
    this.mark(line, one === this.chosen);
    return line;
  }

  numbers(record) {
    const classes = this.card.classes;
    const colour = hue(classes, record.class);
    const set = ruledOut(record, classes);
    const place = domain(record);
    return [
      el("td", {}, el("span", { class: "chip" }, el("i", { class: "spot", "--hue": colour }), record.class)),
      el("td", { class: "num" },
        el("div", { class: "bar", "aria-hidden": "true" },
          el("b", { "--size": `${100 * record.probability}%`, "--hue": colour }),
          el("u", { "--from": `${100 * record.low}%`, "--size": `${100 * (record.high - record.low)}%` })),
        percent(record.probability)),
      el("td", {}, set ? el("span", { class: `short ${set.tone}` }, set.short) : "–"),
      el("td", {}, place ? el("span", { class: `short ${place.tone}` }, place.tone === "bad" ? "Unlike" : place.short) : "–"),
      el("td", { class: "num" }, record.model_uncertainty.toFixed(3)),
    ];
  }

  choose(one, line) {
    this.chosen = one;
    for (const other of this.place.querySelectorAll("tr.chosen")) this.mark(other, false);
    this.mark(line, true);
    this.open(one);
  }

  mark(line, isChosen) {
    line.classList.toggle("chosen", isChosen);
    line.setAttribute("aria-current", String(isChosen));
  }

  // Arrow keys walk from row to row.
  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const names = [...this.place.querySelectorAll(".row-name")];
    const next = names[names.indexOf(document.activeElement) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  }

  saveCsv() {
    const fields = Object.keys(this.rows[0].record).filter((name) => name !== "calibration" && name !== "explanation");
    const lines = this.rows.map(({ asked, record }) => csvLine([asked.name, ...fields.map((name) => record[name])]));
    save("graphfnp.csv", "text/csv", [csvLine(["name", ...fields]), ...lines, ""].join("\r\n"));
  }

  saveJson() {
    const rows = this.rows.map(({ asked, record }) => ({ name: asked.name, ...record }));
    save("graphfnp.json", "application/json", JSON.stringify(rows, null, 1));
  }
}
