// Talking to the service: answers, refusals with their reason, drawings, and the key where one is asked for.

const KEY = "graphfnp-key";
const AT_ONCE = 200; // rows of one request
const REST = 1000; // bytes of a request beside its rows
export const OWN = location.pathname.match(/^\/models\/[^/]+/)?.[0] ?? ""; // where the page is that of one model of a panel

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

// A header takes ASCII alone, and no key of the service has more: another is refused as wrong.
export const useKey = (key) => sessionStorage.setItem(KEY, key.trim().replace(/[^ -~]/g, "?"));

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  const key = sessionStorage.getItem(KEY);
  if (key) headers["X-API-Key"] = key;
  let answer;
  try {
    answer = await fetch(OWN + path, { ...options, headers });
  } catch {
    throw new Refused(0, "The service does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  let detail = `The service answered with ${answer.status}.`;
  try {
    detail = (await answer.json()).detail ?? detail;
  } catch {
    // not JSON: the number has to do
  }
  throw new Refused(answer.status, detail);
}

export const get = async (path) => (await ask(path)).json();

export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export const send = (path, method, body) => {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  return ask(path, { method, headers, body });
};

export async function records(path, rows, isSmiles, mix, more = {}) {
  const answer = await post(path, { ...(isSmiles ? { smiles: rows } : { graphs: rows }), mix, ...more });
  return answer.json();
}

// Rows of one request each: few enough that progress can be seen, and no more than the service takes.
export function* pieces(asked, limits) {
  const most = Math.min(AT_ONCE, limits.most_rows), room = limits.most_bytes - REST;
  let piece = [], size = 0;
  for (const one of asked) {
    const bytes = new TextEncoder().encode(JSON.stringify([one.row, one.features])).length;
    if (piece.length && (piece.length === most || size + bytes > room)) {
      yield piece;
      [piece, size] = [[], 0];
    }
    piece.push(one);
    size += bytes;
  }
  yield piece;
}

const drawn = new Map();

async function drawing(key, fetched) {
  if (!drawn.has(key)) drawn.set(key, fetched().then((answer) => answer.text()));
  let text;
  try {
    text = await drawn.get(key);
  } catch (error) {
    drawn.delete(key);
    throw error;
  }
  const picture = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (picture.nodeName !== "svg") throw new Refused(0, "nothing to draw");
  return document.importNode(picture, true);
}

// A place for a drawing, filled when it comes.
function placed(node, key, fetched) {
  node.classList.add("drawing");
  drawing(key, fetched).then(
    (picture) => node.replaceChildren(picture),
    (error) => node.replaceChildren(error.message),
  );
  return node;
}

export function drawRow(node, row, nodes = [], edges = [], base = "") {
  const body = { ...(typeof row === "string" ? { smiles: row } : { graph: row }), nodes, edges };
  return placed(node, base + JSON.stringify(body), () => post(`${base}/draw`, body));
}

export const drawRationale = (node, number, base = "") =>
  placed(node, `${base} rationale ${number}`, () => ask(`${base}/rationales/${number}/drawing`));
