import test from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, serve } from './service.ts';

const obedient = serve(test);
const asking = serve(test, 'asking');
const few = serve(test, 'obedient', { CHECKPOINT_KEEP: '2' });

type Service = typeof obedient;

interface Frame {
  /** Empty for what has no number. */
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly run_id: string;
}

/** The frames of a stream as they stand in it, from the one after `after`. */
async function framesOf(
  service: Service,
  method: string,
  path: string,
  body?: object,
  after?: string,
): Promise<Frame[]> {
  const response = await fetch(`${service.url()}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(after !== undefined && { 'last-event-id': after }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('data: '))
    .map((frame) => ({
      id: /^id: (.*)$/m.exec(frame)?.[1] ?? '',
      ...(JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '') as Omit<Frame, 'id'>),
    }));
}

const streamed = async (service: Service, body: object): Promise<Frame[]> =>
  framesOf(service, 'POST', '/v1/graph/stream', body);

const numbered = (frames: readonly Frame[]): readonly Frame[] => frames.filter(({ id }) => id !== '');
const extra = (frames: readonly Frame[], kind: string): readonly Frame['data'][] =>
  frames.filter(({ event }) => event === kind).map(({ data }) => data);

test('values have the whole state after each step, before the event that ends it', async (t) => {
  const frames = await streamed(obedient, { messages: [user('rounds 3')], stream_modes: ['values'] });
  const values = extra(frames, 'values');
  t.deepEqual(
    values.map(({ step, state }) => [step, (state as { rounds: number }).rounds]),
    [
      [0, 1],
      [1, 2],
      [2, 3],
    ],
  );
  const runId = frames[0]?.run_id ?? '';
  for (const { step, checkpoint_id: checkpoint, state } of values) {
    const { body } = await obedient.send('GET', `/v1/runs/${runId}/steps/${String(step)}`);
    t.like(body.data, { step: { checkpoint_id: checkpoint }, state: state as object });
  }
  for (const [index, { event }] of frames.entries()) {
    if (event !== 'values') continue;
    t.like(frames[index + 1], { event: 'on_chain_stream', data: { status: 'completed' } });
    t.is(frames[index]?.id, '');
  }
});

test('tasks say how each step begins, what triggered it, and what it changed', async (t) => {
  const frames = await streamed(obedient, { messages: [user('rounds 2')], stream_modes: ['tasks'] });
  const tasks = extra(frames, 'tasks');
  t.deepEqual(
    tasks.map(({ step, status, triggers, changed }) => [step, status, triggers ?? changed]),
    [
      [0, 'started', []],
      [0, 'completed', { rounds: 1 }],
      [1, 'started', ['obey']],
      [1, 'completed', { rounds: 2 }],
    ],
  );
  t.deepEqual(extra(frames, 'values'), []);
});

test('a step that fails says so before the run does', async (t) => {
  const frames = await streamed(obedient, { messages: [user('fail')], stream_modes: ['tasks'] });
  t.like(frames.at(-2), {
    id: '',
    event: 'tasks',
    data: { node: 'obey', status: 'failed', error: { code: 'NODE_ERROR' } },
  });
  t.is(frames.at(-1)?.event, 'error');
});

test('debug is both, and no mode changes a byte or a number of the events', async (t) => {
  const frames = await streamed(obedient, { messages: [user('rounds 2')], stream_modes: ['debug'] });
  t.is(extra(frames, 'tasks').length, 4);
  t.is(extra(frames, 'values').length, 2);
  const path = `/v1/runs/${frames[0]?.run_id ?? ''}/stream`;
  t.deepEqual(await framesOf(obedient, 'GET', path), numbered(frames));
  t.deepEqual(await framesOf(obedient, 'GET', `${path}?stream_modes=tasks,values`), frames);
});

test('a reader that resumes anywhere gets what belongs to the events that it has not', async (t) => {
  const frames = await streamed(obedient, { messages: [user('rounds 3')], stream_modes: ['debug'] });
  const path = `/v1/runs/${frames[0]?.run_id ?? ''}/stream?stream_modes=debug`;
  for (const { id } of numbered(frames)) {
    const at = frames.findIndex((frame) => frame.id === id);
    t.deepEqual(await framesOf(obedient, 'GET', path, undefined, id), frames.slice(at + 1), id);
  }
});

test('lines of JSON have the same', async (t) => {
  const frames = await streamed(obedient, { messages: [user('rounds 2')], stream_modes: ['debug'] });
  const response = await fetch(`${obedient.url()}/v1/runs/${frames[0]?.run_id ?? ''}/stream?stream_modes=debug`, {
    headers: { accept: 'application/x-ndjson' },
  });
  const lines = (await response.text()).trim().split('\n');
  t.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    frames.map(({ id: _, ...frame }) => frame),
  );
});

test('a state that is too large is named and not sent', async (t) => {
  const notes = ['x'.repeat(1024 * 1024)];
  const body = { messages: [user('rounds 2')], initial_state: { notes }, stream_modes: ['values'] };
  const [first, ...more] = extra(await streamed(obedient, body), 'values');
  t.is(more.length, 1);
  t.like(first, { step: 0, unavailable: 'too_large' });
  t.true(Number(first?.['bytes']) > 1024 * 1024);
  t.false('state' in (first ?? {}));
});

test('steps that are no longer kept are named', async (t) => {
  const frames = await streamed(few, { messages: [user('rounds 5')], config: { thread_id: 'few' } });
  const runId = frames[0]?.run_id ?? '';
  // A store may keep up to 15 more than it must.
  for (const index of Array(18).keys())
    await few.send('POST', '/v1/threads/few/messages', { messages: [user(String(index))] });
  const again = await framesOf(few, 'GET', `/v1/runs/${runId}/stream?stream_modes=debug`);
  t.deepEqual(numbered(again), numbered(frames));
  const values = extra(again, 'values');
  t.deepEqual(values[0], { step: 0, unavailable: 'not_kept' });
});

test('a run that asks ends with the tasks and values that it has', async (t) => {
  const frames = await streamed(asking, { messages: [user('hello')], stream_modes: ['debug'] });
  t.is(frames.at(-1)?.event, 'on_chain_end');
  t.true(extra(frames, 'tasks').some(({ status }) => status === 'started'));
});

test('a mode that there is not is refused, and names the field', async (t) => {
  for (const stream_modes of [['updates'], 'values', [7], ['tasks', 'values', 'debug', 'tasks']]) {
    const reply = obedient.send('POST', '/v1/graph/stream', { messages: [user('hello')], stream_modes });
    const [loc] = await obedient.refused(t, reply, 422, codeOf(422));
    t.deepEqual((loc as unknown[]).slice(0, 2), ['body', 'stream_modes']);
  }
  const { body } = await obedient.send('POST', '/v1/graph/invoke', { messages: [user('hello')] });
  const { run_id: id } = (body.data as { meta: { run_id: string } }).meta;
  await obedient.refused(t, obedient.send('GET', `/v1/runs/${id}/stream?stream_modes=all`), 422, codeOf(422));
});

test('a ticket gives the events alone', async (t) => {
  const [first] = await streamed(obedient, { messages: [user('hello')] });
  const path = `/v1/runs/${first?.run_id ?? ''}`;
  const { body } = await obedient.send('POST', `${path}/ticket`);
  const { ticket } = body.data as { ticket: string };
  t.is((await fetch(`${obedient.url()}${path}/stream?ticket=${ticket}`)).status, 200);
  t.is((await fetch(`${obedient.url()}${path}/stream?ticket=${ticket}&stream_modes=values`)).status, 403);
});
