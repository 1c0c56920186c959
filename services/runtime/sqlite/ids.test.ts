import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { newId } from '@agent-workflow/kit/ids';
import { fromStoredId, toStoredId } from './ids.ts';

const uuid = '01a20ac1-5994-7000-b04e-288628e0e8fa';
const texts = [
  '',
  'm1',
  uuid.toUpperCase(),
  uuid.replaceAll('-', ''),
  uuid.replace('-', '0'),
  uuid.replace('f', 'g'),
  uuid.replace('f', 'ģ'),
  `${uuid}0`,
  uuid.replace('01', '-1'),
  '\u0000'.repeat(36),
];

test('a UUID is stored in 16 bytes and any other text as it is, and both are read back', (t) => {
  for (const id of [uuid, newId()]) {
    t.is(toStoredId(id).length, 16);
    t.is(fromStoredId(toStoredId(id)), id);
  }
  for (const id of texts) {
    t.is(toStoredId(id), id);
    t.is(fromStoredId(id), id);
  }
});

test('stored ids sort as their texts do', (t) => {
  using db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE ids (id ANY PRIMARY KEY) STRICT');
  const ids = [newId(), newId(), newId(), uuid];
  for (const id of ids) db.prepare('INSERT INTO ids VALUES (?)').run(toStoredId(id));
  const read = db.prepare('SELECT id FROM ids ORDER BY id').all();
  t.deepEqual(
    read.map(({ id }) => fromStoredId(id)),
    ids.toSorted(),
  );
});
