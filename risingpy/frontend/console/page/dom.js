// Elements and numbers. Every text of the database becomes a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An HTML element. `attributes` may have `on…` functions; children are elements or texts. */
export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Changes a text or an attribute only where it is another one: an idle database leaves the page alone. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, text) {
  if (element.getAttribute("class") !== text) element.setAttribute("class", text);
}

export function count(value) {
  if (value === null || value === undefined) return "";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(value) >= size) return `${(value / (unit === "k" ? 1e3 : size)).toFixed(1)}${unit}`;
  }
  return String(Math.round(value * 10) / 10);
}

export function bytes(value) {
  if (value === null || value === undefined) return "";
  for (const [size, unit] of [[2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"]]) {
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  }
  return `${value} B`;
}

export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 120e3) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds < 7200e3) return `${Math.round(milliseconds / 60e3)} min`;
  return `${(milliseconds / 3600e3).toFixed(1)} h`;
}

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
export const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
