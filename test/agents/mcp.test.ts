import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { createReactAgent, type Block, type Tool } from '@agent-workflow/graph';
import { mcpTools, type McpServer, type McpTools, type McpToolsOptions } from '@agent-workflow/graph/mcp';
import { fakeModel, user, walk, type Walked, type WalkOptions } from '@agent-workflow/graph/testing';
import test, { type ExecutionContext } from 'ava';
import { startMcpHttp, type McpHttp } from '../servers/mcp-http.ts';
import { until } from '../until.ts';

const stdio = fileURLToPath(new URL('../servers/mcp-stdio.ts', import.meta.url));
const command = (...args: readonly string[]): McpServer => ({ command: process.execPath, args: [stdio, ...args] });

/** The tools of a server that ends with the test. */
async function toolsOf(t: ExecutionContext, server: McpServer, options?: McpToolsOptions): Promise<McpTools> {
  const tools = await mcpTools(server, options);
  t.teardown(tools.close);
  return tools;
}

async function httpServer(t: ExecutionContext, options?: Parameters<typeof startMcpHttp>[0]): Promise<McpHttp> {
  const server = await startMcpHttp(options);
  t.teardown(server.stop);
  return server;
}

/** How a server is reached; each speaks the newest protocol or that of 2025. */
const ways: Readonly<Record<string, (t: ExecutionContext) => Promise<McpServer>>> = {
  'started by a command': async () => command(),
  'of 2025 started by a command': async () => command('older'),
  'with a URL': async (t) => ({ url: (await httpServer(t)).url }),
  'of 2025 with a URL and sessions': async (t) => ({ url: (await httpServer(t, { older: true })).url }),
};

interface Made {
  readonly walked: Walked;
  /** The result of the call; `undefined` while it has none. */
  readonly result: Block | undefined;
}

/** Has an agent call one tool, as a run does; goes on from an earlier walk when one is given. */
async function callOf(
  tools: readonly Tool[],
  name: string,
  args: object = {},
  options: WalkOptions = {},
): Promise<Made> {
  const model = fakeModel([[{ type: 'tool_call', id: 'the-call', name, args }], 'Done.']);
  const graph = createReactAgent({ model: options.from ? fakeModel(['Done.']) : model, tools });
  const walked = await walk(graph, { context: options.from ? [] : [user('Go on.')], ...options });
  return {
    walked,
    result: walked.state.context.flatMap(({ content }) => content).find(({ type }) => type === 'tool_result'),
  };
}

const outputOf = async (...call: Parameters<typeof callOf>): Promise<unknown> =>
  (await callOf(...call)).result?.['output'];

/** What the tool `report` of the example says. */
interface Report {
  readonly calls: readonly { readonly tool: string; readonly key: unknown }[];
  readonly cancelled: number;
  readonly pid: number;
  readonly home?: string;
  readonly secret?: string;
}

const reportOf = async (tools: readonly Tool[]): Promise<Report> => (await outputOf(tools, 'report')) as Report;

for (const [way, open] of Object.entries(ways)) {
  test(`the tools of a server ${way} are called with their arguments and the idempotency key of the call`, async (t) => {
    const tools = await toolsOf(t, await open(t));
    const add = tools.find(({ name }) => name === 'add');
    t.like(add, { description: 'Adds two numbers.', replay: 'safe' });
    t.like(add?.parameters, { type: 'object', required: ['a', 'b'] });
    t.like(
      tools.find(({ name }) => name === 'notes_write'),
      { description: 'Writes a note', replay: 'once' },
    );
    t.deepEqual(await outputOf(tools, 'add', { a: 2, b: 3 }), { sum: 5 });
    t.is(await outputOf(tools, 'notes_write'), 'written');
    t.deepEqual((await reportOf(tools)).calls, [
      { tool: 'add', key: 'run/2/the-call' },
      { tool: 'notes.write', key: 'run/2/the-call' },
    ]);
  });

  test(`questions of a server ${way} interrupt the run one by one, and its call is made again with the answers`, async (t) => {
    const tools = await toolsOf(t, await open(t));
    const first = await callOf(tools, 'book');
    t.true(first.walked.waiting);
    t.is(first.result, undefined);
    const [where] = first.walked.interrupts;
    t.like(where, { node: 'tools', value: { type: 'elicitation', tool: 'book', message: 'Where?' } });
    t.like((where?.value as { readonly schema: object }).schema, { type: 'object', required: ['city'] });
    const porto = { [String(where?.id)]: { action: 'accept', content: { city: 'Porto' } } };
    const second = await callOf(tools, 'book', {}, { from: first.walked, answers: porto });
    const [long] = second.walked.interrupts;
    t.like(long?.value, { message: 'How long?' });
    const nights = { [String(long?.id)]: { action: 'accept', content: { nights: 2 } } };
    const third = await callOf(tools, 'book', {}, { from: second.walked, answers: nights });
    t.false(third.walked.waiting);
    t.like(third.result, { output: 'Porto for 2 nights', is_error: false });
    const calls = (await reportOf(tools)).calls.filter(({ tool }) => tool === 'book');
    t.true(calls.length >= 3);
  });

  test(`a server ${way} reads that its question was declined`, async (t) => {
    const tools = await toolsOf(t, await open(t));
    const { walked } = await callOf(tools, 'book');
    const answers = { [String(walked.interrupts[0]?.id)]: { action: 'decline' } };
    t.is(await outputOf(tools, 'book', {}, { from: walked, answers }), 'nothing booked: decline');
  });

  test(`an answer that breaks the schema of the question of a server ${way} is an error of the call`, async (t) => {
    const tools = await toolsOf(t, await open(t));
    const { walked } = await callOf(tools, 'book');
    const answered = async (answer: unknown): Promise<unknown> =>
      outputOf(tools, 'book', {}, { from: walked, answers: { [String(walked.interrupts[0]?.id)]: answer } });
    t.regex(
      String(await answered({ action: 'accept', content: { city: 5 } })),
      /breaks its schema: content\/city must be string/,
    );
    t.regex(String(await answered('Porto')), /is answered with \{ action/);
  });

  test(`results of a server ${way} that are errors, blocks, or too large reach the model as such`, async (t) => {
    const tools = await toolsOf(t, await open(t));
    t.like((await callOf(tools, 'fail')).result, { output: 'the shelf is empty', is_error: true });
    t.like((await callOf(tools, 'draw')).result, {
      output: [
        { type: 'text', text: 'a dot' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
      is_error: false,
    });
    const flood = await callOf(tools, 'flood');
    t.like(flood.result, { is_error: true });
    t.regex(String(flood.result?.['output']), /more than/);
    const refused = await callOf(tools, 'add', { a: 'two', b: 3 });
    t.like(refused.result, { is_error: true });
    t.deepEqual((await reportOf(tools)).calls, []);
  });

  test(`a run that is stopped cancels its call at a server ${way}`, async (t) => {
    const tools = await toolsOf(t, await open(t), { maxCalls: 2 });
    const stop = new AbortController();
    const stopped = callOf(tools, 'wait', {}, { run: { signal: stop.signal } });
    await until(async () => (await reportOf(tools)).calls.length === 1);
    stop.abort(new Error('stopped'));
    await t.throwsAsync(stopped, { message: 'stopped' });
    await until(async () => (await reportOf(tools)).cancelled === 1);
    t.pass();
  });

  test(`a call that takes too long at a server ${way} is given up and cancelled`, async (t) => {
    const tools = await toolsOf(t, await open(t), { timeoutMs: 3000 });
    t.like((await callOf(tools, 'wait')).result, { output: 'the MCP server took too long to answer', is_error: true });
    await until(async () => (await reportOf(tools)).cancelled === 1);
  });

  test(`a call that was lost with the connection to a server ${way} is made again only when it may be`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const server = await open(t);
    const careful = await toolsOf(t, server);
    const { result } = await callOf(careful, 'die', { file: join(folder, 'one') });
    t.like(result, { is_error: true });
    t.is(result?.['output'], 'the connection to the MCP server was lost: the call may have taken effect');
    t.is(await outputOf(careful, 'die', { file: join(folder, 'one') }), 'alive');
    const safe = await toolsOf(t, server, { replay: { die: 'safe' } });
    t.is(await outputOf(safe, 'die', { file: join(folder, 'two') }), 'alive');
  });

  test(`a question of a server ${way} that is answered on a web page is refused`, async (t) => {
    const tools = await toolsOf(t, await open(t));
    const { walked, result } = await callOf(tools, 'sign_in');
    t.false(walked.waiting);
    t.like(result, { is_error: true });
    t.notRegex(String(result?.['output']), /sign-in\.example/);
  });
}

for (const older of [false, true]) {
  const year = older ? 'of 2025' : 'of today';

  test(`a server ${year} that was started again is reached by the next call, and its absence names no host`, async (t) => {
    const server = await httpServer(t, { older });
    const tools = await toolsOf(t, { url: server.url });
    t.deepEqual(await outputOf(tools, 'add', { a: 1, b: 1 }), { sum: 2 });
    await server.stop();
    const { result } = await callOf(tools, 'add', { a: 1, b: 1 });
    t.like(result, { output: 'the MCP server cannot be reached', is_error: true });
    await server.start();
    t.is(await outputOf(tools, 'notes_write'), 'written');
    t.deepEqual(
      server.seen.calls.map(({ tool }) => tool),
      ['add', 'notes.write'],
    );
  });

  test(`a call whose reply is cut off by a server ${year} fails at once, and is made again when it may be`, async (t) => {
    const server = await httpServer(t, { older });
    const careful = await toolsOf(t, { url: server.url });
    const cut = callOf(careful, 'wait');
    await until(() => server.seen.calls.length === 1);
    await server.stop();
    t.like((await cut).result, {
      output: 'the connection to the MCP server was lost: the call may have taken effect',
      is_error: true,
    });
    await server.start();
    const safe = await toolsOf(t, { url: server.url }, { replay: 'safe' });
    const stop = new AbortController();
    const again = callOf(safe, 'wait', {}, { run: { signal: stop.signal } });
    await until(() => server.seen.calls.length === 2);
    await server.stop();
    await server.start();
    await until(() => server.seen.calls.length === 3);
    stop.abort(new Error('stopped'));
    await t.throwsAsync(again, { message: 'stopped' });
  });

  test(`calls at the same time at a server ${year} each get the answers to their own questions`, async (t) => {
    const server = await httpServer(t, { older });
    const tools = await toolsOf(t, { url: server.url });
    const cities = ['Porto', 'Ghent', 'Turin', 'Riga'];
    const booked = cities.map(async (city) => {
      const asked = await callOf(tools, 'book');
      const where = { [String(asked.walked.interrupts[0]?.id)]: { action: 'accept', content: { city } } };
      const again = await callOf(tools, 'book', {}, { from: asked.walked, answers: where });
      const long = { [String(again.walked.interrupts[0]?.id)]: { action: 'accept', content: { nights: city.length } } };
      return outputOf(tools, 'book', {}, { from: again.walked, answers: long });
    });
    t.deepEqual(
      await Promise.all(booked),
      cities.map((city) => `${city} for ${String(city.length)} nights`),
    );
  });

  test(`headers go to a server ${year} with every request, and a refused one names the status alone`, async (t) => {
    const server = await httpServer(t, { older, token: 'sesame' });
    const tools = await toolsOf(t, { url: server.url, headers: { Authorization: 'Bearer sesame' } });
    await outputOf(tools, 'add', { a: 1, b: 1 });
    t.deepEqual([...new Set(server.authorizations)], ['Bearer sesame']);
    const refused = await t.throwsAsync(mcpTools({ url: server.url, headers: { Authorization: 'Bearer open' } }));
    t.is(refused.message, 'the MCP server refused the credentials (401): check headers');
  });
}

test('a server that is not there stops the start with a message that names the setting alone', async (t) => {
  const away = await startMcpHttp();
  await away.stop();
  const unreached = await t.throwsAsync(mcpTools({ url: away.url }));
  t.is(unreached.message, 'the MCP server cannot be reached: check url');
  t.regex(inspect(unreached.cause, { depth: 5 }), /ECONNREFUSED/);
  const unknown = await t.throwsAsync(mcpTools({ command: '/nowhere/tools' }));
  t.is(unknown.message, 'the MCP server cannot be reached: check command');
});

test('a command gets its own variables and those that every process needs, and ends when the tools are closed', async (t) => {
  process.env['SECRET'] = 'sesame';
  t.teardown(() => delete process.env['SECRET']);
  const tools = await mcpTools({ ...command(), env: { HOME: '/somewhere' } });
  const { pid, home, secret } = await reportOf(tools);
  t.deepEqual([home, secret], ['/somewhere', undefined]);
  await tools.close();
  await until(() => !isRunning(pid));
  t.like((await callOf(tools, 'report')).result, { output: 'the tools of the MCP server were closed', is_error: true });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a prefix stands before every name, so that the tools of two servers go into one graph', async (t) => {
  const server = await httpServer(t);
  const one = await toolsOf(t, { url: server.url }, { prefix: 'one_', replay: 'safe' });
  const two = await toolsOf(t, { url: server.url }, { prefix: 'two_', replay: { add: 'once' } });
  t.deepEqual(await outputOf([...one, ...two], 'two_add', { a: 1, b: 2 }), { sum: 3 });
  t.true(one.every(({ replay }) => replay === 'safe'));
  t.is(two.find(({ name }) => name === 'two_add')?.replay, 'once');
  t.is(two.find(({ name }) => name === 'two_report')?.replay, 'safe');
  t.throws(() => createReactAgent({ model: fakeModel([]), tools: [...one, ...one] }), { message: /"one_add"/ });
});

test('a list of tools is read page by page, and 256 tools are taken of it', async (t) => {
  const many = await httpServer(t, { listed: 250 });
  const tools = await toolsOf(t, { url: many.url });
  t.is(tools.length, 250);
  t.is(tools.at(-1)?.name, 'tool_249');
  const tooMany = await httpServer(t, { listed: 257 });
  const taken = await toolsOf(t, { url: tooMany.url });
  t.is(taken.length, 256);
  t.deepEqual(
    taken.setAside.map(({ name }) => name),
    ['1 further tools'],
  );
});
