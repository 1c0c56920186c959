import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAgents } from '@agent-workflow/execution/agents/load';
import { createReactAgent, tool, type Block, type Tool } from '@agent-workflow/graph';
import { mcpTools, type McpTools, type McpToolsOptions } from '@agent-workflow/graph/mcp';
import { fakeModel, user, walk } from '@agent-workflow/graph/testing';
import test, { type ExecutionContext } from 'ava';
import { until } from '../until.ts';
import { pageOf, startRawMcp, type RawMcp, type StartedRawMcp } from '../servers/mcp-raw.ts';

interface Opened {
  readonly tools: McpTools;
  readonly server: StartedRawMcp;
}

async function open(t: ExecutionContext, raw: RawMcp, options?: McpToolsOptions): Promise<Opened> {
  const server = await startRawMcp(raw);
  t.teardown(() => server[Symbol.asyncDispose]());
  const tools = await mcpTools({ url: server.url }, options);
  t.teardown(tools.close);
  return { tools, server };
}

/** The result of one call as the model reads it, of an agent that has all the tools. */
async function resultOf(tools: readonly Tool[], name: string, args: object = {}): Promise<Block> {
  const model = fakeModel([[{ type: 'tool_call', id: 'call', name, args }], 'Done.']);
  const { state } = await walk(createReactAgent({ model, tools }), { context: [user('Go on.')] });
  return state.context.flatMap(({ content }) => content).find(({ type }) => type === 'tool_result') as Block;
}

const object = (properties: object, rest: object = {}): object => ({ type: 'object', properties, ...rest });
const good = { name: 'good', inputSchema: object({}) };

/** Schemas of servers that work: arguments that pass, and others that the model is told of. Sources: the reports of the field. */
const taken: readonly (readonly [
  what: string,
  inputSchema: unknown,
  passes: object,
  fails?: readonly [args: object, fault: string],
])[] = [
  [
    'a pattern with escapes that ECMAScript does not know (langchainjs#11351, n8n#35320)',
    object({ url: { type: 'string', pattern: '^https\\:\\/\\/' } }),
    { url: 'https://a' },
    [{ url: 'ftp://a' }, 'arguments/url must match the pattern of its schema'],
  ],
  [
    'a pattern of PCRE',
    object({ id: { type: 'string', pattern: '(?i)\\A[a-z]++\\z' } }),
    { id: 'AB' },
    [{ id: '1' }, 'arguments/id must match the pattern of its schema'],
  ],
  [
    'nullable beside anyOf (ajv#1737)',
    object({ a: { nullable: true, anyOf: [{ type: 'string' }, { type: 'number' }] } }),
    { a: null },
    [{ a: {} }, 'arguments/a must be string, arguments/a must be number, arguments/a must match a schema in anyOf'],
  ],
  [
    'nullable beside $ref',
    { ...object({ a: { $ref: '#/$defs/b', nullable: true } }), $defs: { b: { type: 'string' } } },
    { a: null },
    [{ a: 1 }, 'arguments/a must be string'],
  ],
  [
    'a reference to the schema itself (mastra#15400, ajv#815)',
    object({ name: { type: 'string' }, child: { $ref: '#' } }),
    { child: { child: { name: 'a' } } },
    [{ child: { child: { name: 1 } } }, 'arguments/child/child/name must be string'],
  ],
  [
    'draft 4',
    {
      $schema: 'http://json-schema.org/draft-04/schema#',
      id: 'http://example.org/a',
      ...object({ n: { minimum: 0, exclusiveMinimum: true }, m: { $ref: '#/definitions/m' } }),
      definitions: { m: { type: 'integer' } },
    },
    { n: 1, m: 1 },
    [{ n: 0 }, 'arguments/n must be > 0'],
  ],
  [
    'draft 3',
    { $schema: 'http://json-schema.org/draft-03/schema#', ...object({ a: { type: 'any', required: true } }) },
    { a: 1 },
    [{}, "arguments must have required property 'a'"],
  ],
  [
    'draft 6',
    { $schema: 'http://json-schema.org/draft-06/schema#', ...object({ a: { const: 1 } }) },
    { a: 1 },
    [{ a: 2 }, 'arguments/a must be equal to constant'],
  ],
  [
    '2019-09',
    {
      $schema: 'https://json-schema.org/draft/2019-09/schema',
      ...object({ a: { items: [{ type: 'string' }], unevaluatedItems: false } }),
    },
    { a: ['a'] },
    [{ a: ['a', 1] }, 'arguments/a must NOT have unevaluated items'],
  ],
  [
    '2020-12',
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...object({ a: { prefixItems: [{ type: 'string' }], items: false } }),
      $defs: {},
    },
    { a: ['a'] },
    [{ a: ['a', 1] }, 'arguments/a must NOT have more than 1 items'],
  ],
  [
    'a $schema that nobody knows',
    { $schema: 'https://example.org/mine', ...object({ a: { type: 'string' } }) },
    { a: '' },
    [{ a: 1 }, 'arguments/a must be string'],
  ],
  [
    'a format that nobody knows, and words that are none',
    object({ a: { type: 'string', format: 'path', 'x-order': 1, markdownDescription: '**a**' } }),
    { a: 'b' },
  ],
  [
    'null in place of lists and schemas',
    {
      type: 'object',
      properties: { a: { type: 'string', enum: null, items: null, description: null } },
      required: null,
      additionalProperties: null,
    },
    { a: 'b' },
    [{ a: 1 }, 'arguments/a must be string'],
  ],
  ['null in place of members', { type: 'object', properties: null }, { a: 1 }],
  ['no schema', undefined, { a: 1 }],
  ['null as schema', null, { a: 1 }],
  ['true as schema', true, { a: 1 }],
  ['no type', { properties: { a: { type: 'string' } } }, { a: '' }, [{ a: 1 }, 'arguments/a must be string']],
  [
    'types of Gemini and Python',
    object({ a: { type: 'STRING' }, b: { type: 'float' }, c: { type: 'list' }, d: { type: 'file' } }),
    { a: '', b: 1.5, c: [], d: {} },
    [{ b: 'x' }, 'arguments/b must be number'],
  ],
  [
    'schemas that are true or false',
    object({ a: true, b: false }),
    { a: 1 },
    [{ b: 1 }, 'arguments/b boolean schema is false'],
  ],
  ['an empty list of alternatives', object({ a: { anyOf: [], type: 'string' } }), { a: '' }],
  [
    'numbers as texts',
    object({ a: { type: 'string', maxLength: '3' } }),
    { a: 'abc' },
    [{ a: 'abcd' }, 'arguments/a must NOT have more than 3 characters'],
  ],
  [
    'a bound of draft 4 where $schema names 2020-12 (Dokploy/mcp#74)',
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...object({ ttl: { type: 'integer', exclusiveMinimum: true, minimum: 0 } }),
    },
    { ttl: 1 },
    [{ ttl: 0 }, 'arguments/ttl must be > 0'],
  ],
  [
    'a date as the bound of a text (kestra#17075)',
    object({ at: { type: 'string', format: 'date', minimum: '2024-01-01' } }),
    { at: '2026-01-01' },
    [{ at: 'soon' }, 'arguments/at must match format "date"'],
  ],
  ['a type that is misspelled (apicurio-registry#10080)', object({ city: { type: 'strng' } }), { city: 'Porto' }],
  [
    'names of members twice in required',
    object({ a: {} }, { required: ['a', 'a'] }),
    { a: 1 },
    [{}, "arguments must have required property 'a'"],
  ],
  [
    'a pointer below an $id',
    { ...object({ a: { $id: 'https://example.org/b', $ref: '#/$defs/c' } }), $defs: { c: { type: 'string' } } },
    { a: '' },
    [{ a: 1 }, 'arguments/a must be string'],
  ],
];

for (const [what, inputSchema, passes, fails] of taken) {
  test(`a tool works whose schema has ${what}`, async (t) => {
    const { tools, server } = await open(t, pageOf(good, { name: 'odd', inputSchema }));
    t.deepEqual(tools.setAside, []);
    t.like(await resultOf(tools, 'odd', passes), { output: 'called odd', is_error: false });
    t.deepEqual(
      server.calls.map(({ arguments: args }) => args),
      [passes],
    );
    if (!fails) return;
    t.like(await resultOf(tools, 'odd', fails[0]), { output: fails[1], is_error: true });
    t.is(server.calls.length, 1);
  });
}

const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });

const unusable: readonly (readonly [what: string, tool: unknown, named: string, reason: RegExp])[] = [
  [
    'refers to nothing (oh-my-pi#2652)',
    { name: 'odd', inputSchema: object({ a: { $ref: '#/$defs/gone' } }) },
    'odd',
    /^the reference "#\/\$defs\/gone" leads to nothing$/,
  ],
  [
    'has a pattern that no linear engine can match',
    { name: 'odd', inputSchema: object({ a: { pattern: '^(a)\\1$' } }) },
    'odd',
    /^the pattern "\^\(a\)\\\\1\$" cannot be used: it refers to what a group matched/,
  ],
  ['is a text', { name: 'odd', inputSchema: 'object' }, 'odd', /^the schema must be an object, not string$/],
  [
    'is of a text (atlas-ui-3#727)',
    { name: 'odd', inputSchema: { type: 'string' } },
    'odd',
    /^the schema must be of an object, not of type string$/,
  ],
  ['is a list', { name: 'odd', inputSchema: [] }, 'odd', /^the schema must be an object, not a list$/],
  [
    'is larger than 64 KiB',
    { name: 'odd', inputSchema: object({ a: { description: 'x'.repeat(64 * 1024) } }) },
    'odd',
    /^the schema has \d+ bytes, more than 65536$/,
  ],
  ['has very many levels', { name: 'odd', inputSchema: nested(200) }, 'odd', /^the schema has more than 128 levels$/],
  ['belongs to a tool without a name', { inputSchema: {} }, 'tool 2 of the list', /^it has no name$/],
  ['belongs to a tool whose name is a number', { name: 5, inputSchema: {} }, 'tool 2 of the list', /^it has no name$/],
  ['belongs to no tool', null, 'tool 2 of the list', /^it has no name$/],
  [
    'belongs to another tool of the same name',
    { name: 'good', inputSchema: object({ a: {} }) },
    'good',
    /^the server has another tool of this name$/,
  ],
];

for (const [what, odd, named, reason] of unusable) {
  test(`a tool is set aside, and its server's others work, whose schema ${what}`, async (t) => {
    const { tools } = await open(t, pageOf(good, odd, { name: 'last', inputSchema: {} }));
    t.deepEqual(
      tools.map(({ name }) => name),
      ['good', 'last'],
    );
    t.deepEqual(
      tools.setAside.map(({ name }) => name),
      [named],
    );
    t.regex(tools.setAside[0]?.reason ?? '', reason);
    t.like(await resultOf(tools, 'last'), { output: 'called last' });
  });
}

test('of a tool only the odd parts are left out: title, description, annotations, icons', async (t) => {
  const odd = {
    name: 'odd',
    title: 5,
    description: ['a'],
    annotations: 'read-only',
    icons: {},
    _meta: 7,
    outputSchema: { type: 'no' },
  };
  const { tools } = await open(
    t,
    pageOf(odd, {
      name: 'titled',
      title: 'A title',
      inputSchema: {},
      annotations: { readOnlyHint: 'yes', idempotentHint: true },
    }),
  );
  t.deepEqual(
    tools.map(({ name, description, replay }) => [name, description, replay]),
    [
      ['odd', 'odd', 'once'],
      ['titled', 'A title', 'safe'],
    ],
  );
  t.like(await resultOf(tools, 'odd'), { output: 'called odd' });
});

test('a list ends whose cursor comes again, and pages that come again give their tools once', async (t) => {
  const again = { tools: [good], nextCursor: '0' };
  const { tools } = await open(t, {
    pages: [
      { tools: [good], nextCursor: '1' },
      { tools: [good, { name: 'more', inputSchema: {} }], nextCursor: '2' },
      { ...again, nextCursor: '1' },
    ],
  });
  t.deepEqual(
    tools.map(({ name }) => name),
    ['good', 'more'],
  );
  t.deepEqual(tools.setAside, []);
});

test('a list that fails on a later page gives the tools of the pages before', async (t) => {
  const { tools } = await open(t, { pages: [{ tools: [good], nextCursor: '7' }] });
  t.deepEqual(
    tools.map(({ name }) => name),
    ['good'],
  );
  t.deepEqual(tools.setAside, [{ name: 'all further tools', reason: 'the server did not give the rest of its list' }]);
});

test('of ten thousand tools 256 are taken, and the log counts the others', async (t) => {
  const { tools } = await open(
    t,
    pageOf(...Array.from({ length: 10_000 }, (_, index) => ({ name: `tool_${String(index)}`, inputSchema: {} }))),
  );
  t.is(tools.length, 256);
  t.is(tools.setAside.length, 1);
  t.is(tools.setAside[0]?.name, '9744 further tools');
});

/** Results of calls that were done: what the model reads. */
const results: readonly (readonly [what: string, result: unknown, output: unknown, isError?: boolean])[] = [
  [
    'structured content that is a list (agent-os#2020)',
    { content: [{ type: 'text', text: '[1]' }], structuredContent: [1] },
    '[1]',
  ],
  ['structured content that is a list, and no text', { content: [], structuredContent: [1] }, [1]],
  ['structured content that is a text', { content: [{ type: 'text', text: 'a' }], structuredContent: 'b' }, 'a'],
  [
    'structured content that breaks the output schema',
    { content: [{ type: 'text', text: 'a' }], structuredContent: { sum: 'five' } },
    { sum: 'five' },
  ],
  ['no structured content, which the output schema asks for', { content: [{ type: 'text', text: 'a' }] }, 'a'],
  ['no content', {}, ''],
  ['null as content', { content: null }, ''],
  ['null as structured content', { content: [{ type: 'text', text: 'a' }], structuredContent: null }, 'a'],
  ['a text as content', { content: 'a' }, 'a'],
  ['texts as content', { content: ['a', 'b'] }, 'a\nb'],
  ['one block as content', { content: { type: 'text', text: 'a' } }, 'a'],
  [
    'a block of a kind that nobody knows',
    { content: [{ type: 'chart', points: [1] }] },
    [{ type: 'chart', points: [1] }],
  ],
  ['a block without a kind', { content: [{ text: 'a' }] }, [{ text: 'a' }]],
  [
    'members that the protocol does not have',
    { content: [{ type: 'text', text: 'a', extra: 1 }], took: 5, resultType: 'finished' },
    'a',
  ],
  ['the result of a protocol before', { toolResult: { sum: 5 } }, { toolResult: { sum: 5 } }],
  ['a mark of an error that is null', { content: [{ type: 'text', text: 'a' }], isError: null }, 'a'],
  ['a mark of an error that is a text', { content: [{ type: 'text', text: 'a' }], isError: 'true' }, 'a', true],
  ['an error without a text', { isError: true }, 'the tool failed and did not say why', true],
];

for (const [what, result, output, isError = false] of results) {
  test(`a call that was done is done whose result has ${what}`, async (t) => {
    const sum = {
      name: 'sum',
      inputSchema: {},
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    };
    const { tools, server } = await open(t, { ...pageOf(sum), results: { sum: result } });
    const block = await resultOf(tools, 'sum');
    t.deepEqual([block['output'], block['is_error']], [output, isError]);
    t.is(server.calls.length, 1);
  });
}

/** Replies to calls that were done, and the last two to calls that were refused, in envelopes that JSON-RPC does not have. */
const envelopes: readonly (readonly [what: string, envelope: Readonly<Record<string, unknown>>, output: string])[] = [
  ['an error that is null beside the result', { error: null }, 'called sum'],
  ['members that nobody knows', { took: 5, jsonrpc: undefined }, 'called sum'],
  ['a text as result', { result: 'a' }, 'a'],
  ['blocks as result', { result: [{ type: 'text', text: 'a' }] }, 'a'],
  ['null as result', { result: null }, ''],
  [
    'a code that is a text',
    { result: undefined, error: { code: '-32602', message: 'no such city' } },
    'the MCP server refused the call: no such city',
  ],
  ['an error that is a text', { result: undefined, error: 'no' }, 'the MCP server refused the call (-32000)'],
];

for (const [what, envelope, output] of envelopes) {
  test(`a reply is read for what it means that has ${what}`, async (t) => {
    const sum = { name: 'sum', inputSchema: {} };
    const { tools, server } = await open(t, { ...pageOf(sum), envelopes: { sum: envelope } });
    const block = await resultOf(tools, 'sum');
    t.deepEqual([block['output'], block['is_error']], [output, output.startsWith('the MCP server')]);
    t.is(server.calls.length, 1);
  });
}

test('a call whose reply is cut leaves the calls beside it alone', async (t) => {
  const page = pageOf({ name: 'slow', inputSchema: {} }, { name: 'torn', inputSchema: {} });
  const { tools, server } = await open(t, { ...page, cut: { name: 'torn', before: 'slow' } });
  const slow = resultOf(tools, 'slow');
  await until(() => server.calls.length === 1);
  const torn = await resultOf(tools, 'torn');
  t.is(torn['output'], 'the connection to the MCP server was lost: the call may have taken effect');
  t.like(await slow, { output: 'called slow', is_error: false });
  t.like(await resultOf(tools, 'slow'), { output: 'called slow' });
  t.is(server.calls.length, 3);
});

test('names that providers refuse are changed, each by itself, and lead to the tool', async (t) => {
  const long = `mcp__${'filesystem_'.repeat(6)}read`;
  const names = [long, `${long}_again`, 'notes.write', 'notes/write', '2fa', 'søg efter', '搜索', 'plain'];
  const listed = (order: readonly string[]): RawMcp => pageOf(...order.map((name) => ({ name, inputSchema: {} })));
  const { tools, server } = await open(t, listed(names));
  const called = new Map(tools.map(({ name }, index) => [names[index], name]));
  for (const { name } of tools) t.regex(name, /^[A-Za-z_][\w-]{0,63}$/);
  t.is(new Set(called.values()).size, names.length);
  t.is(called.get('plain'), 'plain');
  const reversed = await open(t, listed(names.toReversed()));
  t.deepEqual(reversed.tools.map(({ name }) => name).toReversed(), [...called.values()]);
  await resultOf(tools, called.get(long) ?? '');
  t.is(server.calls[0]?.['name'], long);
});

test("tools of one name on two servers each have a name of their own, and the author's keeps his", async (t) => {
  const one = await open(t, pageOf({ name: 'search', inputSchema: {} }));
  const other = await open(t, pageOf({ name: 'search', inputSchema: {} }));
  const { tools } = createReactAgent({ model: fakeModel([]), tools: [...one.tools, ...other.tools] });
  const [first, second] = tools.map(({ name }) => name);
  t.is(first, 'search');
  t.regex(second ?? '', /^search_[\da-f]{8}$/);
  await resultOf([...one.tools, ...other.tools], second ?? '');
  t.deepEqual([one.server.calls.length, other.server.calls.length], [0, 1]);
  const own = tool({ name: 'search', description: '', parameters: {} }, () => 'mine');
  t.is((await resultOf([...one.tools, own], 'search'))['output'], 'mine');
});

test('who loads an agent is warned of each tool that is set aside, with its server and the reason', async (t) => {
  await using server = await startRawMcp(pageOf(good, { name: 'odd', inputSchema: { $ref: '#/gone' } }));
  const folder = mkdtempSync(join(tmpdir(), 'set-aside-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const [graph, mcp, testing] = ['', '/mcp', '/testing'].map((part) =>
    JSON.stringify(import.meta.resolve(`@agent-workflow/graph${part}`)),
  );
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'agent.js'),
    `import { createReactAgent } from ${String(graph)};
    import { mcpTools } from ${String(mcp)};
    import { fakeModel } from ${String(testing)};
    const tools = await mcpTools({ url: '${server.url}?token=secret' });
    await tools.close();
    export const graph = createReactAgent({ model: fakeModel([]), tools });`,
  );
  const warnings: string[] = [];
  const { list } = await loadAgents(
    { agent: './agent.js:graph', agents: undefined, defaultAgent: undefined, folder },
    (warning) => warnings.push(warning),
  );
  t.deepEqual(
    list[0]?.graph.tools.map(({ name }) => name),
    ['good'],
  );
  // Other tests of this file are warned of their servers meanwhile.
  const own = warnings.filter((warning) => warning.includes(server.url));
  t.deepEqual(own, [
    `tool "odd" of the MCP server ${server.url} is set aside: the reference "#/gone" leads to nothing`,
  ]);
});
