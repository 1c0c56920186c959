import { createReactAgent } from '@agent-workflow/graph';
import { mcpTools } from '@agent-workflow/graph/mcp';
import { fakeModel } from '@agent-workflow/graph/testing';
import test from 'ava';
import { knownServers } from '../servers/mcp-known.ts';
import { pageOf, startRawMcp } from '../servers/mcp-raw.ts';

for (const [server, { tools: listed, setAside = {}, source }] of Object.entries(knownServers)) {
  test(`an agent starts with the tools of a server that many use: ${server}`, async (t) => {
    t.log(source);
    const given = Object.entries(listed).map(([name, inputSchema]) => ({ name, inputSchema }));
    await using started = await startRawMcp(pageOf(...given));
    await using tools = await mcpTools({ url: started.url });
    t.deepEqual(
      tools.setAside.map(({ name }) => name),
      Object.keys(setAside),
    );
    for (const { name, reason } of tools.setAside) t.regex(reason, setAside[name] ?? /^$/);
    t.is(tools.length, given.length - tools.setAside.length);
    const agent = createReactAgent({ model: fakeModel([]), tools });
    t.deepEqual(
      agent.tools.map(({ name }) => name),
      tools.map(({ name }) => name),
    );
  });
}

test('an agent has the tools of all of them at once, under different names', async (t) => {
  const servers = await Promise.all(
    Object.values(knownServers).map(async ({ tools }) =>
      startRawMcp(pageOf(...Object.entries(tools).map(([name, inputSchema]) => ({ name, inputSchema })))),
    ),
  );
  const lists = await Promise.all(servers.map(async ({ url }) => mcpTools({ url })));
  t.teardown(async () => {
    for (const { close } of lists) await close();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
  const { tools } = createReactAgent({ model: fakeModel([]), tools: lists.flatMap((list) => [...list]) });
  const names = tools.map(({ name }) => name);
  t.is(new Set(names).size, names.length);
  for (const name of names) t.regex(name, /^[A-Za-z_][\w-]{0,63}$/);
});
