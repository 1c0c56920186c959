import test from 'ava';
import { failedShare, fieldsOf } from './agent-facts.ts';

test('a run that is under way has neither failed nor ended', (t) => {
  const runs = (['failed', 'completed', 'running', 'interrupted', 'queued', 'failed'] as const).map((status) => ({
    status,
  }));
  t.deepEqual(failedShare(runs), { ended: 4, failed: 2 });
  t.deepEqual(failedShare([]), { ended: 0, failed: 0 });
});

test('the fields of a state are read in either shape, and what is none is left out', (t) => {
  const turns = { type: 'integer', description: 'Turns so far' };
  t.deepEqual(fieldsOf({ fields: { turns, other: null } }), [{ name: 'turns', ...turns }]);
  t.deepEqual(fieldsOf({ turns }), [{ name: 'turns', ...turns }]);
  t.deepEqual(fieldsOf({ free: {} }), [{ name: 'free', type: 'any', description: '' }]);
});
