// A session of a bot with the official TypeScript clients of both generations (CONTRIBUTING.md).
// Run it where the packages are installed, with the MCP address of a bot that can write in $URL.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { resolve } = createRequire(`${process.cwd()}/here.js`);
const load = async (name) => {
  const loaded = await import(resolve(name));
  return loaded.Client || loaded.StreamableHTTPClientTransport ? loaded : loaded.default;
};
const first = {
  ...(await load("@modelcontextprotocol/sdk/client/index.js")),
  ...(await load("@modelcontextprotocol/sdk/client/streamableHttp.js")),
};
const second = await load("@modelcontextprotocol/client");

async function session(name, library, options) {
  const client = new library.Client({ name: "session", version: "1" }, options);
  await client.connect(new library.StreamableHTTPClientTransport(new URL(process.env.URL)));
  const call = async (tool, args = {}) => {
    const result = await client.callTool({ name: tool, arguments: args });
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result;
  };
  assert.equal((await client.listTools()).tools.length, 29);
  assert.ok((await call("get_self")).structuredContent.username);
  const [project] = (await call("list_projects")).structuredContent.data;
  const children = [
    { title: "First", relations: [{ type: "blocks", target: "children[1]" }] },
    { title: "Second" },
  ];
  const fields = { project: project.key, type: "epic", title: `By ${name}`, children };
  const made = (await call("create_ticket", fields)).structuredContent;
  assert.equal(made.children.length, 2);
  const next = await call("update_ticket", { ticket: "next", project: project.key });
  assert.equal(next.structuredContent.project, project.key);
  assert.equal((await call("list_tickets", { nonsense: true })).isError, true);
  assert.equal((await call("get_self", { wait: 1 })).isError, false);
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert.equal(contents[0].mimeType, "text/markdown");
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
  await assert.rejects(client.readResource({ uri: "ticket://NONE-1" }), /not found/);
  const { prompts } = await client.listPrompts();
  assert.equal(prompts.length, 5);
  const written = await client.getPrompt({ name: "work-next", arguments: {} });
  assert.match(written.messages[0].content.text, /ticket next/);
  await client.close();
  console.log(`${name}: passed`);
}

await session("1", first, {});
await session("2, handshake", second, {});
await session("2, stateless", second, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
