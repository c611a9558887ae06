// The interface, drawn from the OpenAPI document: fields, examples, and a way to try each route.

import { get, OWN, Refused, send, useKey } from "./api.js";
import { $, el } from "./dom.js";

const JSON_TYPE = "application/json";
const anchor = (text) => text.replaceAll(/\W+/g, "-");
const pretty = (value) => {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value);
  return line.length < 100 ? line : JSON.stringify(value, null, 1);
};

// What a field may be, in words; types of the document are links.
function typeOf(schema) {
  if (schema === undefined) return ["anything"];
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return [el("a", { href: `#type-${anchor(name)}` }, name)];
  }
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(" or ")];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.flatMap((one, k) => (k ? [" or ", ...typeOf(one)] : typeOf(one)));
  if (schema.prefixItems) return ["[", ...schema.prefixItems.flatMap((one, k) => (k ? [", ", ...typeOf(one)] : typeOf(one))), "]"];
  if (schema.type === "array") return ["list of ", ...typeOf(schema.items)];
  if (schema.type === "object" && schema.additionalProperties) return ["object of ", ...typeOf(schema.additionalProperties)];
  return [schema.type ?? "anything"];
}

function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    el("tr", {}, el("td", {}, el("code", {}, name)), el("td", {}, ...typeOf(field)),
      el("td", { class: "soft" }, [field.description ?? "", field.default !== undefined && field.default !== null ? ` Default: ${JSON.stringify(field.default)}.` : ""].join(""))));
  if (!rows.length) return null;
  const head = el("tr", {}, ...["field", "type", "meaning"].map((name) => el("th", { scope: "col" }, name)));
  return el("table", { class: "fields" }, el("thead", {}, head), el("tbody", {}, rows));
}

function exampleOf(content) {
  if (!content) return undefined;
  if (content.example !== undefined) return content.example;
  return Object.values(content.examples ?? {})[0]?.value;
}

const curl = (method, path, body, isGuarded) =>
  `curl ${location.origin}${OWN}${path}` + (isGuarded ? ' -H "X-API-Key: $GRAPHFNP_API_KEY"' : "") + (method === "POST" ? ` -H 'content-type: ${JSON_TYPE}' -d '${body.replaceAll("'", "'\\''")}'` : "");

function tried(method, path, example, isGuarded) {
  const body = method === "POST" ? el("textarea", { "aria-label": `Body of ${path}`, spellcheck: "false" }) : null;
  if (body) body.value = pretty(example);
  const target = path.replace("{number}", "1");
  const answer = el("div", { "aria-live": "polite" });
  const command = el("pre", {}, curl(method, target, body ? JSON.stringify(example) : "", isGuarded));
  body?.addEventListener("input", () => command.replaceChildren(curl(method, target, body.value, isGuarded)));
  const go = el("button", { type: "button", class: "primary", onclick: async () => {
    answer.replaceChildren("…");
    try {
      answer.replaceChildren(await shown(await send(target, method, body?.value)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      answer.replaceChildren(el("pre", {}, `${error.status}: ${error.message}`));
    }
  } }, "Send");
  return [body ? el("h3", {}, "Try it") : null, body, el("div", { class: "actions" }, go), answer, el("details", {}, el("summary", {}, "With curl"), command)];
}

async function shown(answer) {
  const text = await answer.text();
  const kind = answer.headers.get("content-type") ?? "";
  if (kind.startsWith("image/svg")) {
    const picture = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    return el("div", { class: "answer-picture" }, document.importNode(picture, true));
  }
  return el("pre", {}, kind.startsWith(JSON_TYPE) ? pretty(JSON.parse(text)) : text);
}

function route(path, method, operation) {
  const request = operation.requestBody?.content[JSON_TYPE];
  const answers = Object.entries(operation.responses);
  const good = operation.responses["200"];
  const [kind, content] = Object.entries(good?.content ?? {})[0] ?? [];
  const refused = answers.filter(([status]) => status !== "200");
  return el("section", { class: "route panel", id: anchor(`${method} ${path}`) },
    el("h2", {}, el("span", { class: "method" }, method), path),
    el("p", {}, operation.description ?? ""),
    el("p", { class: "soft" }, ...(request ? ["Takes ", ...typeOf(request.schema), ". "] : []),
      ...(kind ? ["Gives ", ...(content.schema.$ref ? typeOf(content.schema) : [kind === JSON_TYPE ? "JSON" : kind]), "."] : [])),
    ...tried(method, path, exampleOf(request), operation.security !== undefined),
    kind === JSON_TYPE && exampleOf(content) !== undefined
      ? el("details", {}, el("summary", {}, "An answer"), el("pre", {}, pretty(exampleOf(content)))) : null,
    el("details", {}, el("summary", {}, "Refusals"),
      el("ul", { class: "refusals" }, refused.map(([status, one]) => el("li", {}, `${status}: ${one.description}`)))));
}

function draw(document_) {
  $("model-name").textContent = `${document_.info.title.replace("GraphFNP: ", "")}, model ${document_.info.version}`;
  const found = Object.entries(document_.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [path, method.toUpperCase(), operation]));
  $("contents").replaceChildren(...found.map(([path, method]) => el("a", { href: `#${anchor(`${method} ${path}`)}` }, `${method} ${path}`)));
  $("routes").replaceChildren(...found.map(([path, method, operation]) => route(path, method, operation)));
  const types = Object.entries(document_.components.schemas).filter(([name]) => !/ValidationError$/.test(name));
  $("type-list").replaceChildren(...types.map(([name, schema]) =>
    el("details", { class: "type panel", id: `type-${anchor(name)}` }, el("summary", {}, name), el("p", { class: "soft" }, schema.description ?? ""), fields(schema))));
  $("types").hidden = false;
  open();
}

// A link to a type opens it.
function open() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
  target?.scrollIntoView?.();
}

async function start() {
  try {
    draw(await get("/openapi.json"));
    $("status").textContent = "";
    $("key").hidden = true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    $("status").textContent = error.message;
    $("key").hidden = error.status !== 401;
  }
}

$("key").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey($("key-value").value);
  start();
});
window.addEventListener("hashchange", open);
start();
