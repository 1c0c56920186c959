import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import test from 'ava';
import { growingValues } from './growing-values.ts';
import { createRunFrames } from './run-frames.ts';
import { encodeFrames, type Frame } from './frame.ts';

const many = 2000;
const scope = { runId: 'r', threadId: 't', requestId: 'q', isNewThread: false };
const large = 'x'.repeat(200 * 1024);
const place = { checkpointId: '2', before: '1', next: [], step: 1, source: 'loop' };

/** The frames of a step of branches whose inputs are not kept, in a large state. */
async function framesOf(ended: StepTasks): Promise<Readonly<Record<'started' | 'ended', readonly Frame[]>>> {
  const branches = ended.ran.map((_, at) => ({ node: 'work', path: ['__pregel_push', at] }));
  const frames = createRunFrames({
    modes: new Set(['updates', 'tasks', 'debug', 'checkpoints'] as const),
    ...{ scope, graphId: 'g', about: { assistantId: 'a' } },
    record: {
      beginning: async () => ({
        values: growingValues({ last: JSON.stringify(large) }, []),
        ...{ place, tasks: { ran: [], next: branches } },
      }),
      placeOf: async () => place,
      outcome: async () => ({ status: 'completed', asked: undefined }),
      answered: async () => [],
      output: async () => undefined,
    },
  });
  const event = (kind: 'on_chain_start' | 'on_chain_stream' | 'state_chunk' | 'on_chain_end', data: object) => ({
    ...{ seq: 1, at: 0, kind, step: 0, node: 'work', data: Buffer.from(JSON.stringify(data)) },
  });
  await frames(event('on_chain_start', {}));
  const started = await frames(event('on_chain_stream', { node: 'work', step: 0, status: 'started' }));
  await frames(event('state_chunk', { last: large }));
  const tasks = JSON.stringify(ended);
  await frames({ ...event('on_chain_stream', { node: 'work', step: 0, status: 'completed' }), tasks });
  return { started, ended: await frames(event('on_chain_end', {})) };
}

const bytesOf = (frames: readonly Frame[]): number =>
  encodeFrames(frames, '').reduce((sum, { byteLength }) => sum + byteLength, 0);
const ran = (more: object): StepTasks['ran'] =>
  Array.from({ length: many }, (_, index) => ({ node: 'work', index, ...more }));

test('the values of a state are not in the frame of each of 2,000 branches', async (t) => {
  const { started } = await framesOf({ ran: ran({ writes: { note: 'x' } }), next: [] });
  t.log(`${bytesOf(started)} bytes in ${started.length} frames`);
  t.is(started.length, 2 * many);
  t.true(bytesOf(started) < many * 1024);
  t.like(JSON.parse(String(started[0]?.data)), { name: 'work', input: null, triggers: ['__pregel_push'] });
});

test('a field of which branches returned more than is kept is in one update, and in the result of no branch', async (t) => {
  const { ended } = await framesOf({ ran: ran({}), left: { last: 'work' }, next: [] });
  t.log(`${bytesOf(ended)} bytes in ${ended.length} frames`);
  t.true(bytesOf(ended) < many * 1024 + 4 * large.length);
  const updates = ended.filter(({ name }) => name === 'updates').map(({ data }) => JSON.parse(String(data)) as unknown);
  t.deepEqual(updates, [{ work: { last: large } }]);
  const results = ended.filter(({ name }) => name === 'tasks').map(({ data }) => JSON.parse(String(data)) as object);
  t.is(results.length, many);
  t.like(results[0], { name: 'work', result: {} });
});
