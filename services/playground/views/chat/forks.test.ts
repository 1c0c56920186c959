import test from 'ava';
import { forkPointOf, type Checkpoint, type CheckpointReads } from './forks.ts';

const at = (second: number): string => new Date(1_790_000_000_000 + second * 1000).toISOString();
const checkpoint = (id: string, second: number): Checkpoint => ({ checkpoint_id: id, created_at: at(second) });

/** Each checkpoint holds the messages of those before it and its own. */
const readsOf = (kept: readonly (readonly [Checkpoint, string])[]): CheckpointReads => ({
  list: () => Promise.resolve(kept.map(([each]) => each)),
  holds: (id, messageId) => {
    const index = kept.findIndex(([each]) => each.checkpoint_id === id);
    return Promise.resolve(kept.slice(index).some(([, message]) => message === messageId));
  },
});

const thread = readsOf([
  [checkpoint('c4', 4), 'answer 2'],
  [checkpoint('c3', 4), 'question 2'],
  [checkpoint('c2', 2), 'answer 1'],
  [checkpoint('c1', 1), 'question 1'],
]);
const message = (id: string, second: number, isFirst = false) => ({ id, timestamp: at(second), isFirst });

test('a fork with a message begins at the first checkpoint that holds it, also when another was made in the same millisecond', async (t) => {
  t.deepEqual(await forkPointOf(message('answer 2', 4), 'with', thread), { checkpointId: 'c4' });
  t.deepEqual(await forkPointOf(message('question 2', 3), 'with', thread), { checkpointId: 'c3' });
});

test('a fork before a message begins at the checkpoint before it', async (t) => {
  t.deepEqual(await forkPointOf(message('question 2', 3), 'before', thread), { checkpointId: 'c2' });
  const named = { ...message('question 2', 3), checkpointId: 'c3' };
  t.deepEqual(await forkPointOf(named, 'before', thread), { checkpointId: 'c2' });
});

test('a fork before the first message is a new thread', async (t) => {
  t.is(await forkPointOf(message('question 1', 1, true), 'before', thread), 'start');
});

test('a message whose checkpoint is no longer kept has no fork', async (t) => {
  const rest = readsOf([[checkpoint('c4', 9), 'answer 1']]);
  t.is(await forkPointOf(message('answer 1', 2), 'with', rest), undefined);
  t.is(await forkPointOf({ ...message('answer 1', 2), checkpointId: 'gone' }, 'before', rest), undefined);
});
