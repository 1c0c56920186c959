import test from 'ava';
import { checkpointOf, messageBefore, originOf, type Checkpoint, type CheckpointReads } from './forks.ts';

const at = (second: number): string => new Date(1_790_000_000_000 + second * 1000).toISOString();
const checkpoint = (id: string, second: number): Checkpoint => ({ checkpoint_id: id, created_at: at(second) });

/** Each checkpoint holds the messages of those before it and its own. */
const readsOf = (kept: readonly (readonly [Checkpoint, ...string[]])[]): CheckpointReads => ({
  list: () => Promise.resolve(kept.map(([each]) => each)),
  holds: (id, messageId) => {
    const index = kept.findIndex(([each]) => each.checkpoint_id === id);
    return Promise.resolve(kept.slice(index).some(([, ...messages]) => messages.includes(messageId)));
  },
});

const thread = readsOf([
  [checkpoint('c4', 4), 'answer 2'],
  [checkpoint('c3', 4), 'question 2'],
  [checkpoint('c2', 2), 'answer 1'],
  [checkpoint('c1', 1), 'question 1'],
]);
const message = (id: string, second: number, checkpointId?: string): Parameters<typeof checkpointOf>[0] => ({
  ...{ id, timestamp: at(second) },
  ...(checkpointId !== undefined && { checkpointId }),
});

test('a message that names its checkpoint is forked there, and nothing is read', async (t) => {
  const reads = readsOf([]);
  t.is(await checkpointOf(message('m', 1, 'c9'), undefined, reads), 'c9');
});

test('a message that names none is forked at the first checkpoint that holds it, also when two were made in one millisecond', async (t) => {
  t.is(await checkpointOf(message('answer 2', 4), undefined, thread), 'c4');
  t.is(await checkpointOf(message('question 2', 3), message('answer 2', 4), thread), 'c3');
  t.is(await checkpointOf(message('question 1', 1), message('answer 1', 2), thread), 'c1');
});

test('of the messages that a fork has copied only the last has a version that ends after it', async (t) => {
  const fork = readsOf([
    [checkpoint('c2', 10), 'new'],
    [checkpoint('c1', 9), 'a', 'b'],
  ]);
  t.is(await checkpointOf(message('b', 2), message('new', 10), fork), 'c1');
  t.is(await checkpointOf(message('a', 1), message('b', 2), fork), undefined);
});

test('a message whose checkpoints are gone has no fork', async (t) => {
  const rest = readsOf([[checkpoint('c4', 9), 'answer 1', 'more']]);
  t.is(await checkpointOf(message('answer 1', 2), message('more', 8), rest), undefined);
  t.is(await checkpointOf(message('answer 1', 2), undefined, readsOf([])), undefined);
});

test('what stands before a message is the last one that came without it', (t) => {
  const [a, b, c, d] = [message('a', 1, 'c1'), message('b', 2, 'c2'), message('c', 2, 'c2'), message('d', 3)];
  const all = [a, b, c, d] as const;
  t.is(messageBefore(all, c), a);
  t.is(messageBefore(all, d), c);
  t.is(messageBefore(all, a), undefined);
});

test('the first version of a fork says which thread it comes from', (t) => {
  const forked = { ...checkpoint('first', 0), source: 'fork', metadata: { forked_from: { thread_id: 'before' } } };
  t.is(originOf([checkpoint('last', 9), forked]), 'before');
  t.is(originOf([forked, checkpoint('kept', 1)]), undefined);
  t.is(originOf([{ ...forked, source: 'update' }]), undefined);
  t.is(originOf([{ ...forked, metadata: { forked_from: 'a text' } }]), undefined);
  t.is(originOf([]), undefined);
});
