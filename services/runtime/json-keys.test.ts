import { execFileSync } from 'node:child_process';
import test from 'ava';
import fc from 'fast-check';
import { parseEscapedKeys } from './json-keys.ts';

const { parse } = JSON;

/** Keys of which some are what others are written as. */
const keys = ['', '\\', '"', '\n', 'n', '\\n', '\\\\', '\\"', '"\\', '\t', '\\u0009', 'a', '\\u0061', '__proto__', '1'];

const anyKey = fc.oneof(fc.constantFrom(...keys), fc.string());
const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(fc.string(), fc.constantFrom(null, true, 1, ...keys)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(anyKey, tie('value')), { maxLength: 6 }).map((entries) => new Map(entries)),
  ),
})).value;

/** Writes maps as objects, in the order in which `JSON.parse` lists keys; texts with an escape where `escapes` says so. */
function write(value: unknown, escapes: (code: number) => boolean): string {
  if (typeof value === 'string') return writeText(value, escapes);
  if (Array.isArray(value)) return `[ ${value.map((each) => write(each, escapes)).join(' ,')}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  const members = Array.from(value as Map<string, unknown>, ([key, inner]) => {
    return `${writeText(key, escapes)}\n : ${write(inner, escapes)}`;
  });
  return `{${members.join(', ')} }`;
}

const writeText = (text: string, escapes: (code: number) => boolean): string =>
  `"${Array.from({ length: text.length }, (_, at) => {
    const code = text.charCodeAt(at);
    return escapes(code) ? `\\u${code.toString(16).padStart(4, '0')}` : JSON.stringify(text[at]).slice(1, -1);
  }).join('')}"`;

/** The value with an entry for each member of an object, in their order. */
function entriesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(entriesOf);
  if (value instanceof Map) return inOrder([...value].map(([key, inner]) => [String(key), entriesOf(inner)]));
  if (typeof value !== 'object' || value === null) return value;
  return { entries: Object.entries(value).map(([key, inner]) => [key, entriesOf(inner)]) };
}

/** An object lists its indices first, from the smallest on. */
function inOrder(entries: readonly (readonly [string, unknown])[]): unknown {
  const isIndex = (key: string): boolean => /^(?:0|[1-9]\d{0,8})$/.test(key);
  const indices = entries.filter(([key]) => isIndex(key)).sort(([a], [b]) => Number(a) - Number(b));
  return { entries: [...indices, ...entries.filter(([key]) => !isIndex(key))].map((entry) => [...entry]) };
}

test('a JSON text is read as it is written, whichever characters of its keys and texts are escaped', (t) => {
  fc.assert(
    fc.property(anyValue, fc.integer({ min: 1, max: 7 }), (value, divisor) => {
      const text = write(value, (code) => code % divisor === 0);
      t.deepEqual(entriesOf(parseEscapedKeys(text, parse)), entriesOf(value), text);
    }),
    { numRuns: 2000 },
  );
});

test('of a key that stands twice the last value is read, whether it is written with an escape or not', (t) => {
  t.deepEqual(parseEscapedKeys(String.raw`{"a":1,"\u0061":2,"b":3}`, parse), { a: 2, b: 3 });
  t.deepEqual(parseEscapedKeys(String.raw`{"a":1,"\u0061":2,"a":3}`, parse), { a: 3 });
  t.deepEqual(parseEscapedKeys(String.raw`{"\n":1,"b":2,"\u000a":3}`, parse), { '\n': 3, b: 2 });
});

test('a text that is no JSON is refused as it would be', (t) => {
  const broken = fc.tuple(anyValue, fc.nat(), fc.constantFrom('', '"', '\\', ':', '}', '\\u0061', 'x'));
  fc.assert(
    fc.property(broken, ([value, place, insert]) => {
      const text = write(value, (code) => code % 2 === 0);
      const at = place % (text.length + 1);
      const other = `${text.slice(0, at)}${insert}${text.slice(insert === '' ? at + 1 : at)}`;
      t.is(
        isRead(() => parseEscapedKeys(other, parse)),
        isRead(() => parse(other) as unknown),
        other,
      );
    }),
    { numRuns: 2000 },
  );
});

function isRead(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

test('a process reads a key that is written with an escape, also after another key of a backslash', (t) => {
  const program = `import { runProcess } from '@agent-workflow/runtime/process';
    await runProcess(async () => {
      const texts = [${String.raw`'{"\\\\":null}', '{"\\"":null}', '{"x":1,"\\\\":1}', '{"x":1,"\\n":1}'`}];
      process.stdout.write(JSON.stringify(texts.map((text) => JSON.stringify(JSON.parse(text)) === text)));
      process.exit();
    });`;
  const areSame = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  t.is(areSame, '[true,true,true,true]');
});
