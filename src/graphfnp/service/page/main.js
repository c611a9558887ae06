// The page: reads what is asked, asks the service, and shows what comes back.

import { get, pieces, records } from "./api.js";
import { modelCard } from "./card.js";
import { $, el, percent } from "./dom.js";
import { gallery } from "./gallery.js";
import { KNOWN } from "./known.js";
import { answer, failed } from "./result.js";
import { beside, fromFile, fromText, Unreadable } from "./rows.js";
import { openSketcher } from "./sketcher.js";
import { say, takeKey, trouble } from "./status.js";
import { RowTable } from "./table.js";

const ESTIMATE = "estimate"; // of all rows together: they are one request

const MOST_TOGETHER = 512; // rows of a request that picks among them

let card, table, opened, everything, asking = 0, opening = 0;

const smiles = () => card.input === "SMILES";

// Reads the model's card; did the service give it?
async function start() {
  let found;
  try {
    card = await get("/model");
    found = (await get("/rationales")).rationales;
  } catch (error) {
    trouble(error);
    return false;
  }
  $("key").hidden = true;
  say("");
  document.title = `${card.name} · GraphFNP`;
  $("model-name").textContent = `· ${card.name}`;
  if (card.asks) {
    $("title").textContent = question(card);
    $("promise").textContent = "A probability with its uncertainty, a domain verdict, and the rationales behind it.";
  }
  if (!card.explains) $("promise").textContent = "A probability with its uncertainty, and a domain verdict.";
  if (!smiles()) {
    $("ask-title").textContent = "Graphs, as JSON";
    $("rows").placeholder = '{"num_nodes": 3, "edges": [[0, 1], [1, 2]]}';
    $("hint").firstChild.textContent = "or drop a JSON file anywhere on this page. ";
  }
  if (card.features.length) $("rows").placeholder = `CCO ${card.features.map((name) => `${name}=1`).join(" ")} a name if you like`;
  const examples = smiles() ? KNOWN : card.examples.map((graph, k) => [`example ${k + 1}`, JSON.stringify(graph)]);
  $("examples").hidden = card.features.length > 0 || !examples.length; // examples have no features
  $("examples").replaceChildren(el("span", {}, "Try"), ...examples.map(([name, row]) =>
    el("button", { type: "button", onclick: () => { $("rows").value = smiles() ? `${row} ${name}` : row; submit(); } }, name)));
  $("sketch").hidden = !smiles();
  $("mix").hidden = !card.calibration.label_mix;
  $("mix-own").placeholder = `${card.classes.at(-1)}=0.2`;
  chooseMix();
  $("pick-find").replaceChildren($("pick-find").options[0], ...card.classes.map((name) => el("option", { value: name }, `may be ${name}`)));
  table = new RowTable($("table"), card, (one) => openRow(one, opened).catch(trouble));
  $("facts-lead").textContent = card.asks ? `${card.classes.join(" or ")}: the model predicts only these.` : "";
  $("card").replaceChildren(...modelCard(card));
  $("gallery").hidden = !found.length;
  $("wavy").hidden = card.kind !== "molecule";
  $("gallery-groups").replaceChildren(...gallery(found, card.classes));
  if (location.hash) location.replace(location.hash); // a rationale that a link leads to was not there when the page came
  return true;
}

const named = (mix) => Object.entries(mix).map(([name, share]) => `${name} ${percent(share)}`).join(", ");

function chooseMix() {
  const choice = $("mix-choice").value, shares = card.calibration.label_mix ?? [];
  $("mix-own").hidden = choice !== "own";
  const usual = named(Object.fromEntries(card.classes.map((name, k) => [name, shares[k]])));
  $("mix-hint").textContent = { training: usual, own: `such as ${$("mix-own").placeholder}; training data: ${usual}` }[choice] ?? "";
  if (choice === "own") $("mix-own").focus();
}

function askedMix() {
  const choice = $("mix-choice").value;
  if (choice !== "own") return choice === "training" ? null : choice;
  const own = $("mix-own").value.trim();
  if (!own) throw new Unreadable(`Write your mix, such as ${$("mix-own").placeholder}.`);
  return own;
}

function question({ asks, kind, classes }) {
  const words = asks.replace(/^(do|are|is|does) (they|it) /, (_, verb) => `${verb === "do" ? "Does" : "Is"} this ${kind} `);
  const single = words.replace(/^Is this (\w+) mutagens/, "Is this $1 a mutagen");
  if (/^(Does|Is) /.test(single)) return `${single}?`;
  const either = classes.join(" or ");
  return `${either.charAt(0).toUpperCase()}${either.slice(1)}?`;
}

async function submit() {
  if (!card && !(await start())) return; // it was away, or asks for its key
  try {
    await run(fromText($("rows").value, smiles(), card.features));
  } catch (error) {
    trouble(error);
  }
}

async function run(asked) {
  const mine = ++asking, many = asked.length > 1, done = [];
  opening++;
  $("go").setAttribute("aria-disabled", "true");
  $("result").hidden = true;
  $("many").hidden = true;
  say(many ? `Asking about ${asked.length} rows` : "Asking");
  try {
    if (!many) {
      await openRow({ asked: asked[0], number: 0 }, askedMix());
      if (mine === asking) say("");
      return;
    }
    const mix = askedMix();
    $("progress").hidden = false;
    for (const part of mix === ESTIMATE ? [asked] : pieces(asked, card.service)) {
      const from = done.length;
      $("progress").value = from / asked.length;
      const found = await records("/predict", part.map((one) => one.row), smiles(), mix, beside(part, card.features));
      if (mine !== asking) return;
      opened = mix ? found.mix : null; // a row that is opened is for the mix of its table
      found.records.forEach((record, k) => done.push({ asked: part[k], record: { ...record, row: from + k }, number: from + k }));
      say(`${done.length} of ${asked.length} rows`);
    }
    showMany(done, opened);
  } catch (error) {
    if (mine !== asking) return;
    if (done.length) {
      showMany(done, opened); // what was answered is not lost
      error.message += ` The table has the first ${done.length} of ${asked.length} rows.`;
    }
    trouble(error);
  } finally {
    if (mine === asking) {
      $("progress").hidden = true;
      $("go").removeAttribute("aria-disabled");
    }
  }
}

async function pick() {
  const mine = ++asking, find = $("pick-find").value, pick = Number($("pick-count").value);
  say(`Picking ${pick} of ${everything.length} rows`);
  try {
    const asked = everything.map((one) => one.asked);
    const more = { pick, ...(find ? { find } : {}), ...beside(asked, card.features) };
    const found = await records("/predict", asked.map((one) => one.row), smiles(), opened, more);
    if (mine !== asking) return;
    const chosen = found.records.map((record) => ({ ...everything[record.row], record }));
    table.show(chosen, true);
    const wanted = find ? `may be ${find}` : "the model is least sure of";
    $("many-lead").textContent = `${chosen.length} of ${everything.length} rows, the most useful first: those that ${wanted}, and no two alike.`;
    $("many-title").textContent = "Test these next";
    $("pick-all").hidden = false;
    say("");
  } catch (error) {
    if (mine === asking) trouble(error);
  }
}

function showMany(done, mix) {
  const bad = done.filter((one) => one.record.status !== "ok").length;
  const most = Math.min(MOST_TOGETHER, card.service.most_rows), tooMany = done.length > most;
  everything = done;
  $("picking").hidden = tooMany || done.length === bad;
  $("pick-all").hidden = true;
  $("many-title").textContent = "All rows";
  $("pick-count").max = done.length - bad;
  $("pick-count").value = Math.min(10, done.length - bad);
  const foreign = done.filter((one) => one.record.domain_verdict === "unlike the training data").length;
  const parts = [`${done.length} rows`];
  if (bad) parts.push(`${bad} without a prediction`);
  if (foreign) parts.push(`${foreign} unlike the training data`);
  if (mix) parts.push(`for a mix of ${named(mix)}`);
  const elsewhere = tooMany ? ` Which to test next is told here for up to ${most} rows; graphfnp predict --pick takes any number.` : "";
  $("many-lead").textContent = `${parts.join("; ")}. Headings sort; a row opens with Enter or a click.${elsewhere}`;
  $("many").hidden = false;
  table.show(done);
  say(bad ? `${bad} of ${done.length} rows have no prediction` : "", bad ? "open" : "");
  $("many-title").focus({ preventScroll: true });
  $("many").scrollIntoView({ behavior: "smooth", block: "start" });
}

async function openRow(one, mix) {
  const mine = ++opening; // what is opened last is shown, whichever answer comes last
  $("result").hidden = false;
  $("result").setAttribute("aria-busy", "true");
  try {
    const path = card.explains ? "/explain" : "/predict";
    const found = await records(path, [one.asked.row], smiles(), mix, beside([one.asked], card.features));
    if (mine !== opening) return;
    const [record] = found.records;
    const shown = record.status === "ok" ? answer(one.asked, record, card, mix ? named(found.mix) : "") : failed(one.asked, record);
    $("result").replaceChildren(shown);
    shown.querySelector("h2").focus({ preventScroll: true });
    $("result").scrollIntoView({ behavior: "smooth", block: "start" });
  } catch (error) {
    if (mine !== opening) return;
    $("result").hidden = true;
    throw error;
  } finally {
    if (mine === opening) $("result").removeAttribute("aria-busy");
  }
}

async function take(file) {
  if (!file || (!card && !(await start()))) return;
  try {
    await run(fromFile(file.name, await file.text(), smiles(), card.features));
  } catch (error) {
    trouble(error);
  }
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
$("rows").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
});
$("sketch").addEventListener("click", async () => {
  const open = $("sketcher").hidden;
  $("sketcher").hidden = !open;
  $("sketch").setAttribute("aria-expanded", String(open));
  if (!open) return;
  const [first] = $("rows").value.trim().split(/\s+/);
  try {
    await openSketcher($("sketcher"), first, (drawn) => { $("rows").value = $("rows").value.replace(/^\s*.*/, () => drawn); }); // the other lines stay
  } catch (error) {
    trouble(error);
  }
});
$("file").addEventListener("change", () => { take($("file").files[0]); $("file").value = ""; });
$("save-csv").addEventListener("click", () => table.saveCsv());
$("save-json").addEventListener("click", () => table.saveJson());
$("mix-choice").addEventListener("change", chooseMix);
$("picking").addEventListener("submit", (event) => { event.preventDefault(); pick(); });
$("pick-all").addEventListener("click", () => showMany(everything, opened));
takeKey(start);

const holdsFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
addEventListener("dragover", (event) => { if (holdsFile(event)) { event.preventDefault(); $("drop").hidden = false; } });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").hidden = true; });
addEventListener("drop", (event) => {
  $("drop").hidden = true;
  if (holdsFile(event)) { event.preventDefault(); take(event.dataTransfer.files[0]); }
});

start();
