// The certified provider `oidc-provider`, for tests: node oidc_provider.mjs NODE_MODULES CONFIGURATION
// The configuration is JSON: port, callback, logout. Any name and password log in.

import { pathToFileURL } from "node:url";

const [modules, given] = process.argv.slice(2);
const { port, callback, logout, client, secret } = JSON.parse(given);
const { Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: client,
    client_secret: secret,
    redirect_uris: [callback],
    response_types: ["code"],
    backchannel_logout_uri: logout,
    backchannel_logout_session_required: true,
  }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
  pkce: { required: () => true },
  features: { backchannelLogout: { enabled: true } },
  // By itself it calls nothing on this machine.
  fetch: (address, options) => globalThis.fetch(address, { ...options, dispatcher: undefined }),
  cookies: { keys: ["only for tests"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id, email: `${id}@example.org`, email_verified: true, name: `${id} of the tests`, preferred_username: id,
    }),
  }),
});
provider.on("server_error", (_, error) => console.error(error));
provider.on("backchannel.error", (_, error) => console.error(error));
provider.listen(port, "127.0.0.1", () => console.log("ready"));
