import test from 'ava';
import fc from 'fast-check';
import { idFrom, newId } from './ids.ts';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('ids are version 7 and contain the time at which they were made', (t) => {
  const before = Date.now();
  const id = newId();
  t.regex(id, uuidV7);
  const made = parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  t.true(made >= before && made <= Date.now() + 1);
});

test('ids are strictly increasing and never the same, also many in one millisecond', (t) => {
  let last = newId();
  for (let made = 0; made < 50_000; made++) {
    const id = newId();
    if (id <= last || !uuidV7.test(id)) t.fail(`${id} after ${last}`);
    last = id;
  }
  t.pass();
});

test.serial('ids are increasing also when the clock is set back', (t) => {
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: now() }), { minLength: 2 }), (times) => {
      const ids = times.map((ms) => {
        Date.now = () => ms;
        return newId();
      });
      t.deepEqual(ids, [...new Set(ids)].sort());
      for (const id of ids) t.regex(id, uuidV7);
    }),
  );
});

test('an id derived from another is the same in every process, and has the same time', (t) => {
  const id = newId();
  const made = idFrom(id, 'thread');
  t.is(idFrom(id, 'thread'), made);
  t.not(idFrom(id, 'message'), made);
  t.not(idFrom(newId(), 'thread'), made);
  t.regex(made, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.is(made.slice(0, 13), id.slice(0, 13));
  t.regex(idFrom('my run', 'thread'), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
