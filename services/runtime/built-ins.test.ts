import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { changedSince, hideInherited, readBuiltIns, whoNames } from './built-ins.ts';

test.serial('what is added, replaced or removed of built-in objects is found by its name', (t) => {
  const before = readBuiltIns();
  t.deepEqual(changedSince(before), []);
  const trim = Object.getOwnPropertyDescriptor(String.prototype, 'trim') ?? {};
  const { fetch } = globalThis;
  Object.assign(Array.prototype, { lastOne: 1 });
  Object.assign(String.prototype, { trim: () => '' });
  Object.assign(globalThis, { fetch: () => undefined });
  const found = changedSince(before);
  Reflect.deleteProperty(Array.prototype, 'lastOne');
  Object.defineProperty(String.prototype, 'trim', trim);
  Object.assign(globalThis, { fetch });
  t.deepEqual(found, ['globalThis.fetch', 'Array.prototype.lastOne', 'String.prototype.trim']);
  t.deepEqual(changedSince(before), []);
});

test.serial('a member that was added to the prototype of all objects works, and no loop meets it', (t) => {
  // Names that a description of a member has, too.
  Object.assign(Object.prototype, { extend: () => 'extended', get: () => 'got', set: () => 'set' });
  hideInherited();
  const met = [];
  for (const key in { own: 1 }) met.push(key);
  const { extend, get } = {} as { extend: () => string; get: () => string };
  const shown = [extend(), get()];
  for (const key of ['extend', 'get', 'set']) Reflect.deleteProperty(Object.prototype, key);
  t.deepEqual([met, shown], [['own'], ['extended', 'got']]);
});

test('who changed a member is the package whose text has its name', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'built-ins-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const inPackage = join(folder, 'node_modules/@old/sugar');
  await mkdir(inPackage, { recursive: true });
  const files = [join(folder, 'agent.ts'), join(inPackage, 'index.js')] as const;
  await writeFile(files[0], `import '@old/sugar';`);
  await writeFile(files[1], `Array.prototype.lastOne = function () {};`);
  t.is(whoNames('Array.prototype.lastOne', files), '@old/sugar');
  t.is(whoNames('Array.prototype.nowhere', files), undefined);
});

test('who changed a member is who assigns to it, and no file of the service that has its name', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'built-ins-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const files = ['sugar.js', 'caller.js', 'node_modules/@agent-workflow/graph/index.js'].map((each) =>
    join(folder, each),
  );
  await mkdir(join(folder, 'node_modules/@agent-workflow/graph'), { recursive: true });
  const [sugar = '', caller = '', ours = ''] = files;
  await writeFile(sugar, `globalThis.fetch = () => {};\nObject.defineProperty(JSON, 'parse', { value: () => ({}) });`);
  await writeFile(caller, `fetch('http://127.0.0.1'); JSON.parse('{}');`);
  await writeFile(ours, `globalThis.fetch = 1; 'parse'`);
  const inClone = new URL('../graph/model/chat-request.ts', import.meta.url).pathname;
  const all = [...files, inClone];
  t.is(whoNames('globalThis.fetch', all), sugar);
  t.is(whoNames('JSON.parse', all), sugar);
  t.is(whoNames('globalThis.fetch', [ours, inClone]), undefined);
});
