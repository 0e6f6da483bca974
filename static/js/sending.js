// Serves [data-editor] and [data-closes], which a saved form closes, with [data-cancel].
// Text that is typed while a form is being sent moves into the form of the response. A form that closes
// when saved is read-only until then.

const TYPED = "textarea, input:not([type=hidden], [type=checkbox], [type=radio])";

const typed = (form) => [...form.elements].filter((field) => field.name && field.matches(TYPED));
const formOf = ({ requestConfig: sent }) => sent?.verb === "post" && sent.elt.matches("form") && sent.elt;

export function watchSending() {
  let carried = [];
  let unlock = () => {};
  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    const form = formOf(detail);
    if (form && form.closest("[data-editor], [data-closes]")) unlock = lock(form);
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => formOf(detail) && unlock());
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    carried = formOf(detail) ? later(detail.requestConfig, detail.xhr.status < 400) : [];
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const [old, text] of carried) carry(old, text);
    carried = [];
  });
}

/** Make the fields read-only. Returns the function that ends this. */
function lock(form) {
  const fields = typed(form).filter((field) => !field.readOnly);
  const mark = document.createElement("span");
  mark.className = "saving faint small";
  mark.textContent = "Saving…";
  form.querySelector("[data-cancel]")?.after(mark);
  for (const field of fields) field.readOnly = true;
  return () => {
    mark.remove();
    for (const field of fields) field.readOnly = false;
  };
}

/** The fields that changed after they were sent, each with its unsent text. */
function later({ elt, formData }, saved) {
  return typed(elt).flatMap((field) => {
    const sent = String(formData.get(field.name)).replace(/\r\n?/g, "\n");
    if (field.value === sent) return [];
    const goesOn = saved && field.value.startsWith(sent);
    return [[field, goesOn ? field.value.slice(sent.length).trimStart() : field.value]];
  });
}

function carry(old, text) {
  const field = document.getElementById(old.id);
  if (old.isConnected || !field) return;
  field.value = text;
  // Newer than any draft.
  field.dataset.restored = "yes";
  const at = Math.max(0, old.selectionStart - old.value.length + text.length);
  if (field.selectionStart !== null) field.setSelectionRange(at, at);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
