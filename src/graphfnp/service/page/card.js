// The model card as a few facts.

import { el, number, percent } from "./dom.js";

export function modelCard(card) {
  const { data, measures, calibration } = card;
  const known = calibration.provenance;
  const parts = Object.entries(data.parts).map(([part, count]) => `${count} ${part}`).join(", ");
  const interval = measures.ece_interval ? ` (95 % interval ${percent(measures.ece_interval[0])} and ${percent(measures.ece_interval[1])}; a perfect model would show ${percent(measures.ece_floor)})` : "";
  const counted = Object.values(data.parts).some((count) => count > 0); // a model by itself does not know them
  const rows = [
    ["Trained on", counted ? `${data.dataset}: ${parts}; split ${data.split}` : data.dataset, data.cite],
    measures.num_graphs ? ["Right on held-out data", `${percent(measures.accuracy, 1)} of ${measures.num_graphs}; AUROC ${number(measures.auroc)} (0.5 is chance)`] : null,
    ["Calibration error (ECE)", `${percent(measures.ece ?? known?.ece, 1)}${interval}`, known?.measured ? `measured ${known.measured.slice(0, 10)} on the ${known.part}` : known?.part ? `not measured since: ${known.part}` : null],
    card.conformal ? ["Sets of classes", card.conformal.coverage ? `contain the true class for ${percent(card.conformal.coverage, 1)} of held-out data; ${percent(card.conformal.singletons)} have one class` : "not measured on other data", card.conformal.guarantee] : null,
    ["Model", `${card.method}, ${card.id}`, card.made.command],
    ["Limits of this service", `${card.service.most_rows} rows, ${(card.service.most_bytes / 1e6).toFixed(1)} MB, ${card.service.most_nodes} atoms or nodes a row`],
  ].filter(Boolean);
  return [
    el("ul", { class: "limits panel" }, card.limits.map((limit) => el("li", {}, limit))),
    el("div", { class: "panel" }, el("table", { class: "card" }, el("tbody", {}, rows.map(([name, value, more]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value, more ? el("p", { class: "soft" }, more) : null)))))),
  ];
}
