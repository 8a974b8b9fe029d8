// Two models side by side: each pane is a page of its own, and this one keeps them on one schedule as long as both have it.
import { announce, find, make } from "./dom.js";
import { Refusal } from "./backend.js";
import { readAddress, standing } from "./address.js";

const SIDES = ["left", "right"], BETWEEN = ",,", MOST_NAMED = 6;

export function isPair(text) { return text.includes(BETWEEN); }

export function pairOf(left, right) { return `${left}${BETWEEN}${right}`; }

// A pane tells the page around it where it stands, and is told where to go and what is marked.
export const inPane = window.parent !== window && new URLSearchParams(location.search).has("pane");

export function tellPair(address) {
  if (inPane) window.parent.postMessage({stands: address}, location.origin);
}

export function hearPair(goes, marks) {
  if (!inPane) return;
  addEventListener("message", event => {
    if (event.source !== window.parent || event.origin !== location.origin) return;
    if (event.data.open) goes(event.data.open, event.data.how || "replace");
    if (event.data.marks) marks(event.data.marks);
  });
}

// What one model has in its options and the other has not.
function ownOptions(text, other) {
  const parts = each => { const a = readAddress(each), out = new Set([a.head]);
    for (const [name, value] of a.options) {
      if (name === "variant") for (const part of decodeURIComponent(value).split(",")) out.add(part);
      else if (name !== "tool" && name !== "made") out.add(`${name} ${decodeURIComponent(value)}`);
    }
    return out; };
  const theirs = parts(other);
  return [...parts(text)].filter(each => !theirs.has(each));
}

function modelsSaid(left, right) {
  const own = [["left", ownOptions(left, right)], ["right", ownOptions(right, left)]].filter(([, names]) => names.length);
  return own.length ? own.map(([side, names]) => `${side[0].toUpperCase()}${side.slice(1)} alone has ${names.join(", ")}.`).join(" ") : "Both are the same model.";
}

function differing(fields) {
  if (!fields.length) return "Here their states are the same.";
  return `Here differ: ${fields.slice(0, MOST_NAMED).join(", ")}${fields.length > MOST_NAMED ? ` and ${fields.length - MOST_NAMED} more` : ""}.`;
}

export function showPair(backend, text) {
  const [first, second] = text.split(BETWEEN);
  const at = {left: first, right: second}, sent = {left: "", right: ""}, ready = new Set();
  let linked = null, latest = 0, found = null, pending = "";

  const frame = side => make("iframe", {title: side === "left" ? "The model on the left" : "The model on the right", src: `/?pane=${side}#${at[side]}`, "data-side": side});
  const panes = {left: frame("left"), right: frame("right")};
  const said = make("p", {role: "status", id: "pair-said"}, "comparing ...");
  const link = make("input", {type: "checkbox", id: "linked", on: {change: () => { linked = link.checked; if (linked) settle("left"); else settle(""); }}});
  const go = make("button", {type: "button", disabled: true, on: {click: () => toFirst()}}, "To the first difference");
  const copy = make("button", {type: "button", on: {click: () => command()}}, "Copy");
  const leave = make("button", {type: "button", on: {click: () => { history.pushState(null, "", `#${at.left}`); location.reload(); }}}, "Left alone");
  document.title = "Two models side by side - zabcheck walk";
  document.body.className = "pair";
  find("header").replaceChildren(make("div", {class: "titles"}, make("h1", {}, "Two models side by side"), make("p", {}, modelsSaid(first, second)), said),
    make("div", {id: "tools", role: "toolbar", "aria-label": "Both"}, make("label", {class: "check", for: "linked"}, link, " both take the same steps"), go, leave, copy));
  find("#bar").remove();
  find("main").replaceChildren(panes.left, panes.right);
  addEventListener("popstate", () => { if (!isPair(location.hash)) location.reload(); });

  const post = (side, message) => panes[side].contentWindow.postMessage(message, location.origin);

  addEventListener("message", event => {
    const side = SIDES.find(each => panes[each].contentWindow === event.source);
    if (!side || event.origin !== location.origin || !event.data.stands) return;
    const own = event.data.stands !== sent[side], fresh = !ready.has(side);
    at[side] = event.data.stands;
    sent[side] = "";
    ready.add(side);
    if (fresh && side === "left") panes.left.contentWindow.focus();
    if (ready.size === 2) settle(linked && own && !fresh ? side : "");
  });

  // Where both stand, what differs there, and, if one leads, where the other follows it to.
  async function settle(asked) {
    const mine = ++latest, leads = asked || pending;  // who leads still does if the answer is asked for anew
    pending = leads;
    try {
      const now = await backend.ask("pair", {left: at.left, right: at.right, leads});
      if (mine !== latest) return;
      pending = "";
      found = now;
      if (linked === null) linked = now.together;
      if (now.follows) {
        const side = leads === "left" ? "right" : "left";
        if (now.refused) linked = false;
        if (now.follows !== at[side]) { sent[side] = now.follows; post(side, {open: now.follows}); }
        at[side] = now.follows;
      }
      for (const side of SIDES) post(side, {marks: now.marks[side]});
      link.checked = linked;
      go.disabled = now.first === null;
      said.textContent = `${now.sentence} ${differing(now.marks.left.fields)}`;
      history.replaceState(history.state, "", `#${pairOf(at.left, at.right)}`);
    } catch (problem) {
      if (mine === latest) pending = "";
      if (!(problem instanceof Refusal)) throw problem;
      announce(problem.message, true);
    }
  }

  async function toFirst() {
    linked = true;
    sent.left = standing(at.left, found.first);
    at.left = sent.left;
    post("left", {open: sent.left, how: "push"});
    await settle("left");
  }

  async function command() {
    const said = `zabcheck walk '${pairOf(at.left, at.right)}'`;
    try {
      await navigator.clipboard.writeText(said);
      announce("Copied: the command that opens both anywhere.");
    } catch {
      announce(`This opens both anywhere: ${said}`, true);
    }
  }
}
