import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { isCompiledGraph } from '@agent-workflow/graph/build/graph';
import type { Agents } from '../record/agents.ts';
import { loadAgents } from './load.ts';

const folder = await mkdtemp(join(tmpdir(), 'load-'));
test.after.always(async () => rm(folder, { recursive: true }));

const engine = fileURLToPath(import.meta.resolve('@agent-workflow/graph'));
const source = (type = ''): string => `
  import { START, StateGraph } from ${JSON.stringify(engine)};
  const draft = new StateGraph({}).addNode('a', (state${type}) => undefined).addEdge(START, 'a');
  export const graph = draft.compile();
  export { draft };
`;

const put = async (name: string, text: string): Promise<void> => {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
};

test.before(async () => {
  await put('package.json', '{"type":"module"}');
  await put('agent.js', source());
  await put('typed.ts', source(': { readonly context: readonly unknown[] }'));
  await put('agents/deep.mjs', source());
  await put('with:colon.js', source());
  await put('throws.js', `throw new TypeError('no key is set\\nsecond line');`);
  await put('throws-object.js', `throw { a: 1, b: ['c'] };`);
  await put('throws-text.js', `throw 'no key';`);
  await put('broken.js', `export const graph = ;`);
  await put('broken.ts', `const one: number = 1;\nexport const graph = ; `);
  await put(
    'around.ts',
    `import ${JSON.stringify('./agents/deep.mjs')};\nimport './broken.js';\nexport const graph = 1;`,
  );
  await put('enum.ts', 'enum Colour { Red }\nexport const graph = Colour;');
  await put('wants.ts', `import { x } from './empty.js';\nexport const graph = x;`);
  await put(
    'unjoined.ts',
    `import { StateGraph } from ${JSON.stringify(engine)};\n\nexport const graph = new StateGraph({}).addNode('a', () => undefined).compile();`,
  );
  await put('imports.js', `import './gone.js'; export const graph = 1;`);
  await put('empty.js', '');
  await put(
    'lang-graph.js',
    'export const graph = { getSubgraphsAsync() {} };\nexport const agent = { graph };\nexport const builder = { compile() {} };',
  );
  await put('plain.js', 'export const graph = { nodes: [] };\nexport const other = 1;');
  const manifest = { name: 'esm-agent', type: 'module', exports: { '.': { import: './index.js' } } };
  await put('node_modules/esm-agent/package.json', JSON.stringify(manifest));
  await put('node_modules/esm-agent/index.js', source());
  await put('node_modules/old-agent/package.json', '{"name":"old-agent","main":"main.mjs"}');
  await put('node_modules/old-agent/main.mjs', source());
});

/** What `service.json` says with one agent that has no name. */
const loadOne = (agent: string | undefined): Promise<Agents> =>
  loadAgents({ agent, agents: undefined, defaultAgent: undefined, folder });

for (const [what, location] of [
  ['a JavaScript file', 'agent.js:graph'],
  ['a file named from here', './agent.js:graph'],
  ['a TypeScript file', './typed.ts:graph'],
  ['a file in a folder', 'agents/deep.mjs:graph'],
  ['a file with a colon in its name', 'with:colon.js:graph'],
  ['an absolute file', `${folder}/agent.js:graph`],
  ['a package that exports for import alone', 'esm-agent:graph'],
  ['a package with a main', 'old-agent:graph'],
  ['a file inside a package', 'old-agent/main.mjs:graph'],
] as const) {
  test.serial(`the graph is loaded from ${what}`, async (t) => {
    const { list, areNamed } = await loadOne(location);
    t.deepEqual([areNamed, list.map(({ name }) => name)], [false, ['default']]);
    t.true(isCompiledGraph(list[0]?.graph));
  });
}

for (const [location, reason] of [
  ['agent.js', 'must be written <module>:<object>'],
  [':graph', 'must be written <module>:<object>'],
  ['agent.js:', 'must be written <module>:<object>'],
  ['', 'must be written <module>:<object>'],
  ['gone.js:graph', `there is no module "gone.js" in ${folder}`],
  ['./gone.js:graph', `there is no module "./gone.js" in ${folder}`],
  ['./typed:graph', `there is no module "./typed" in ${folder}: write "./typed.ts"`],
  ['typed.js:graph', `there is no module "typed.js" in ${folder}: write "typed.ts"`],
  ['no-such-package:graph', `there is no module "no-such-package" in ${folder}`],
  ['agent.js:nothing', `agent.js exports no "nothing", only draft, graph (${folder}/agent.js:4:3)`],
  ['agent.js:toString', `agent.js exports no "toString", only draft, graph (${folder}/agent.js:4:3)`],
  ['empty.js:graph', `empty.js exports no "graph", only nothing (${folder}/empty.js:1:1)`],
  ['agent.js:draft', `"draft" is not a compiled graph (is .compile() missing?) (${folder}/agent.js:5:12)`],
  ['plain.js:graph', `"graph" is not a compiled graph (is .compile() missing?) (${folder}/plain.js:1:14)`],
  ['plain.js:other', `"other" is not a compiled graph (is .compile() missing?) (${folder}/plain.js:2:14)`],
  ...(['graph', 'agent'] as const).map(
    (name, line) =>
      [
        `lang-graph.js:${name}`,
        `"${name}" is a graph of LangGraph.js: give it to fromLangGraph() of @agent-workflow/langgraph (${folder}/lang-graph.js:${line + 1}:14)`,
      ] as const,
  ),
  [
    'lang-graph.js:builder',
    `"builder" is not a compiled graph (is .compile() missing?) (${folder}/lang-graph.js:3:14)`,
  ],
  ['throws.js:graph', `"throws.js" does not load: TypeError: no key is set (${folder}/throws.js:1:7)`],
  ['throws-object.js:graph', `"throws-object.js" does not load: { a: 1, b: [ 'c' ] }`],
  ['throws-text.js:graph', `"throws-text.js" does not load: no key`],
  ['broken.js:graph', `"broken.js" does not load: SyntaxError: Unexpected token ';' (${folder}/broken.js:1:22)`],
  ['broken.ts:graph', `"broken.ts" does not load: SyntaxError: Expression expected (${folder}/broken.ts:2:22)`],
  ['around.ts:graph', `"around.ts" does not load: SyntaxError: Unexpected token ';' (${folder}/broken.js:1:22)`],
  [
    'enum.ts:graph',
    `"enum.ts" does not load: SyntaxError: TypeScript enum is not supported in strip-only mode (${folder}/enum.ts:1:1)`,
  ],
  [
    'wants.ts:graph',
    `"wants.ts" does not load: SyntaxError: The requested module './empty.js' does not provide an export named 'x' (${folder}/wants.ts:1:10)`,
  ],
  ['unjoined.ts:graph', `"unjoined.ts" does not load: Error: no edge leaves START (${folder}/unjoined.ts:3:71)`],
] as const) {
  test.serial(`${JSON.stringify(location)} is refused with one line that says why`, async (t) => {
    const error = await t.throwsAsync(loadOne(location), { instanceOf: ConfigError });
    t.is(error.message, `agent ${JSON.stringify(location)}: ${reason}`);
  });
}

test.serial('a module that imports one that is not there is refused with one line that names it', async (t) => {
  const error = await t.throwsAsync(loadOne('imports.js:graph'), { instanceOf: ConfigError });
  t.regex(error.message, /^agent "imports\.js:graph": "imports\.js" does not load: .*gone\.js.*imports\.js:1:11\)$/);
  t.notRegex(error.message, /\n/);
});

for (const [named, there] of [
  ['./typed', 'typed.ts'],
  ['./typed.js', 'typed.ts'],
] as const)
  test.serial(`an import of ${named} is refused with what to write`, async (t) => {
    await put('short.ts', `import { graph } from '${named}';\nexport { graph };`);
    const hint = `: write "${there}", an import has the extension of its file \\(.*short\\.ts:1:`;
    await t.throwsAsync(loadOne('short.ts:graph'), { instanceOf: ConfigError, message: new RegExp(hint) });
    await rm(join(folder, 'short.ts'));
  });

test.serial('without an agent there is none', async (t) => {
  const { list, find } = await loadOne(undefined);
  t.deepEqual([list, find(undefined), find('default')], [[], undefined, undefined]);
});

test.serial('several agents are found by their names, and the default without one', async (t) => {
  const agents = [
    { name: 'one', location: 'agent.js:graph' },
    { name: 'two', location: './typed.ts:graph', description: 'Is typed.' },
  ];
  const loaded = await loadAgents({ agent: undefined, agents, defaultAgent: 'two', folder });
  t.true(loaded.areNamed);
  t.like(loaded.list, [{ name: 'one' }, { name: 'two', description: 'Is typed.' }]);
  t.is(loaded.find('one'), loaded.list[0]);
  t.is(loaded.find(undefined), loaded.list[1]);
  t.is(loaded.find('default'), undefined);
  const without = await loadAgents({ agent: undefined, agents, defaultAgent: undefined, folder });
  t.is(without.find(undefined), undefined);
});

test.serial('of several agents the first that does not load is refused by its name', async (t) => {
  const agents = ['agent.js:graph', 'empty.js:graph', 'throws.js:graph'].map((location, index) => ({
    ...{ location, name: `agent-${String(index)}` },
  }));
  const error = await t.throwsAsync(loadAgents({ agent: undefined, agents, defaultAgent: undefined, folder }), {
    instanceOf: ConfigError,
  });
  t.is(
    error.message,
    `agents.agent-1 "empty.js:graph": empty.js exports no "graph", only nothing (${folder}/empty.js:1:1)`,
  );
});
