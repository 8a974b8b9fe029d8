// The walk: an address in the fragment, its view, and keys.
import { announce, find, make, saveAs } from "./dom.js";
import { readAddress, standing, stepped } from "./address.js";
import { FileBackend, Refusal, ServerBackend, takeToken } from "./backend.js";
import { showLanes } from "./lanes.js";
import { showSteps } from "./steps.js";
import { showState } from "./state.js";
import { showBar } from "./properties.js";
import { cards, choosePage, help, jump } from "./dialogs.js";

let backend, view = null, latest = 0;

function position() {
  return view.place.depth;
}

function show(next) {
  view = next;
  const { head, options } = readAddress(view.address), variant = decodeURIComponent(options.get("variant") || "");
  find("#model").textContent = head.split("/").pop() + (variant && variant.length < 40 ? `: ${variant.replaceAll(",", ", ")}` : "");
  document.title = `${find("#model").textContent}, step ${position()} - zabcheck walk`;
  find("#about").textContent = [view.about.configuration, ...view.about.changed].join(". ");
  showBar(view, go);
  showLanes(view, go);
  showSteps(view, take);
  showState(view, () => show(view));  // the same place, where another process is followed
  showTools();
}

// Shows an address. The last one that was asked for counts: a slow answer to an earlier one is dropped.
async function open(address, how = "push") {
  const mine = ++latest;
  let next;
  try {
    next = await backend.view(address);
  } catch (problem) {
    if (mine !== latest) return false;
    if (!(problem instanceof Refusal)) throw problem;
    announce(problem.message, true);
    return false;
  }
  if (mine !== latest) return false;
  if (how === "push") history.pushState({walk: (history.state?.walk || 0) + 1}, "", `#${next.address}`);
  else if (how === "replace") history.replaceState({walk: history.state?.walk || 0}, "", `#${next.address}`);
  announce("");
  show(next);
  return true;
}

function go(number) {
  if (view && number !== position()) return open(standing(view.address, number));
}

function take(step) {
  if (step.fails) { announce(`This step has no state after it: ${step.fails}`, true); return; }
  return open(stepped(view.address, step.index));
}

async function undo() {
  if (history.state?.walk) history.back();
  else announce("There is nothing to undo.");
}

async function quietly(does) {
  try {
    return await does();
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    announce(problem.message, true);
  }
}

function saveTrace() {
  return quietly(async () => {
    announce("replaying the walk ...");
    const saved = await backend.ask("trace", {address: standing(view.address, position())});
    saveAs(saved.name, saved.text, "application/json");
    announce(`Saved as ${saved.name}: ${saved.sentence}. Every command takes it, such as zabcheck export.`);
  });
}

function savePage() {
  choosePage(levels => quietly(async () => {
    announce("walking around ...");
    const saved = await backend.ask("page", {address: view.address, levels});
    saveAs(saved.name, saved.text, "text/html");
    announce(`Saved as ${saved.name}: ${saved.sentence}.`);
  }));
}

async function copy() {
  try {
    await navigator.clipboard.writeText(view.command);
    announce("Copied: the command that opens this state anywhere.");
  } catch {
    announce(`This opens the same state anywhere: ${view.command}`, true);
  }
}

const TOOLS = [
  ["Back", "Backspace", () => position() > 0, () => go(position() - 1)],
  ["On", "ArrowRight", () => view.ahead > 0, () => go(position() + 1)],
  ["Undo", "u", () => true, undo],
  ["Redo", "r", () => true, () => history.forward()],
  ["Violation", "v", () => true, () => jump(backend, view, "violation", open), "served"],
  ["Witness", "w", () => true, () => jump(backend, view, "witness", open), "served"],
  ["Save trace", "s", () => true, saveTrace, "served"],
  ["Save page", "", () => true, savePage, "served"],
  ["Copy command", "c", () => true, copy],
  ["Help", "?", () => true, help],
];

function tools() {
  return TOOLS.filter(tool => tool[4] !== "served" || backend.serves);
}

function showTools() {
  find("#tools").replaceChildren(...tools().map(([name, key, can, does]) => make("button", {
    type: "button", "data-tool": name, disabled: !can(), title: key ? `key: ${key}` : null, "aria-keyshortcuts": key || null, on: {click: does},
  }, name)));
}

function pressed(event) {
  const free = !event.ctrlKey && !event.metaKey && !event.altKey && !find("#dialog").open;
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select");
  const chooses = event.target.id === "follow" && /^[1-9]$/.test(event.key);  // the numbers of steps go on there
  if (!free || !view || (typing?.checkVisibility() && !chooses)) return;
  if (event.target.closest?.(".wide, .inside") === event.target && event.key.startsWith("Arrow")) return;
  if (/^[1-9]$/.test(event.key)) {
    const step = view.place.steps[Number(event.key) - 1];
    if (step) take(step);
    else announce(`There is no step ${event.key} here.`);
  } else if (event.key === "Home") go(0);
  else if (event.key === "End") go(position() + view.ahead);
  else {
    const tool = tools().find(([, key]) => key === event.key);
    if (!tool) return;
    if (tool[2]()) tool[3]();
  }
  event.preventDefault();
}

// The file of somebody's own protocol is watched: when it is saved, it is read again, and the walk taken again.
const LOOK = 1500;
let wrong = "";
async function look() {
  if (view?.reloads && !document.hidden) {
    try {
      if ((await backend.ask("watch", {address: view.address})).changed) {
        const read = await backend.ask("reload", {address: view.address});
        await open(read.address);
        announce(read.sentence);
      }
      wrong = "";
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      if (problem.message !== wrong) announce(`The file was changed, and cannot be read: ${problem.message}`, true);
      wrong = problem.message;
    }
  }
  setTimeout(look, LOOK);
}

async function begin() {
  const saved = find("#saved");
  backend = saved ? await FileBackend.open(saved.textContent.trim()) : new ServerBackend(takeToken());
  const ask = location.hash.slice(1);
  addEventListener("keydown", pressed);
  addEventListener("resize", () => { if (view) showLanes(view, go); });  // a phone that is turned has other lanes
  if (backend.serves) look();
  addEventListener("popstate", () => { if (location.hash.length > 1) open(location.hash.slice(1), "keep"); });
  if (!backend.token && backend.serves) {
    announce(`This page belongs to a server that needs its token. Open the address that zabcheck walk has printed${ask ? `, or begin anew: zabcheck walk '${ask}'` : ""}.`, true);
    return;
  }
  await quietly(async () => {
    const start = await backend.start();
    if (ask && await open(ask, "replace")) return;
    if (start.address) { if (!ask) await open(start.address, "replace"); } else if (!ask) cards(start.cards, open);
  });
}

begin();
