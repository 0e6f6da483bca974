// Serves data-behavior="use-passkey", data-behavior="add-passkey" and data-behavior="no-passkeys".
// Passkeys: the browser creates or uses one, and the form of the page sends the result.

import { marked } from "./page.js";

// A challenge is valid for five minutes, so it is renewed after four.
const FRESH = 4 * 60_000;
const API = "/api/v1";
const WORDS = {
  InvalidStateError: "This device already has a passkey for your account.",
  NotAllowedError: "No passkey was used. Try again.",
  SecurityError: "Passkeys don’t work at this address.",
};

const use = marked("use-passkey");
const add = marked("add-passkey");

const bytes = (text) => {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
};
const text = (buffer) => {
  const plain = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

/** The options for the browser, with base64 decoded, and the state to send back. */
async function begin(path, body) {
  const headers = { "Content-Type": "application/json" };
  const options = { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(15_000) };
  const answer = await fetch(API + path, options).catch(() => null);
  const told = await answer?.json().catch(() => null);
  if (!told) throw new Error("The server did not respond. Try again.");
  if (!answer.ok) {
    const { message, details } = told.error;
    throw Object.assign(new Error(message), { field: details?.field });
  }
  const asked = told.options;
  asked.challenge = bytes(asked.challenge);
  if (asked.user) asked.user.id = bytes(asked.user.id);
  for (const one of asked.excludeCredentials ?? []) one.id = bytes(one.id);
  return [asked, told.state];
}

/** Submit the form with these values, without validating its own fields. */
function send(form, values) {
  for (const [name, value] of Object.entries(values)) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
  form.submit();
}

function refuse(problem, error) {
  problem.textContent = WORDS[error.name] ?? error.message;
  problem.hidden = false;
}

function watchUse() {
  const form = use.closest("form");
  const [button, problem] = use.children;
  let current = null;
  let timer = 0;
  const answer = async (mediation) => {
    current?.abort();
    clearTimeout(timer);
    const own = current = new AbortController();
    problem.hidden = true;
    // Autofill offers passkeys until one is chosen, so the challenge is renewed.
    if (mediation) timer = setTimeout(answer, FRESH, mediation);
    try {
      const [asked, state] = await begin("/auth/passkey/options", {});
      const found = await navigator.credentials.get({ publicKey: asked, mediation, signal: own.signal });
      const { clientDataJSON, authenticatorData, signature, userHandle } = found.response;
      clearTimeout(timer);
      send(form, {
        state,
        credential_id: found.id,
        client_data: text(clientDataJSON),
        authenticator_data: text(authenticatorData),
        signature: text(signature),
        user_handle: userHandle ? text(userHandle) : "",
      });
    } catch (error) {
      if (!mediation && own === current) refuse(problem, error);
    }
  };
  button.addEventListener("click", () => answer());
  use.hidden = false;
  PublicKeyCredential.isConditionalMediationAvailable?.().then((yes) => yes && !current && answer("conditional"));
}

function watchAdd() {
  const problem = add.querySelector("[role=alert]");
  const { name, current_password: password, code } = add.elements;
  marked("no-passkeys").hidden = true;
  add.hidden = false;
  add.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      const given = { current_password: password.value, ...(code && { code: code.value }) };
      const [asked, state] = await begin("/users/me/passkeys/options", given);
      const made = await navigator.credentials.create({ publicKey: asked });
      const { clientDataJSON, attestationObject } = made.response;
      // The server has checked these already.
      for (const field of [password, code]) if (field) field.disabled = true;
      send(add, { state, client_data: text(clientDataJSON), attestation: text(attestationObject) });
    } catch (error) {
      refuse(problem, error);
      (error.name === "Error" ? (add.elements[error.field] ?? password) : name).focus();
    }
  });
}

const isHere = (use ?? add)?.dataset.origin === location.origin;
if (window.PublicKeyCredential && isHere) {
  if (use) watchUse();
  else watchAdd();
} else if (add && !isHere) {
  marked("no-passkeys").textContent = `Open ${add.dataset.origin} to add a passkey.`;
}
