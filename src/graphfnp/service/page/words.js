// The numbers in words.

import { percent } from "./dom.js";

export function headline(record) {
  const p = record.probability;
  if (record.explanation?.leans_on) return "Not known. By the label mix alone:";
  if (p >= 0.95) return "Almost surely";
  if (p >= 0.8) return "Probably";
  if (p >= 0.65) return "More likely";
  return "Open, leaning to";
}

export function meaning(record) {
  const [many, said] = record.probability < 0.995 ? [100, "a hundred"] : [1000, "a thousand"]; // never: all, and 0 not
  const out = Math.min(Math.round(many * record.probability), many - 1);
  const known = record.calibration;
  const first = `Of ${said} inputs with this probability, about ${out} should be ${record.class}, and ${many - out} should not.`;
  if (!known || known.ece === null || known.ece === undefined) return first;
  const [plain, off] = [known.ece, known.ece_at_mix ?? known.ece].map((error) => Math.round(100 * error));
  const weighed = off === plain ? "" : ", weighted to the assumed label mix,";
  return `${first} On ${known.graphs} held-out inputs${weighed} such probabilities were off by ${off} points on average.`;
}

export function draws(record) {
  const wide = record.high - record.low;
  const said = wide < 0.1 ? "The draws agree" : wide < 0.3 ? "The draws differ somewhat" : "The draws disagree";
  return `${said}: 90 % of them lie between ${percent(record.low)} and ${percent(record.high)}.`;
}

export function ruledOut(record, classes) {
  const set = record.conformal_set;
  if (!set) return null;
  const level = percent(record.conformal_level);
  if (set.length === 1) return { tone: "good", short: `Only ${set[0]}`, long: `At the ${level} level every class but ${set[0]} can be ruled out.` };
  if (set.length === 0) return { tone: "bad", short: "Nothing fits", long: `At the ${level} level no class fits the input.` };
  const all = set.length === classes.length;
  const named = set.length === 2 ? `both ${set.join(" and ")}` : set.join(", ");
  const unknown = record.probability < 0.8 ? "the model does not know"
    : "the structure alone does not tell, and the probability also counts how common the classes are";
  return {
    tone: "open",
    short: all ? "Nothing ruled out" : named,
    long: `At the ${level} level ${named} remain possible${all ? `: ${unknown}` : ""}.`,
  };
}

const VERDICTS = {
  "in domain": { tone: "good", short: "In domain", said: "like the training data" },
  edge: { tone: "open", short: "At the edge", said: "at the edge of the training data" },
  "unlike the training data": { tone: "bad", short: "Unlike the training data", said: "ignore the other numbers" },
};

export function domain(record) {
  if (record.domain_verdict === null || record.domain_verdict === undefined) return null;
  const { tone, short, said } = VERDICTS[record.domain_verdict] ?? { tone: "open", short: record.domain_verdict, said: "" };
  return { tone, short, long: `Farther from the training data than ${percent(record.domain_score)} of the training data are from the rest: ${said}.` };
}

export function doubt(record, classes) {
  const most = Math.log(classes.length);
  const total = record.total_uncertainty / most;
  const model = record.model_uncertainty / Math.max(record.total_uncertainty, 1e-9);
  if (total < 0.1) return "There is hardly any uncertainty.";
  if (total < 0.3) return "There is a little uncertainty, as for nearly every input.";
  const size = total < 0.5 ? "Some uncertainty" : total < 0.8 ? "Much uncertainty" : "The uncertainty is near its maximum";
  if (record.explanation?.leans_on) return `${size}: most draws link no rationale, so the prediction is little more than the label mix.`;
  if (record.domain_verdict === "unlike the training data") return `${size}, and the input is unlike the training data: the two kinds of uncertainty cannot be separated here.`;
  if (model > 0.3) return `${size}, a large part of it because the model has seen too few inputs like this.`;
  return `${size}: the input itself looks like more than one class, and more training data of this kind would not help much.`;
}
