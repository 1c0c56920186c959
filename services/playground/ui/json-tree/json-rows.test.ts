import test from 'ava';
import fc from 'fast-check';
import { labelOf, pathOf } from './json-label.ts';
import { readMembers, type JsonMembers } from './json-members.ts';
import {
  closeRow,
  createRows,
  memberAt,
  openRow,
  placeOf,
  rowAt,
  valueOf,
  type JsonRow,
  type OpenMembers,
} from './json-rows.ts';
import { holdsMembers, wholeOf } from './json-text.ts';

function membersOf(text: string, at: number): JsonMembers {
  const reading = readMembers(text, at);
  for (;;) {
    const next = reading.next();
    if (next.done) return next.value;
  }
}

const rootOf = (text: string): OpenMembers => {
  const place = wholeOf(text);
  return createRows(place, membersOf(text, place.start));
};

const openAt = (text: string, root: OpenMembers, index: number): void => {
  const row = rowAt(root, index);
  openRow(row, membersOf(text, valueOf(row).start));
};

const rowsOf = (root: OpenMembers): JsonRow[] => Array.from({ length: root.rows }, (_, at) => rowAt(root, at));
const textsOf = (text: string, root: OpenMembers): string[] =>
  rowsOf(root).map((row) => {
    const { name, text: value } = labelOf(text, row);
    return `${' '.repeat(row.level - 1)}${name} ${value}`;
  });

test('members stand as they are written: large numbers, double names, escapes and spaces', (t) => {
  const text = ' { "id" : 12345678901234567890123 , "a":1e400,"a":"\\\\\\"}, b" ,"c":[ 1 ,[],{}] }\n';
  t.deepEqual(textsOf(text, rootOf(text)), [
    'id 12345678901234567890123',
    'a 1e400',
    'a "\\\\\\"}, b"',
    'c [ ] 3 items',
  ]);
});

test('what is opened stands below its row, and what is closed is gone with all that was open in it', (t) => {
  const text = '{"a":{"b":[1,2]},"c":3}';
  const root = rootOf(text);
  openAt(text, root, 0);
  openAt(text, root, 1);
  t.deepEqual(textsOf(text, root), ['a { } b', ' b [ ] 2 items', '  0 1', '  1 2', 'c 3']);
  const deepest = rowAt(root, 3);
  t.is(pathOf(text, deepest, ['state']), 'state.a.b[1]');
  t.is(placeOf(deepest.parent, deepest.index), 3);
  closeRow(rowAt(root, 0));
  t.deepEqual(textsOf(text, root), ['a { } b', 'c 3']);
});

test('a text that is cut, and one that is no JSON, show what is there', (t) => {
  t.deepEqual(textsOf('{"a":[1,2,{"b":"x', rootOf('{"a":[1,2,{"b":"x')), ['a [ ] 3 items']);
  t.deepEqual(textsOf('[1,,tru', rootOf('[1,,tru')), ['0 1', '1 tru']);
  t.deepEqual(textsOf('[}', rootOf('[}')), []);
});

test('of a long list the first members are shown, and one row for the rest', (t) => {
  const text = `[${'7,'.repeat(25_000)}8]`;
  const root = rootOf(text);
  t.is(root.rows, 10_001);
  t.true(rowAt(root, 10_000).isRest);
  t.is(root.members.count, 25_001);
});

test('every way of opening and closing keeps rows and places in step with the value', (t) => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.array(fc.nat()), (text, picks) => {
      const place = wholeOf(text);
      if (!holdsMembers(text, place)) return;
      const root = rootOf(text);
      for (const pick of picks) {
        if (root.rows === 0) return;
        const row = rowAt(root, pick % root.rows);
        if (row.opened) closeRow(row);
        else if (holdsMembers(text, valueOf(row))) openRow(row, membersOf(text, valueOf(row).start));
      }
      for (const [at, row] of rowsOf(root).entries()) {
        t.is(placeOf(row.parent, row.index), at);
        const { start, end } = valueOf(row);
        t.notThrows(() => JSON.parse(text.slice(start, end)) as unknown);
        t.is(memberAt(row.parent.members, start), row.index);
      }
    }),
  );
});

test('members are those that a parser finds, in their order', (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value);
      const found = rowsOf(rootOf(text)).map((row): [string, unknown] => {
        const { start, end } = valueOf(row);
        const nameStart = row.parent.members.starts[row.index];
        // Nothing but a colon stands between a name and its value.
        return [JSON.parse(text.slice(nameStart, start - 1)) as string, JSON.parse(text.slice(start, end))];
      });
      t.deepEqual(found, Object.entries(JSON.parse(text) as object));
    }),
  );
});
