import test from 'ava';
import { bundle } from './bundle.ts';

const built = new Map([
  [
    'services/one/main.js',
    `import { name } from '../kit/name.js';\nexport const load = () => import('./rare.js');\nexport { name };`,
  ],
  [
    'services/one/rare.js',
    `import { name } from '../kit/name.js';\nimport big from 'big';\nexport const rare = [name, big];`,
  ],
  [
    'services/two/main.js',
    `import { name, text } from '../kit/name.js';\nexport function say() { return name + text; }`,
  ],
  [
    'services/kit/name.js',
    `import { readFileSync } from 'node:fs';\nimport retry from '../../vendor/retry/index.js';\nexport const name = retry(Symbol());\n` +
      `export const text = readFileSync(new URL('./name.txt', import.meta.url), 'utf8');\n` +
      `export const thread = () => new Worker(new URL('./thread.js', import.meta.url));`,
  ],
  ['services/kit/thread.js', `console.log('a thread');`],
  ['services/one/main.d.ts', `export declare const name: symbol;`],
]);
const entries = ['services/one/main.js', 'services/two/main.js'];

const textsWith = async (wanted: string): Promise<readonly string[]> =>
  [...(await bundle(built, entries))].filter(([, text]) => text.includes(wanted)).map(([path]) => path);

test('entries and threads keep their paths, and types stay as they are', async (t) => {
  const files = await bundle(built, entries);
  for (const path of [...entries, 'services/kit/thread.js']) t.true(files.has(path), path);
  t.is(files.get('services/one/main.d.ts'), built.get('services/one/main.d.ts'));
});

test('what entries share exists once, and its paths lead where they led', async (t) => {
  const shared = await textsWith('Symbol()');
  t.is(shared.length, 1);
  const text = (await bundle(built, entries)).get(shared[0] ?? '') ?? '';
  t.regex(shared[0] ?? '', /^chunks\/name-/);
  t.regex(text, /"\.\.\/vendor\/retry\/index\.js"/);
  t.regex(text, /new URL\("\.\/name\.txt", new URL\("\.\.\/services\/kit\/name\.js", import\.meta\.url\)\)/);
});

test('what is imported when it is needed stays a file of its own, and other packages stay imports', async (t) => {
  t.deepEqual((await textsWith('from "big"')).length, 1);
  t.regex((await textsWith('from "big"'))[0] ?? '', /^chunks\/rare-/);
});

test('functions keep their names, and a comment names each module', async (t) => {
  t.deepEqual(await textsWith('function say()'), ['services/two/main.js']);
  t.regex((await bundle(built, entries)).get('services/two/main.js') ?? '', /^\/\/ services\/two\/main\.js$/m);
});

test('a module that depends on its place is refused where it would move into an entry', async (t) => {
  const moved = new Map([
    ...built,
    ['services/one/main.js', `import './place.js';`],
    ['services/one/place.js', `export default import.meta.url;`],
  ]);
  await t.throwsAsync(bundle(moved, ['services/one/main.js']), {
    message: /^services\/one\/place\.js depends on its place/,
  });
});
