import test from 'ava';
import fc from 'fast-check';
import { openSqlite, type Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { closeGap, closeGaps, contextRows, openGap } from './gaps.ts';
import { migrations } from './schema.ts';

const ref = 7;
const end = 20;
const openFile = (): Sqlite => openSqlite({ path: ':memory:', durability: 'normal', migrations });
const position = fc.nat(end - 1);

/** What is done to gaps, in the file and beside it to a set of the positions that are in one. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('range' as const), start: position, length: fc.nat(6) }),
  fc.record({ kind: fc.constant('positions' as const), positions: fc.uniqueArray(position) }),
  fc.record({ kind: fc.constant('open' as const), position }),
);

const gapsIn = (db: Sqlite): readonly Readonly<Record<'start' | 'stop', number>>[] =>
  db
    .prepare('SELECT start, stop FROM gaps WHERE ref = ? ORDER BY start DESC')
    .all(ref)
    .map((row) => ({ start: Number(row['start']), stop: Number(row['stop']) }));

test('gaps hold what was put into them and not taken out since, and stand apart', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      using db = openFile();
      const model = new Set<number>();
      closeGap(db, ref + 1, { start: 0, stop: end });
      for (const done of steps) {
        if (done.kind === 'open') {
          openGap(db, ref, done.position);
          model.delete(done.position);
        } else if (done.kind === 'positions') {
          closeGaps(db, ref, done.positions);
          for (const one of done.positions) model.add(one);
        } else {
          closeGap(db, ref, { start: done.start, stop: done.start + done.length });
          for (let one = done.start; one < done.start + done.length; one++) model.add(one);
        }
        const gaps = gapsIn(db);
        const inGaps = gaps.flatMap(({ start, stop }) => Array.from({ length: stop - start }, (_, at) => start + at));
        t.deepEqual(
          inGaps.toSorted((a, b) => a - b),
          [...model].toSorted((a, b) => a - b),
        );
        for (const [index, { start }] of gaps.entries()) t.true(start > (gaps[index + 1]?.stop ?? -1));
      }
      for (let at = 0; at < end; at++)
        db.prepare(
          "INSERT INTO messages (ref, position, message_id, json, in_context) VALUES (?, ?, ?, x'7b7d', 1)",
        ).run(...[ref, at, `m${String(at)}`]);
      for (const below of [0, 5, end]) {
        const rows = contextRows(db, { ref, contextNumber: 1 }, { columns: 'position', below });
        const read = Array.from(rows, (row) => row['position']);
        t.deepEqual(
          read,
          Array.from({ length: below }, (_, at) => below - 1 - at).filter((at) => !model.has(at)),
        );
      }
    }),
    { numRuns: 60 },
  );
});
