import test from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, serve } from './service.ts';

const { send, refused, thread } = serve(test);

interface Started {
  readonly run_id?: string;
  readonly thread_id?: string;
  readonly status?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly details: { loc: unknown[] }[] };
}

const batch = async (runs: readonly object[], headers: Readonly<Record<string, string>> = {}) => {
  const { status, body } = await send('POST', '/v1/runs/batch', { runs }, headers);
  return { status, runs: (body.data as { readonly runs: readonly Started[] }).runs };
};
const turn = (text: string, config: object = {}) => ({ messages: [user(text)], config });
const waited = async ({ run_id: id = '' }: Started = {}) =>
  (await send('GET', `/v1/runs/${id}/wait`)).body.data as {
    context?: unknown;
    all_messages: { content: { text: string }[] }[];
  };

test('runs of a batch are accepted in their order, those of one thread one after the other', async (t) => {
  const { status, runs } = await batch([
    turn('one', { thread_id: 'batched' }),
    turn('alone'),
    turn('two', { thread_id: 'batched' }),
  ]);
  t.is(status, 202);
  t.deepEqual(
    runs.map(({ thread_id: id }) => id === 'batched'),
    [true, false, true],
  );
  const replies = await Promise.all(runs.map(async (run) => (await waited(run)).all_messages.at(-1)?.content[0]?.text));
  t.deepEqual(replies, ['you said one', 'you said alone', 'you said two']);
  const { body } = await send('GET', '/v1/threads/batched/messages');
  const texts = (body.data as { messages: { content: { text: string }[] }[] }).messages.map(
    ({ content }) => content[0]?.text,
  );
  t.deepEqual(texts, ['one', 'you said one', 'two', 'you said two']);
});

test('a run that is refused says why at its place, and the others go on', async (t) => {
  await thread('batch-answered');
  const result = { role: 'tool', content: [{ type: 'tool_result', call_id: 'never', output: 1 }] };
  const { status, runs } = await batch([
    { messages: [result], config: { thread_id: 'batch-answered' } },
    turn('fine'),
    { messages: [user('x')], initial_state: { no_field: 1 } },
  ]);
  t.is(status, 202);
  t.deepEqual(
    runs.map(({ error }) => error?.code),
    ['BAD_REQUEST', undefined, 'VALIDATION_ERROR'],
  );
  t.deepEqual(runs[0]?.error?.details[0]?.loc, ['body', 'runs', 0, 'messages']);
  t.deepEqual(runs[2]?.error?.details[0]?.loc.slice(0, 4), ['body', 'runs', 2, 'initial_state']);
  t.regex(runs[2]?.error?.message ?? '', /^body\.runs\.2\.initial_state/);
  t.notRegex(runs[2]?.error?.message ?? '', /body\.initial_state/);
  t.is((await waited(runs[1])).all_messages.length, 1);
});

test('a batch that is sent twice with one key starts its runs once', async (t) => {
  const body = [turn('a', { thread_id: 'batch-key' }), turn('b')];
  const key = { 'idempotency-key': 'one-batch' };
  const [first, second] = await Promise.all([batch(body, key), batch(body, key)]);
  const ids = ({ runs }: typeof first) => runs.map(({ run_id: id }) => id);
  t.deepEqual(ids(first), ids(second));
  t.deepEqual(ids(await batch(body, key)), ids(first));
  const { body: listed } = await send('GET', '/v1/threads/batch-key/runs');
  t.is((listed.data as { runs: unknown[] }).runs.length, 1);
});

test('a batch has 1 to 100 runs of one agent, each as a request alone would have it', async (t) => {
  const at = (runs: readonly object[]) => refused(t, send('POST', '/v1/runs/batch', { runs }), 422, codeOf(422));
  t.deepEqual(await at([]), [['body', 'runs']]);
  t.deepEqual(await at(Array.from({ length: 101 }, () => turn('x'))), [['body', 'runs']]);
  t.deepEqual(await at([turn('x'), { messages: [] }]), [['body', 'runs', 1, 'messages']]);
  t.deepEqual(await at([turn('x'), turn('y', { agent: 'other' })]), [['body', 'runs', 1, 'config', 'agent']]);
});
