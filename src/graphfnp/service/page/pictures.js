// Small pictures of numbers: the probability with its draws, the place in the domain, the two kinds of doubt.

import { el, hue, number, percent, shape } from "./dom.js";

const WIDE = 560;
const at = (share) => 12 + share * (WIDE - 24);

// Two classes: one axis between them. More: a bar for each.
export function probability(record, classes) {
  return classes.length === 2 ? axis(record, classes) : bars(record, classes);
}

function axis(record, classes) {
  const [left, right] = classes;
  const p = record[`p(${right})`];
  const isRight = record.class === right;
  const [low, high] = isRight ? [record.low, record.high] : [1 - record.high, 1 - record.low];
  const label = `${record.class} with ${percent(record.probability)}; nine tenths of the draws from ${percent(record.low)} to ${percent(record.high)}`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((tick) =>
    shape("line", { x1: at(tick), x2: at(tick), y1: tick === 0.5 ? 6 : 16, y2: tick === 0.5 ? 38 : 28, class: tick === 0.5 ? "half" : "tick" }));
  const picture = shape("svg", { viewBox: `0 0 ${WIDE} 44`, class: "axis", role: "img", "aria-label": label },
    shape("rect", { x: at(0), y: 19, width: at(0.5) - at(0), height: 6, rx: 3, class: "rail", fill: hue(classes, left) }),
    shape("rect", { x: at(0.5), y: 19, width: at(1) - at(0.5), height: 6, rx: 3, class: "rail", fill: hue(classes, right) }),
    ticks,
    shape("rect", { x: at(low), y: 12, width: Math.max(3, at(high) - at(low)), height: 20, rx: 10, class: "band", fill: hue(classes, record.class) }),
    shape("circle", { cx: at(p), cy: 22, r: 9, class: "dot", fill: hue(classes, record.class) }));
  const end = (name, share) => el("span", {}, el("i", { class: "spot", "--hue": hue(classes, name) }), `${name} ${percent(share)}`);
  return el("div", { class: "picture" }, picture,
    el("div", { class: "ends" }, end(left, record[`p(${left})`]), end(right, p)));
}

function bars(record, classes) {
  const row = (name) => {
    const share = record[`p(${name})`];
    const own = name === record.class;
    return [
      el("span", {}, name),
      el("div", { class: "bar", "aria-hidden": "true" },
        el("b", { "--size": `${100 * share}%`, "--hue": hue(classes, name) }),
        own ? el("u", { "--from": `${100 * record.low}%`, "--size": `${100 * (record.high - record.low)}%` }) : null),
      el("span", { class: "num" }, percent(share)),
    ];
  };
  return el("div", { class: "bars" }, classes.map(row));
}

export function strangeness(record, edge, unlike) {
  // The last tenth is where the verdict changes: it gets half of the width.
  const place = (score) => (score <= edge ? (0.5 * score) / edge : 0.5 + (0.5 * (score - edge)) / (1 - edge));
  const zone = (from, to, tone) => shape("rect", { x: at(place(from)), y: 8, width: at(place(to)) - at(place(from)) - 2, height: 8, rx: 4, class: `zone ${tone}` });
  const label = `${record.domain_verdict}: farther from the training data than ${percent(record.domain_score)} of the training data are from the rest`;
  return el("div", { class: "picture" },
    shape("svg", { viewBox: `0 0 ${WIDE} 24`, role: "img", "aria-label": label },
      zone(0, edge, "good"), zone(edge, unlike, "open"), zone(unlike, 1, "bad"),
      shape("circle", { cx: at(place(record.domain_score)), cy: 12, r: 8, class: "dot ink" })),
    el("div", { class: "ends three" }, el("span", {}, "in domain"), el("span", {}, "edge"), el("span", {}, "unlike")));
}

export function doubtBar(record, classes) {
  const most = Math.log(classes.length);
  const part = (value, kind) => el("b", { class: kind, "--size": `${Math.min(100, (100 * value) / most)}%` });
  return el("div", { class: "picture" },
    el("div", { class: "bar doubt", role: "img", "aria-label": `uncertainty ${number(record.total_uncertainty)} of at most ${number(most)} nats` },
      part(record.data_uncertainty, "data"), part(record.model_uncertainty, "model")),
    el("div", { class: "ends" },
      el("span", {}, el("i", { class: "spot data" }), `in the input ${number(record.data_uncertainty, 3)}`),
      el("span", {}, el("i", { class: "spot model" }), `in the model ${number(record.model_uncertainty, 3)}`),
      el("span", { class: "of" }, `of at most ${number(most)} nats`)));
}
