// What axe finds on the page, and the looks that it judged. Some rules judge only what looks new:
// known holds the looks of texts and targets that were judged before, on this page or another.
([known, isDark, options, ofTexts, ofTargets]) => {
  const NEW_TEXT = "data-new-text";
  const NEW_TARGET = "data-new-target";
  // Where these kept axe from an answer, another page may have one.
  const OF_THE_PLACE = new Set(["bgOverlap", "elmPartiallyObscured", "elmPartiallyObscuring", "outsideViewport"]);
  const seen = new Set(known.split(" "));
  const looks = new Map();

  const mark = (element, name, parts, isAlways = false) => {
    let one = 1, two = 2;
    for (const letter of [name, ...parts].join(";")) {
      one = Math.imul(one ^ letter.codePointAt(), 2654435761);
      two = Math.imul(two ^ letter.codePointAt(), 1597334677);
    }
    const look = `${one.toString(36)}.${two.toString(36)}`;
    if (seen.has(look) && !isAlways) return;
    element.setAttribute(name, "");
    if (isAlways) return;
    seen.add(look);
    looks.set(look, element);
  };

  // A text lies on all grounds down to the first through which nothing shines. What lies over
  // something else without such a ground is judged always.
  const grounds = new Map();
  const lies = new Set(["absolute", "fixed", "sticky"]);
  const groundOf = (element) => {
    if (!element) return ["", ""];
    if (!grounds.has(element)) {
      const [below, veils] = groundOf(element.parentElement);
      const { backgroundColor: color, backgroundImage: image, opacity, filter, position } = getComputedStyle(element);
      const isClear = color === "rgba(0, 0, 0, 0)" && image === "none";
      const isDense = color.startsWith("rgb(") && image === "none";
      const own = isDense ? color
        : below === null || lies.has(position) ? null
        : isClear ? below : `${below}/${color},${image}`;
      grounds.set(element, [own, opacity === "1" && filter === "none" ? veils : `${veils}/${opacity},${filter}`]);
    }
    return grounds.get(element);
  };
  const hasText = (element) => element.matches("a[href], input, select, textarea")
    || [...element.childNodes].some((one) => one.nodeType === Node.TEXT_NODE && one.data.trim());

  // Neither what only screen readers say nor a box to check has colors to read.
  for (const element of document.body.querySelectorAll(":not(.said, [type=checkbox])")) {
    if (!hasText(element) || !element.checkVisibility()) continue;
    const [ground, veil] = groundOf(element);
    const style = getComputedStyle(element);
    mark(element, NEW_TEXT, [
      ground, veil, element.localName, element.className,
      Boolean(element.closest(":disabled, [aria-disabled=true], [inert]")),
      style.color, style.fontSize, style.fontWeight, style.textShadow, style.textDecoration,
      getComputedStyle(element.parentElement).color,
    ], ground === null);
  }

  // Of a target, what stands within the room that it needs, and where the middle of each is.
  const ROOM = 24;
  const TARGETS = "a[href], area, button, iframe, input, select, summary, textarea,"
    + "[contenteditable], [tabindex], [role]:not([role=img])";
  const targets = isDark ? [] : [...document.querySelectorAll(TARGETS)]
    .filter((one) => one.checkVisibility())
    .map((one) => [one, one.getBoundingClientRect(), one.getClientRects().length]);
  for (const [one, { left, right, top, bottom, width, height }] of targets) {
    const [first, last, above, below] = [left - ROOM, right + ROOM, top - ROOM, bottom + ROOM];
    const around = targets.filter(([, box]) =>
      box.left < last && box.right > first && box.top < below && box.bottom > above);
    const within = (value, minimum, maximum) => Math.round(Math.min(Math.max(value, minimum), maximum));
    mark(one, NEW_TARGET, [Math.round(width), Math.round(height), ...around.map(([each, box, lines]) => [
      each === one, each.className, each.localName, each.tabIndex, each.disabled, lines,
      within(box.left - left, -ROOM, width + ROOM), within(box.right - left, -ROOM, width + ROOM),
      within(box.top - top, -ROOM, height + ROOM), within(box.bottom - top, -ROOM, height + ROOM),
      within(box.width, 0, ROOM), within(box.height, 0, ROOM),
      within((box.left + box.right) / 2 - left, -2 * ROOM, width + 2 * ROOM),
      within((box.top + box.bottom) / 2 - top, -2 * ROOM, height + 2 * ROOM),
    ])]);
  }

  if (isDark && !document.querySelector(`[${NEW_TEXT}]`)) return [[], ""];
  axe.configure({ rules: [
    ...Object.entries(ofTexts).map(([id, selector]) => ({ id, selector: `${selector}[${NEW_TEXT}]` })),
    ...Object.entries(ofTargets).map(([id, selector]) => ({ id, selector: `${selector}[${NEW_TARGET}]` })),
  ] });
  const run = { ...options, resultTypes: ["violations", "incomplete"], elementRef: true, selectors: false };
  return axe.run(document, run).then(({ violations, incomplete }) => {
    for (const name of [NEW_TEXT, NEW_TARGET]) {
      document.querySelectorAll(`[${name}]`).forEach((one) => one.removeAttribute(name));
    }
    const isOpen = (node) => node.any.some((check) => OF_THE_PLACE.has(check.data?.messageKey));
    const nodes = (results) => results.flatMap((one) => one.nodes);
    const open = new Set([...nodes(violations), ...nodes(incomplete).filter(isOpen)].map((node) => node.element));
    const judged = [...looks].filter(([, element]) => !open.has(element)).map(([look]) => look);
    nodes(violations).forEach((node) => delete node.element);
    return [violations, judged.join(" ")];
  });
}
