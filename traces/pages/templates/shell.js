"use strict";
// What every page does. Where a reader is stands in the address, behind the #, so that Back, links and reloads lead there.
const page = (() => {
  const listeners = [];

  // an element; what it says is set as text, never as markup
  function make(name, said, kind) {
    const out = document.createElement(name);
    if (said !== undefined) out.textContent = said;
    if (kind) out.className = kind;
    return out;
  }

  function folded(title, inside, open) {
    const out = make("details");
    out.open = Boolean(open);
    out.append(make("summary", title), inside);
    return out;
  }

  // where the reader is; what cannot be read is nowhere
  function place() {
    try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
  }

  // Go to a place. After a jump Back returns; a small move, as from one step to the next, leaves no trace of its own.
  function go(where, jump) {
    if (place() !== where) history[jump ? "pushState" : "replaceState"](null, "", `#${encodeURIComponent(where)}`);
  }

  // Call with the place whenever the reader arrives at one: by a link, by Back, and when the page opens.
  function arrive(listener) {
    listeners.push(listener);
    listener(place());
  }

  function reveal() {
    const found = document.getElementById(place());
    if (!found) return;
    for (let e = found; e; e = e.parentElement) if (e.localName === "details") e.open = true;
    found.scrollIntoView();
  }

  function arrived() {
    reveal();
    for (const listener of listeners) listener(place());
  }
  addEventListener("hashchange", arrived);
  addEventListener("load", () => requestAnimationFrame(() => { if (place()) arrived(); }));

  // on paper nothing is folded
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const e of closed) e.open = true;
  });
  addEventListener("afterprint", () => { for (const e of closed) e.open = false; });

  return { arrive, folded, go, make, place };
})();
