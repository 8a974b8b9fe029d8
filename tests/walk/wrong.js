// Everything of a page that is too small, too wide, too pale, or has no name; nothing: all is well.
(() => {
  const out = [], seen = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length;
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) out.push(`scrolls sideways: ${document.documentElement.scrollWidth}`);
  const solid = e => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if (c[3] !== 0) return c; } return [255, 255, 255]; };
  const channels = said => { const c = said.match(/[\d.]+/g).map(Number); return c.length === 3 ? [...c, 1] : c; };
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, k) => s + v * [.2126, .7152, .0722][k], 0);
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !seen(e) || e.closest("noscript, script, style, title")) continue;
    const style = getComputedStyle(e), said = `${e.tagName} ${e.textContent.trim().slice(0, 30)}`;
    if (parseFloat(style.fontSize) < 11) out.push(`small: ${said} ${style.fontSize}`);
    if (e.closest("svg") || e.closest(":disabled, [aria-disabled]")) continue;
    const [a, b] = [light(channels(style.color)), light(solid(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) out.push(`pale: ${said} ${((a + .05) / (b + .05)).toFixed(1)}`);
  }
  for (const e of document.querySelectorAll("button, summary, label, a, input:not([type=checkbox])")) {
    if (!seen(e)) continue;
    const r = e.getBoundingClientRect();
    if (r.height < 43.9 || r.width < 43.9) out.push(`no target: ${e.tagName} ${e.textContent.slice(0, 30)} ${r.width.toFixed(0)}x${r.height.toFixed(0)}`);
    if (!(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length)) out.push(`no name: ${e.outerHTML.slice(0, 60)}`);
  }
  const marks = [...document.querySelectorAll("header, main, section[aria-label], section[aria-labelledby], [role=region]")].filter(seen);
  const called = marks.map(e => e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent || e.tagName);
  if (new Set(called).size < called.length) out.push(`two landmarks of one name: ${called.join(", ")}`);
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  if (new Set(ids).size < ids.length) out.push("an id twice");
  for (const e of document.querySelectorAll("[aria-labelledby]")) if (seen(e) && !document.getElementById(e.getAttribute("aria-labelledby"))) out.push(`labelled by nothing: ${e.id}`);
  for (const e of document.querySelectorAll("div, section, svg")) {
    if (seen(e) && ["auto", "scroll"].includes(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight + 1 && e.tabIndex < 0 && !e.querySelector("button, summary")) out.push(`no key scrolls: ${e.className}`);
  }
  return out;
})()
