import test from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, replyText, serve } from './service.ts';

const obedient = serve(test);
const asking = serve(test, 'asking');
const pure = serve(test, 'pure');

interface Result {
  readonly all_messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly iterations: number;
  readonly state: { readonly rounds: number; readonly notes: readonly string[] };
  readonly meta: {
    readonly run_id: string;
    readonly status: string;
    readonly resumes?: string;
    readonly interrupts?: readonly { readonly id: string; readonly node: string; readonly value: unknown }[];
  };
}

const path = '/v1/graph/invoke';
const turn = async (service: typeof obedient, thread: string, body: object): Promise<Result> => {
  const reply = await service.send('POST', path, { ...body, config: { thread_id: thread } });
  return reply.body.data;
};
const on = (thread: string, body: object): Promise<Result> => turn(obedient, thread, body);

const [before, after] = [
  (nodes: string[]) => ({ breakpoint: 'before', nodes }),
  (nodes: string[]) => ({ breakpoint: 'after', nodes }),
];

test('a run stops before its first node, and goes on by any resume without stopping there again', async (t) => {
  const stopped = await on('first-node', {
    messages: [user('hello')],
    initial_state: { notes: ['kept'] },
    interrupt_before: ['obey'],
  });
  t.like(stopped.meta, { status: 'interrupted' });
  t.deepEqual(stopped.meta.interrupts, [
    { id: `${stopped.meta.run_id}/0/obey/before`, node: 'obey', value: before(['obey']) },
  ]);
  t.is(stopped.iterations, 0);
  t.like(stopped.state, { rounds: 0, notes: ['kept'] });
  const { body } = await obedient.send('GET', '/v1/threads/first-node/state');
  t.deepEqual((body.data as { state: { notes: unknown } }).state.notes, ['kept']);
  const ended = await on('first-node', { resume: null, interrupt_before: ['obey'] });
  t.like(ended.meta, { status: 'completed', resumes: stopped.meta.run_id });
  t.deepEqual(ended.all_messages.map(replyText), ['you said hello']);
});

test('a run stops after each round of a node until its graph ends, and each stop is answered by its id', async (t) => {
  let result = await on('rounds', { messages: [user('rounds 3')], interrupt_after: '*' });
  for (const rounds of [1, 2]) {
    t.is(result.meta.status, 'interrupted');
    t.is(result.state.rounds, rounds);
    const [stop] = result.meta.interrupts ?? [];
    t.deepEqual(stop?.value, after(['obey']));
    result = await on('rounds', { resume: { [stop?.id ?? '']: 'go on' }, interrupt_after: '*' });
  }
  t.is(result.meta.status, 'completed');
  t.is(result.state.rounds, 3);
});

test('without breakpoints in its own request a run that goes on stops no more', async (t) => {
  await on('once', { messages: [user('rounds 4')], interrupt_before: '*' });
  const ended = await on('once', { resume: true });
  t.is(ended.meta.status, 'completed');
  t.is(ended.state.rounds, 4);
});

test('a new message on a thread that has stopped begins anew', async (t) => {
  await on('anew', { messages: [user('rounds 5')], interrupt_after: ['obey'] });
  const anew = await on('anew', { messages: [user('hello')] });
  t.is(anew.meta.status, 'completed');
  t.deepEqual(anew.all_messages.map(replyText), ['you said hello']);
  const stale = obedient.send('POST', path, { resume: 1, config: { thread_id: 'anew' } });
  t.deepEqual(await obedient.refused(t, stale, 400, codeOf(400)), [['body', 'resume']]);
});

test('a stop after tools that their caller runs comes when these have their results', async (t) => {
  const tools = [{ name: 'look', parameters: { type: 'object', properties: {} } }];
  const asked = await on('tools', { messages: [user('call look')], tools, interrupt_after: ['tools'] });
  t.is(asked.meta.status, 'interrupted');
  t.is(asked.meta.interrupts, undefined);
  const result = { role: 'tool', content: [{ type: 'tool_result', call_id: 'call-1', output: 'a cat' }] };
  const answered = await on('tools', { messages: [result], interrupt_after: ['tools'] });
  t.deepEqual(
    answered.meta.interrupts?.map(({ value }) => value),
    [after(['tools'])],
  );
  const ended = await on('tools', { resume: null });
  t.deepEqual(ended.all_messages.map(replyText), ['thank you']);
});

test('questions of nodes come first, and the stop after all nodes beside each other', async (t) => {
  const first = await turn(asking, 'beside', { messages: [user('go')], interrupt_after: ['beside'] });
  t.deepEqual(
    first.meta.interrupts?.map(({ value }) => value),
    [{ question: 'What is your name?' }],
  );
  await turn(asking, 'beside', { resume: 'Ada', interrupt_after: ['beside'] });
  const stopped = await turn(asking, 'beside', { resume: 'green', interrupt_after: ['beside'] });
  t.deepEqual(
    stopped.meta.interrupts?.map(({ value }) => value),
    [after(['beside'])],
  );
  const ended = await turn(asking, 'beside', { resume: {} });
  t.deepEqual(ended.all_messages.map(replyText), ['both are done']);
});

test('the stream of a run that stops before its first node shows no node and ends with the stop', async (t) => {
  const body = { messages: [user('hello')], interrupt_before: '*', response_granularity: 'full' };
  const chunks = await Array.fromAsync(obedient.stream(body));
  const kinds = chunks.map(({ event }) => event).filter((event) => !/^(?:state|context)_chunk$/.test(event));
  t.deepEqual(kinds, ['metadata', 'on_chain_start', 'on_chain_end']);
  t.like(chunks.at(-1)?.data, { meta: { status: 'interrupted' } });
});

test('a step that would be committed with the one before it stops the run all the same', async (t) => {
  const tools = { interrupt_after: ['tools'], config: { thread_id: 'fused' } };
  const stopped = (await pure.send('POST', path, { messages: [user('go')], ...tools })).body.data as Result;
  t.deepEqual(
    stopped.meta.interrupts?.map(({ value }) => value),
    [after(['tools'])],
  );
  const again = (await pure.send('POST', path, { resume: null, ...tools })).body.data as Result;
  t.deepEqual(
    again.meta.interrupts?.map(({ value }) => value),
    [after(['tools'])],
  );
  const ended = (await pure.send('POST', path, { resume: null, config: tools.config })).body.data as Result;
  t.is(ended.meta.status, 'completed');
  t.is((ended.state as unknown as { steps: number }).steps, 6);
});

test('a stop names nodes of the graph, or all', async (t) => {
  const send = (fields: object) => obedient.send('POST', path, { messages: [user('x')], ...fields });
  t.deepEqual(await obedient.refused(t, send({ interrupt_before: ['obey', 'none'] }), 422, codeOf(422)), [
    ['body', 'interrupt_before', 1],
  ]);
  t.deepEqual(await obedient.refused(t, send({ interrupt_after: 'obey' }), 422, codeOf(422)), [
    ['body', 'interrupt_after'],
  ]);
  t.deepEqual(await obedient.refused(t, send({ interrupt_after: [1] }), 422, codeOf(422)), [
    ['body', 'interrupt_after', 0],
  ]);
});
