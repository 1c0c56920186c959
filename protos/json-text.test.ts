import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { readJson } from './json-text.ts';

const mostBytes = 3 * 1024 * 1024;

/** The type of the fault of a text, or its value as JSON. */
function read(value: Uint8Array | string, bound = mostBytes): string {
  try {
    return JSON.stringify(readJson(value, { at: ['field'], mostBytes: bound }));
  } catch (error) {
    if (isServiceError(error, 'Invalid')) return error.details[0]?.type ?? '';
    throw error;
  }
}

test('a text is measured before anything else of it is looked at', (t) => {
  t.is(read('"four"', 6), '"four"');
  for (const text of ['"four" ', '"éé"  ', 'no json', '['.repeat(5000), Buffer.alloc(7, 0xff)])
    t.is(read(text, 6), 'too_large', String(text.length));
});

test('levels are counted before a text is parsed, and brackets in texts are none', (t) => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  t.is(read(nested(1000)), nested(1000));
  t.is(read(nested(1001)), 'too_deep');
  t.is(read('{"a":'.repeat(1001)), 'too_deep', 'it is no JSON, which only parsing shows');
  const text = JSON.stringify(['[{'.repeat(2000), '\\"[', '"']);
  t.is(read(text), text);
  t.is(read('"\\"'), 'json_invalid');
});

test('lists and objects are counted before a text is parsed', (t) => {
  const lists = (count: number): string => `[${'[],'.repeat(count - 2)}[]]`;
  t.is(read(lists(300_000)), lists(300_000));
  t.is(read(lists(300_001)), 'too_long');
  t.is(read('{}'.repeat(300_001)), 'too_long', 'it is no JSON, which only parsing shows');
});

const manyKeys = (count: number, member: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => member(index)).join();

test('different keys are counted before a text is parsed, wherever they stand, and each of them once', (t) => {
  const flat = `{${manyKeys(100_000, (index) => `"k${String(index)}":0`)}}`;
  t.is(read(flat), flat);
  t.is(read(`{${manyKeys(100_200, (index) => `"k${String(index)}":0`)}}`), 'too_long');
  t.is(read(`[${manyKeys(100_200, (index) => `{"k${String(index)}":0}`)}]`), 'too_long');
  const points = `[${manyKeys(120_000, () => '{"x":1,"y":2}')}]`;
  t.is(read(points), points);
  const texts = `[${manyKeys(150_000, (index) => `"k${String(index)}:"`)}]`;
  t.is(read(texts), texts, 'what stands in a list is no key');
});

test('a number that is read as Infinity is refused wherever it stands, and no other number is', (t) => {
  const long = '9'.repeat(309);
  for (const huge of ['1e309', '9E+308', '-1e999', '0.1e310', long, `-${long}.5`, `1e${'0'.repeat(500)}999`])
    for (const text of [huge, `[1,${huge}]`, `{"a":{"b":${huge}}}`, ` ${huge} `])
      t.is(read(text), 'finite_number', text);
  for (const fine of ['1e308', '1e-999', `0.${long}`, `1e${'0'.repeat(500)}1`, '"1e999"', `["${long}","\\"1e999"]`])
    t.is(read(fine), JSON.stringify(JSON.parse(fine)), fine);
});

test('a text costs no more than its bytes, whatever is in it', (t) => {
  const most = (part: string, end: string): string =>
    `[${part.repeat(Math.floor((mostBytes - end.length - 2) / part.length))}${end}]`;
  const texts = {
    zeros: most('0,', '1e999'),
    large: most('1e300,', '1'),
    digits: most(`${'9'.repeat(199)},`, '1e999'),
    keys: most(`{${'"a":0,'.repeat(1000)}"b":0},`, '1e999'),
    colons: `["${'k'.repeat(mostBytes / 2)}"${':'.repeat(mostBytes / 2 - 100)}]`,
  };
  for (const [name, text] of Object.entries(texts)) {
    const before = process.cpuUsage();
    t.is(read(text) === 'finite_number', text.includes('1e999'), name);
    const { user, system } = process.cpuUsage(before);
    t.true(user + system < 800_000, `${name}: ${String(user + system)} µs`);
  }
});
