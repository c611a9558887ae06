// One answer: the input drawn, the probability with its doubt, what it leans on, and what it resembles.

import { drawRationale, drawRow } from "./api.js";
import { el, hue, number, percent } from "./dom.js";
import { doubtBar, probability, strangeness } from "./pictures.js";
import { domain, doubt, draws, headline, meaning, ruledOut } from "./words.js";

const MARKED = 0.6; // an edge is marked if its score is at least this share of the highest

export function failed(asked, record) {
  const isMisspelt = /parse error|valence|kekulize/i.test(record.reason); // others are molecules, though none for this model
  return el("article", { class: "panel answer failed" },
    el("div", { class: "said" },
      el("p", { class: "kicker" }, asked.name || "This row"),
      el("h2", { tabindex: "-1" }, "No prediction"),
      el("p", { class: "source" }, shown(asked)),
      el("p", {}, record.reason),
      isMisspelt ? el("p", { class: "hint" }, "Check brackets, ring numbers and valences, then ask again.") : null));
}

// In a table.
export const noPrediction = (record) => el("span", { class: "reason" }, el("span", { class: "short bad" }, "No prediction"), ` ${record.reason}`);

export function answer(asked, record, card, mix) {
  const classes = card.classes;
  const drawing = el("figure", { class: "main-drawing" });
  const marks = marked(record.explanation);
  drawRow(drawing.appendChild(el("div", {})), asked.row, [], marks, card.base);
  drawing.append(el("figcaption", {},
    marks.length ? `Marked: the ${card.kind === "molecule" ? "bonds" : "edges"} that matter most for this prediction.` : null,
    el("code", {}, shown(asked)),
    record.changes ? el("span", {}, " read as ", el("code", {}, record.standardised), ` (${record.changes})`) : null));
  const set = ruledOut(record, classes);
  const place = domain(record);
  return el("article", { class: "panel answer", "--hue": hue(classes, record.class) },
    el("div", { class: "top" },
      drawing,
      el("div", { class: "said" },
        el("p", { class: "kicker" }, asked.name || "The answer"),
        el("h2", { tabindex: "-1" }, `${headline(record)} ${record.class}`, el("span", { class: "big" }, percent(record.probability))),
        probability(record, classes),
        el("p", {}, meaning(record)),
        record.decision && el("p", {}, `Decision by the model's threshold: ${record.decision}.`),
        el("p", { class: "soft" }, draws(record)),
        mix ? el("p", { class: "soft" }, `For a mix of ${mix}.`) : null)),
    el("div", { class: "three" },
      set && fact("Classes not ruled out", set.short, set.tone, chips(record.conformal_set, classes), set.long),
      place && fact("Is the input like the training data?", place.short, place.tone, strangeness(record, card.domain.edge, card.domain.unlike), place.long),
      fact("Sources of uncertainty", doubtShort(record, classes), null, doubtBar(record, classes), doubt(record, classes))),
    why(asked, record, card),
    nearest(record, card));
}

function doubtShort(record, classes) {
  const share = record.total_uncertainty / Math.log(classes.length);
  return share < 0.1 ? "Hardly any" : share < 0.3 ? "Little" : share < 0.5 ? "Some" : share < 0.8 ? "Much" : "Very much";
}

function fact(question, short, tone, picture, long) {
  return el("div", { class: "fact" },
    el("h3", {}, question),
    el("p", { class: `short ${tone ?? ""}` }, short),
    picture,
    el("p", { class: "soft" }, long));
}

function chips(set, classes) {
  return el("p", { class: "chips" }, classes.map((name) =>
    el("span", { class: set.includes(name) ? "chip" : "chip out" },
      el("i", { class: "spot", "--hue": hue(classes, name) }), name, set.includes(name) ? null : el("span", { class: "hidden" }, " ruled out"))));
}

function why(asked, record, card) {
  const links = record.explanation?.leans_on ? [] : record.explanation?.rationales ?? [];
  if (!record.explanation) return null;
  if (!links.length) {
    return el("div", { class: "why" },
      el("h3", {}, "Linked rationales"),
      el("p", { class: "lead" }, record.explanation.leans_on
        ? `In ${percent(record.explanation.unreached)} of the draws no rationale is linked to this input, and the prediction falls back on the label mix.`
        : `In ${percent(record.explanation.unreached)} of the draws no rationale is linked to this input.`));
  }
  const tile = (link) => {
    const found = link.nodes.length > 0;
    const rationale = drawRationale(el("div", {}), link.rationale, card.base);
    const match = found ? drawRow(el("div", {}), asked.row, link.nodes, [], card.base) : null;
    return el("li", { class: "link", "--hue": hue(card.classes, link.label) },
      el("div", { class: found ? "pair" : "pair alone" }, rationale, match),
      el("div", { class: "about" },
        el("p", { class: "name" }, el("a", { href: `${card.base ? `${card.base}/` : ""}#rationale-${link.rationale}` }, `R${link.rationale}`), ` for ${link.label}`),
        el("div", { class: "meter", "aria-hidden": "true" }, el("b", { "--size": `${100 * link.correlation}%`, "--hue": hue(card.classes, link.label) })),
        el("p", { class: "soft" }, `Linked in ${percent(link.correlation)} of the draws, ${percent(link.weight)} of all links. `,
          found ? "Marked beside it: where this input contains it." : link.label === record.class ? "The input resembles it as a whole, but does not contain the structure." : "It belongs to another class.")));
  };
  return el("div", { class: "why" },
    el("h3", {}, "Linked rationales"),
    el("p", { class: "lead" }, "The rationales that this input is linked to most."),
    el("ul", { class: "links" }, links.map(tile)));
}

function nearest(record, card) {
  const near = record.nearest ?? [];
  if (!near.length) return null;
  const known = near.some((one) => one.similarity >= 0.9999);
  const drawable = card.input === "SMILES";
  return el("div", { class: "why" },
    el("h3", {}, "Similar training data"),
    el("p", { class: "lead" }, known ? "The input itself, or one with the same fingerprint, was in the training data."
      : "The nearest training data, by shared neighbourhoods (1 means all)."),
    el("ul", { class: "links near" }, near.map((one) =>
      el("li", { class: "link" },
        one.input && drawable ? drawRow(el("div", {}), one.input, [], [], card.base) : null,
        el("div", { class: "about" },
          el("p", { class: "name" }, `similarity ${number(one.similarity)}`),
          el("p", { class: "soft" }, el("code", {}, one.input || ""), ` row ${one.row}`))))));
}

function marked(explanation) {
  const edges = explanation?.leans_on || !explanation?.rationales.length ? [] : explanation.edges; // where nothing is linked there is nothing to mark
  const most = Math.max(0, ...edges.map((edge) => edge[2]));
  return most > 0 ? edges.filter((edge) => edge[2] >= MARKED * most).map(([a, b]) => [a, b]) : [];
}

export const shown = (asked) => (typeof asked.row === "string" ? asked.row : JSON.stringify(asked.row));
