// The gallery: what the model looks for, class by class, with the evidence for it.

import { drawRationale } from "./api.js";
import { el, hue, number, percent } from "./dom.js";

export function gallery(records, classes) {
  return classes.map((name) => {
    const own = records.filter((record) => record.label === name);
    if (!own.length) return null;
    return el("div", { class: "group", "--hue": hue(classes, name) },
      el("h3", {}, el("i", { class: "spot", "--hue": hue(classes, name) }), name),
      el("ul", { class: "tiles" }, own.map(tile)));
  }).filter(Boolean);
}

function tile(record) {
  const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  const tags = [
    ...record.alerts.map((alert) => el("span", { class: "tag alert" }, alert)),
    record.motif ? el("span", { class: "tag" }, record.motif) : null,
    record.source ? el("span", { class: "tag" }, record.source === "decoder" ? "from the decoder" : "part of training data") : null,
    record.valid ? null : el("span", { class: "tag alert" }, "no valid molecule"),
  ];
  return el("li", { class: "tile", id: `rationale-${record.rationale}`, tabindex: "-1" },
    record.num_nodes ? drawRationale(el("div", {}), record.rationale) : el("div", { class: "drawing" }, "no drawing"),
    el("div", { class: "about" },
      el("h4", {}, `R${record.rationale}`, record.smiles ? el("code", {}, record.smiles) : null),
      el("p", { class: "tags" }, tags),
      el("dl", {},
        fact("p(class) of the structure alone, uncalibrated", percent(record.class_probability)),
        record.coverage === null ? null : fact("coverage of its class, training", percent(record.coverage)),
        record.link_precision === null ? null : fact("link precision, test", percent(record.link_precision)),
        fact("kernel", number(record.structure_kernel))),
      record.sentence ? el("details", {}, el("summary", {}, "Evidence"), el("p", {}, record.sentence)) : null));
}
