// What a user pastes or drops, as rows: { row, name, features } with row a SMILES or a graph.

const SMILES_NAMES = ["smiles", "canonicalsmiles", "isomericsmiles", "smi", "mol", "molecule", "structure", "compound", "drug"];
const NAME_NAMES = ["name", "title", "compoundname", "moleculename", "drugname", "commonname", "id", "compoundid", "moleculeid", "chemblid", "cid", "cas", "casnumber", "identifier", "code"];

export class Unreadable extends Error {}

const MOST_LINES = 1000; // of a cell; a quote that closes later was left open

const plain = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");

// `names` are those of features, which stand as dose=2.5 behind a SMILES.
export function fromText(text, isSmiles, names) {
  return isSmiles ? smilesLines(text, names) : graphs(text);
}

function smilesLines(text, names) {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim());
  while (lines.length && !lines[lines.length - 1]) lines.pop();
  while (lines.length && !lines[0]) lines.shift();
  if (/^smiles(\s|$)/i.test(lines[0] ?? "")) lines.shift(); // a header is no row, here as for graphfnp predict
  if (!lines.length) throw new Unreadable("Write at least one SMILES, for example CCO.");
  return lines.map((line) => {
    const [smiles, ...words] = line.split(/\s+/);
    const pairs = words.map((word) => word.split("="));
    const name = words.filter((_, k) => pairs[k].length !== 2 || !names.includes(pairs[k][0])).join(" ");
    return { row: smiles, name, features: numbers(pairs.filter((pair) => pair.length === 2)) };
  });
}

// The numbers among pairs of a name and a text.
const numbers = (pairs) => Object.fromEntries(pairs.filter(([, text]) => text?.trim() && Number.isFinite(Number(text))).map(([name, text]) => [name, Number(text)]));

// What a request says of the features that models read beside the structure.
export function beside(asked, names) {
  if (!names.length) return {};
  return { features: asked.map(({ features = {} }) => Object.fromEntries(names.filter((name) => name in features).map((name) => [name, features[name]]))) };
}

function graphs(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Unreadable("This model takes graphs as JSON; the examples show how they are written.");
  }
  const list = Array.isArray(found) ? found : (found?.graphs ?? [found]);
  const odd = Array.isArray(list) ? list.findIndex((row) => row === null || typeof row !== "object" || Array.isArray(row)) : 0;
  if (odd >= 0) throw new Unreadable(`Graph ${odd} is not written as { "num_nodes": ..., "edges": [[...], ...] }; the examples show how.`);
  if (!list.length) throw new Unreadable("Give at least one graph.");
  return list.map((row, k) => ({ row, name: `graph ${k}` }));
}

export function fromFile(name, content, isSmiles, names) {
  if (!isSmiles) return graphs(content);
  if (/\0|^M {2}END\s*$/m.test(content)) throw new Unreadable(`${name} is neither a CSV nor a list of SMILES: save it as one of them.`);
  const text = content.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n").replace(/^(?:[^\S\n]*\n)+/, "");
  const declared = /^"?sep=(.)"?[^\S\n]*\n/i.exec(text); // as spreadsheet programs write it
  const mark = declared?.[1] ?? (/\.(tsv|tab)$/i.test(name) ? "\t" : separator(text));
  const [header = [], ...body] = cells(text.slice(declared?.[0].length ?? 0), mark);
  const column = find(header, SMILES_NAMES);
  const isTable = /\.(csv|tsv|tab)$/i.test(name) || (/\.txt$/i.test(name) && header.length > 1 && column >= 0);
  if (!isTable) return smilesLines(text, names);
  if (!body.length) throw new Unreadable(`${name} has no rows below its header.`);
  if (column < 0) {
    throw new Unreadable(`${name} has the columns ${header.join(", ")}; call the one with the molecules “smiles”.`);
  }
  const called = find(header, NAME_NAMES);
  return body.map((line) => ({
    row: (line[column] ?? "").trim(),
    name: called < 0 ? "" : (line[called] ?? ""),
    features: numbers(header.map((title, place) => [title.trim(), line[place]])),
  }));
}

function find(header, names) {
  const known = header.map(plain);
  const found = names.map((name) => known.indexOf(name)).filter((place) => place >= 0);
  return found.length ? found[0] : -1;
}

function separator(text) {
  const first = text.split("\n", 1)[0].replace(/"[^"]*"/g, ""); // a quoted name may hold any
  const counts = [",", ";", "\t"].map((mark) => first.split(mark).length);
  return [",", ";", "\t"][counts.indexOf(Math.max(...counts))];
}

// CSV as RFC 4180 has it: quotes, doubled quotes, separators and line ends inside them; a stray quote ends with its line.
function cells(text, mark) {
  const table = [];
  let line = [], cell = "", quoted = false, stray = false;
  const endCell = () => { line.push(cell); cell = ""; };
  const endLine = () => { endCell(); table.push(line); line = []; };
  for (let k = 0; k < text.length; k++) {
    const sign = text[k];
    if (quoted && stray && sign === "\n") {
      quoted = false;
      endLine();
    } else if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[k + 1] === '"') { cell += '"'; k++; }
      else quoted = false;
    } else if (sign === '"' && cell === "") {
      quoted = true;
      stray = !isClosed(text, k, mark);
    } else if (sign === mark) endCell();
    else if (sign === "\n") endLine();
    else cell += sign;
  }
  if (cell !== "" || line.length) endLine();
  const blank = (one) => one.length === 1 && one[0].trim() === "";
  while (table.length && blank(table[table.length - 1])) table.pop();
  while (table.length && blank(table[0])) table.shift();
  return table; // a blank line between others keeps its place, as it does for graphfnp predict
}

// Is the quote at this place closed soon, by one that the mark or the end of the line follows?
function isClosed(text, place, mark) {
  let end = text.indexOf('"', place + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end >= 0 && [mark, "\n", undefined].includes(text[end + 1]) && text.slice(place, end).split("\n").length <= MOST_LINES;
}

// What a spreadsheet would take for a formula, unless it is a number: as graphfnp predict has it.
const FORMULA = /^(?![+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$)[=+\-@\t\r\n]/i;

// One line of a CSV; such texts stand behind an apostrophe.
export function csvLine(values) {
  return values.map((value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = typeof value === "string" && FORMULA.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",");
}
