// What is wrong with how a page looks, a line each: what is wider than the screen, text that is small, pale or lies on
// other text, and what can be used and has no name.
(() => {
  const wrong = [];
  const said = text => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 40));

  const wide = document.scrollingElement.scrollWidth;
  if (wide > innerWidth) wrong.push(`sideways: the page has ${wide} pixels`);

  // the part of a box that is not cut off by what it lies in
  function visible(box, element) {
    let { left, top, right, bottom } = box;
    for (let e = element; e && e !== document.documentElement; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const cut = e.getBoundingClientRect();
      left = Math.max(left, cut.left); right = Math.min(right, cut.right);
      top = Math.max(top, cut.top); bottom = Math.min(bottom, cut.bottom);
    }
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : null;
  }

  const numbers = colour => colour.match(/[\d.]+/g).map(Number);
  function over(top, below) {
    const [r, g, b, a = 1] = top;
    return [r, g, b].map((c, k) => a * c + (1 - a) * below[k]);
  }
  function ground(element) {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(numbers(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  }
  function luminance(colour) {
    const [r, g, b] = colour.map(c => c / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  }

  // what stays in sight lies over what is scrolled, and is compared with itself alone
  function layer(element) {
    for (let e = element; e; e = e.parentElement) if (getComputedStyle(e).position === "sticky") return e;
    return null;
  }

  const boxes = [], looks = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const shown = [...range.getClientRects()].map(box => visible(box, element)).filter(Boolean);
    if (!shown.length) continue;
    if (element.ownerSVGElement && getComputedStyle(element).fill === "none") continue;  // the outline under a text
    if (!looks.has(element)) {
      const style = getComputedStyle(element), svg = element.ownerSVGElement;
      const scale = svg ? Math.abs(element.getScreenCTM().d) || Math.abs(element.getScreenCTM().b) : 1;
      const faint = element.closest(".outside");
      const ink = numbers(svg ? style.fill : style.color), under = ground(element);
      looks.set(element, layer(element));
      const size = parseFloat(style.fontSize) * scale;
      if (size < 10.99) wrong.push(`small: ${size.toFixed(1)} pixels: ${said(node.data)}`);
      const told = contrast(over(ink, under), under);
      if (told < 4.5 && !faint) wrong.push(`pale: ${told.toFixed(2)}: ${said(node.data)}`);
    }
    for (const box of shown) boxes.push({ ...box, text: node.data, layer: looks.get(element), element });
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, k) => {
    for (let j = k + 1; j < boxes.length && boxes[j].top < a.bottom - 4; j++) {
      const b = boxes[j];
      if (a.layer !== b.layer) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (across > 2 && Math.min(a.bottom, b.bottom) - b.top > 4) wrong.push(`over: ${said(a.text)} and ${said(b.text)}`);
    }
  });

  // a label of a diagram has a ground of its own, over the arrows, and lies beside the lanes
  for (const slice of document.querySelectorAll(".slice")) {
    const lanes = [...slice.querySelectorAll("rect[class^='t']")].map(e => e.getBoundingClientRect()).filter(e => e.width < 20);
    for (const label of slice.querySelectorAll(".labels span:not(.turned)")) {
      const box = label.getBoundingClientRect(), told = said(label.textContent);
      if (!box.width) continue;
      if (numbers(getComputedStyle(label).backgroundColor)[3] === 0) wrong.push(`bare: ${told}`);
      if (label.classList.contains("middle")) continue;
      if (lanes.some(e => e.left < box.right - 1 && box.left < e.right - 1 && e.top < box.bottom - 1 && box.top < e.bottom - 1))
        wrong.push(`lane: ${told}`);
    }
  }

  for (const e of document.querySelectorAll("a[href], button, summary, input, select, [tabindex='0'], [role='img']")) {
    const name = e.getAttribute("aria-label") || e.labels?.[0]?.textContent || (e.matches("[role='img']") ? "" : e.textContent);
    if (!name.trim()) wrong.push(`nameless: ${e.outerHTML.slice(0, 60)}`);
  }
  for (const e of document.querySelectorAll("svg")) {
    if (!e.closest("[aria-hidden='true'], [role='img']")) wrong.push("nameless: a drawing");
  }
  if (document.querySelectorAll("main").length !== 1) wrong.push("nameless: a page has one main part");
  if (document.querySelectorAll("h1").length !== 1) wrong.push("nameless: a page has one first heading");
  if (!document.title || document.title.length > 60) wrong.push(`title: ${said(document.title)}`);
  return wrong;
})()
