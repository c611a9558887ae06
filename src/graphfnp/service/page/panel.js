// The page of a panel: a table of molecules and models, and the whole answer of every model for one molecule.

import { get, pieces, post } from "./api.js";
import { $, el, hue, percent } from "./dom.js";
import { KNOWN } from "./known.js";
import { answer, failed, noPrediction, shown } from "./result.js";
import { beside, fromText } from "./rows.js";
import { say, takeKey, trouble } from "./status.js";
import { domain, ruledOut } from "./words.js";

let models, limits, asking = 0, opening = 0;

const features = () => [...new Set(Object.values(models).flatMap((card) => card.features))];

// Reads the cards; did the service give them?
async function start() {
  let found;
  try {
    found = await get("/model");
  } catch (error) {
    trouble(error);
    return false;
  }
  $("key").hidden = true;
  say("");
  models = found.models;
  limits = found.service;
  document.title = `${found.name} · GraphFNP`;
  $("model-name").textContent = `· ${found.name}`;
  if (features().length) $("rows").placeholder = `CCO ${features().map((name) => `${name}=1`).join(" ")} a name if you like`;
  $("examples").hidden = features().length > 0; // they have none
  $("examples").replaceChildren(el("span", {}, "Try"), ...KNOWN.map(([name, row]) =>
    el("button", { type: "button", onclick: () => { $("rows").value = `${row} ${name}`; submit(); } }, name)));
  $("model-list").replaceChildren(...Object.entries(models).map(([name, card]) =>
    el("li", {}, el("a", { href: `${card.base}/` }, name), `: ${card.asks ?? card.classes.join(" or ")}. ${card.limits[0]}`)));
  return true;
}

async function submit() {
  if (!models && !(await start())) return; // it was away, or asks for its key
  const mine = ++asking, rows = [];
  opening++;
  let asked;
  try {
    asked = fromText($("rows").value, true, features());
    $("result").hidden = true;
    say(`Asking ${Object.keys(models).length} models`);
    for (const part of pieces(asked, limits)) {
      const { records } = await (await post("/predict", { smiles: part.map((one) => one.row), ...beside(part, features()) })).json();
      if (mine !== asking) return;
      records.forEach((record, k) => rows.push({ asked: part[k], models: record.models }));
      say(`${rows.length} of ${asked.length} rows`);
    }
    say("");
    show(rows);
    if (rows.length === 1) await open(rows[0].asked);
  } catch (error) {
    if (mine !== asking) return;
    if (rows.length && rows.length < asked.length) {
      show(rows); // what was answered is not lost
      error.message += ` The table has the first ${rows.length} of ${asked.length} rows.`;
    }
    trouble(error);
  }
}

function show(rows) {
  const names = Object.keys(models);
  const head = el("tr", {}, el("th", { scope: "col" }, "Molecule"), names.map((name) => el("th", { scope: "col" }, name)));
  const body = rows.map(({ asked, models: said }) => el("tr", { onclick: () => open(asked).catch(trouble) },
    el("td", { class: "input" }, el("button", { type: "button", class: "row-name", title: shown(asked) },
      asked.name ? el("strong", {}, asked.name) : null, el("code", {}, shown(asked) || "(empty)"))),
    names.map((name) => el("td", {}, cell(said[name], models[name])))));
  $("table").replaceChildren(el("table", { class: "endpoints" }, el("thead", {}, head), el("tbody", {}, body)));
  $("many").hidden = false;
  $("many-title").focus({ preventScroll: true });
  $("many").scrollIntoView({ behavior: "smooth", block: "start" });
}

function cell(record, card) {
  if (record.status !== "ok") return noPrediction(record);
  const place = domain(record);
  const set = ruledOut(record, card.classes);
  const unlike = place?.tone === "bad";
  const share = percent(record.probability);
  return el("span", { title: [place?.long, set?.long].filter(Boolean).join(" ") },
    el("span", { class: "chip" }, el("i", { class: "spot", "--hue": hue(card.classes, record.class) }), record.class),
    ` ${unlike ? `(${share})` : share} `,
    el("span", { class: `short ${place?.tone ?? ""}` }, place?.short ?? ""));
}

async function open(asked) {
  const mine = ++opening; // what is opened last is shown, whichever answer comes last
  $("result").setAttribute("aria-busy", "true");
  $("result").hidden = false;
  try {
    const { records: [record] } = await (await post("/explain", { smiles: [asked.row], ...beside([asked], features()) })).json();
    if (mine !== opening) return;
    $("result").replaceChildren(...Object.entries(models).map(([name, card]) => {
      const said = record.models[name];
      return el("div", { class: "endpoint", id: `endpoint-${name}` }, el("h2", {}, name),
        said.status === "ok" ? answer(asked, said, card) : failed(asked, said));
    }));
    $("result").querySelector(".answer h2").focus({ preventScroll: true });
    $("result").scrollIntoView({ behavior: "smooth", block: "start" });
  } catch (error) {
    if (mine !== opening) return;
    $("result").hidden = true;
    throw error;
  } finally {
    if (mine === opening) $("result").removeAttribute("aria-busy");
  }
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
$("rows").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
});
takeKey(start);

start();
