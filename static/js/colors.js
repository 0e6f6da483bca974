// Serves data-behavior="color", the form with a label's color, and in it [data-color-preview].
// A preview of the label in light and dark themes while its color is chosen, with a warning about
// low contrast.

// The least contrast of a graphical object (WCAG 2.2, 1.4.11).
const ENOUGH = 3;

export function watchColors() {
  document.addEventListener("input", ({ target }) => {
    const field = target.form?.querySelector("[type=color]");
    const preview = field?.closest("[data-behavior=color]")?.querySelector("[data-color-preview]");
    if (preview && (target === field || !preview.hidden)) show(field, preview);
  });
}

function show(field, preview) {
  preview.hidden = false;
  const told = [];
  for (const side of preview.querySelectorAll("[data-theme]")) {
    const label = side.firstElementChild;
    label.style.setProperty("--c", field.value);
    label.textContent = field.form.elements.name.value || "label";
    const reached = contrast(field.value, getComputedStyle(label).backgroundColor);
    told.push(`${reached.toFixed(1)}:1 in ${side.dataset.theme}${reached < ENOUGH ? ", low contrast" : ""}`);
  }
  preview.querySelector("output").textContent = told.join("; ");
}

function contrast(one, other) {
  const [low, high] = [luminance(hex(one)), luminance(other.match(/\d+/g))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const hex = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

function luminance(parts) {
  const [red, green, blue] = parts.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
