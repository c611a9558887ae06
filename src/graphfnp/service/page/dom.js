// Elements from values: text always becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

export function el(name, properties = {}, ...children) {
  return build(document.createElement(name), properties, children);
}

export function shape(name, properties = {}, ...children) {
  return build(document.createElementNS(SVG, name), properties, children);
}

function build(node, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export const $ = (id) => document.getElementById(id);

export function percent(share, digits = 0) {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "<\u00a00.1\u00a0%"; // never 0, and never all
  if (value >= 99.95 && value < 100) return ">\u00a099.9\u00a0%";
  const enough = (value > 0 && value < 1) || (value > 99 && value < 100) ? 1 : digits;
  return `${value.toFixed(enough)}\u00a0%`; // in one piece at the end of a line
}

export const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));

const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#9a8cd9", "#8a8a2c"];

export const hue = (classes, name) => HUES[Math.max(0, classes.indexOf(name)) % HUES.length];

export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
