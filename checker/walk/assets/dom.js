// Elements made of data: what is said is set as text, never as markup.

export function make(name, attributes, ...inside) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") for (const [event, does] of Object.entries(value)) out.addEventListener(event, does);
    else if (key === "class") out.className = value;
    else out.setAttribute(key, value === true ? "" : value);
  }
  out.append(...inside.filter(part => part !== null && part !== undefined && part !== ""));
  return out;
}

export function find(selector) {
  return document.querySelector(selector);
}

// A drawing of the server, which is XML; a script in it would be none once it is imported so.
export function drawing(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") throw new Error("the picture is no SVG");
  return document.importNode(parsed, true);
}

export function counted(count, what) {
  return count === 1 ? `1 ${what}` : `${count} ${what.endsWith("y") ? what.slice(0, -1) + "ie" : what}s`;
}

let quiet = 0;
export function announce(sentence, bad) {
  const status = find("#status");
  status.textContent = sentence;
  status.classList.toggle("bad", Boolean(bad));
  clearTimeout(quiet);
  if (sentence && !bad) quiet = setTimeout(() => { status.textContent = ""; }, 8000);
}

export function saveAs(name, text, kind) {
  const link = make("a", {href: URL.createObjectURL(new Blob([text], {type: kind})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The process that is followed; empty: none. Its column, its steps and what happened to it are shown, the rest folded.
let followed = "";
export function following() { return followed; }
export function follow(process) { followed = process; }
