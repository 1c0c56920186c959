import test, { type ExecutionContext } from 'ava';
import type { RunTrace, TraceSpan } from '@agent-workflow/client';
import { secrets } from '../agents/traced.ts';
import { user, type Reply } from '../servers/client.ts';
import { until } from '../until.ts';
import { codeOf, serve } from './service.ts';

const open = serve(test, 'traced', { TRACE_CONTENT: 'on' });
const plain = serve(test, 'traced', { TRACE_CONTENT: 'off' });
const few = serve(test, 'traced', { CHECKPOINT_KEEP: '2' });

type Service = typeof open;

const traceOf = async (t: ExecutionContext, { data, send }: Service, runId: string, query = ''): Promise<RunTrace> =>
  await data(t, 'getRunTrace', send('GET', `/v1/runs/${runId}/trace${query}`));

const runOf = ({ body }: Reply): string => (body.data as { run_id: string }).run_id;

/** Starts a run with this text, and waits for its end. */
async function ended({ send }: Service, text: string, thread?: string): Promise<string> {
  const config = thread === undefined ? {} : { config: { thread_id: thread } };
  const runId = runOf(await send('POST', '/v1/runs', { messages: [user(text)], ...config }));
  await send('GET', `/v1/runs/${runId}/wait`);
  return runId;
}

/** What stands in the tree below a span, each as its kind and name. */
function treeOf(spans: readonly TraceSpan[], parent: string | null = null): readonly unknown[] {
  return spans
    .filter(({ parent_id: own }) => own === parent)
    .map(({ id, kind, name, status }) => [`${kind} ${name}`, status, ...treeOf(spans, id)]);
}

/** Every span stands behind its parent and within its times. */
function checkTree(t: ExecutionContext, { spans }: RunTrace): void {
  const seen = new Map<string, TraceSpan>();
  for (const span of spans) {
    t.false(seen.has(span.id));
    const parent = span.parent_id === null ? undefined : seen.get(span.parent_id);
    if (span.parent_id !== null) t.truthy(parent, `${span.id} stands before its parent`);
    if (parent) {
      t.is(parent.step, span.step);
      t.true(parent.started_at <= span.started_at);
      if (parent.ended_at !== null && span.ended_at !== null && parent.kind !== 'step')
        t.true(span.ended_at <= parent.ended_at, `${span.id} ends after its parent`);
    }
    if (span.ended_at !== null) t.true(span.started_at <= span.ended_at);
    seen.set(span.id, span);
  }
}

test('a trace shows the calls of models and tools within the nodes, with tokens and references', async (t) => {
  const runId = await ended(open, 'ask 42');
  const trace = await traceOf(t, open, runId);
  checkTree(t, trace);
  t.deepEqual(treeOf(trace.spans), [
    ['step agent', 'completed', ['node agent', 'completed', ['model small-1', 'completed']]],
    ['step tools', 'completed', ['node tools', 'completed', ['tool look_up', 'completed']]],
    ['step agent', 'completed', ['node agent', 'completed', ['model small-1', 'completed']]],
  ]);
  t.like(trace, { run_id: runId, status: 'completed', has_more: false, next_after: 2, shows_content: true });
  t.true((trace.ended_at ?? '') >= trace.created_at);
  const [first, last] = trace.spans.filter(({ kind }) => kind === 'model');
  t.like(first, { finish_reason: 'tool_calls', usage: { input_tokens: 10, output_tokens: 2 } });
  t.like(last, { finish_reason: 'stop' });
  const { body } = await open.send('GET', `/v1/threads/${trace.thread_id}/messages`);
  const { messages } = body.data as { messages: { message_id: string; content: { call_id?: string }[] }[] };
  const ids = messages.map(({ message_id: id }) => id);
  t.deepEqual(first?.sent, { count: 1, ranges: [{ from: ids[0], to: ids[0], count: 1 }], other: 0 });
  t.deepEqual(last?.sent, { count: 3, ranges: [{ from: ids[0], to: ids[2], count: 3 }], other: 0 });
  t.is(first?.message_id, ids[1]);
  t.deepEqual(trace.spans.find(({ kind }) => kind === 'node')?.output, {
    ...{ message_ids: [ids[1]], messages: 1, fields: [] },
  });
  t.is(trace.spans.find(({ kind }) => kind === 'tool')?.call_id, messages[2]?.content[0]?.call_id);
  t.deepEqual(first?.content, { instructions: secrets.prompt, tools: ['look_up'] });
});

test('attempts, steps of sub-graphs and branches are parts of their nodes', async (t) => {
  const flaky = await traceOf(t, open, await ended(open, 'flaky'));
  checkTree(t, flaky);
  t.deepEqual(treeOf(flaky.spans), [
    [
      'step flaky',
      'completed',
      [
        'node flaky',
        'completed',
        ['attempt flaky', 'failed'],
        ['attempt flaky', 'failed'],
        ['attempt flaky', 'completed'],
      ],
    ],
  ]);
  t.deepEqual(
    flaky.spans.flatMap(({ attempt, kind }) => (kind === 'attempt' ? [attempt] : [])),
    [1, 2, 3],
  );
  const sub = await traceOf(t, open, await ended(open, 'sub'));
  checkTree(t, sub);
  t.deepEqual(treeOf(sub.spans), [
    [
      'step sub',
      'completed',
      [
        'node sub',
        'completed',
        ['step first', 'completed', ['node first', 'completed', ['model small-1', 'completed']]],
        ['step second', 'completed', ['node second', 'completed']],
      ],
    ],
  ]);
  t.deepEqual(
    sub.spans.map(({ inner_step: step }) => step).filter((step) => step !== undefined),
    [1, 2],
  );
});

test('a fan-out of a hundred is one node with a hundred branches, each with its own times', async (t) => {
  const trace = await traceOf(t, open, await ended(open, 'fan 100'));
  checkTree(t, trace);
  const branches = trace.spans.filter(({ kind }) => kind === 'branch');
  t.is(branches.length, 100);
  t.is(trace.spans.length, 102);
  t.deepEqual(
    branches.map(({ branch }) => branch).toSorted((a = 0, b = 0) => a - b),
    Array.from({ length: 100 }, (_, index) => index),
  );
  const msOf = ({ started_at: from, ended_at: to }: TraceSpan): number => Date.parse(to ?? from) - Date.parse(from);
  t.true(msOf(branches.find(({ branch }) => branch === 1) as TraceSpan) >= 25);
  t.deepEqual(branches.find(({ branch }) => branch === 7)?.content?.input, 7);
  t.is(branches[0]?.output?.messages, 1);
});

test('a failed run has the trace of the step in which it failed, with why', async (t) => {
  const trace = await traceOf(t, open, await ended(open, 'fail'));
  checkTree(t, trace);
  t.deepEqual(treeOf(trace.spans), [['step fail', 'failed', ['node fail', 'failed']]]);
  const [step, node] = trace.spans;
  t.is(step?.error?.code, 'NODE_ERROR');
  t.truthy(node?.error?.message);
  t.like(node?.content?.error, { name: 'Error', message: secrets.thrown });
  t.regex(node?.content?.error?.stack ?? '', /traced\.ts/);
  t.deepEqual(
    node?.content?.logs?.map(({ level, text }) => [level, text]),
    [['info', secrets.logged]],
  );
});

test('a run that waits says so, and goes on in the run that answers', async (t) => {
  const trace = await traceOf(t, open, await ended(open, 'wait'));
  t.deepEqual(treeOf(trace.spans), [['step wait', 'waiting', ['node wait', 'waiting']]]);
});

test('a run under way shows the step that it is in; one that was stopped shows where', async (t) => {
  const started = await open.send('POST', '/v1/runs', { messages: [user('stop')] });
  const runId = runOf(started);
  await until(async () => (await traceOf(t, open, runId)).spans.length > 0);
  const running = await traceOf(t, open, runId);
  t.like(running.spans[0], { id: 's0', kind: 'step', status: 'running', ended_at: null });
  t.like(running, { ended_at: null, next_after: null, has_more: false });
  await open.send('POST', `/v1/runs/${runId}/cancel`);
  const stopped = await traceOf(t, open, runId);
  t.like(stopped.spans[0], { id: 's0', kind: 'step', status: 'stopped' });
  t.truthy(stopped.spans[0]?.ended_at);
});

test('without TRACE_CONTENT no prompt, thrown text or log line is in a trace', async (t) => {
  for (const text of ['ask', 'sub', 'flaky', 'fail', 'fan 3']) {
    const trace = await traceOf(t, plain, await ended(plain, text));
    const shown = JSON.stringify(trace.spans);
    for (const secret of Object.values(secrets)) t.false(shown.includes(secret), `${text}: ${secret}`);
    t.true(trace.spans.every((span) => !('content' in span)));
    t.true(trace.spans.length > 1);
  }
});

test('a trace is read in parts by steps', async (t) => {
  const runId = await ended(open, 'ask');
  const whole = await traceOf(t, open, runId);
  const spans: TraceSpan[] = [];
  let after = '';
  for (let parts = 1; ; parts++) {
    const part = await traceOf(t, open, runId, `?limit=1${after}`);
    spans.push(...part.spans);
    if (!part.has_more) {
      t.is(parts, 3);
      break;
    }
    after = `&after=${String(part.next_after)}`;
  }
  t.deepEqual(spans, whole.spans);
  t.like(await traceOf(t, open, runId, '?after=2'), { spans: [], has_more: false, next_after: 2 });
  t.like(await traceOf(t, open, runId, '?after=99'), { spans: [], has_more: false, next_after: 99 });
  const refused = open.send('GET', `/v1/runs/${runId}/trace?after=-1`);
  t.deepEqual(await open.refused(t, refused, 422, codeOf(422)), [['query', 'after']]);
});

test('a trace goes with the checkpoints of its run, and with its thread', async (t) => {
  const runId = await ended(few, 'ask', 'traced');
  for (const index of Array(20).keys())
    await few.send('POST', '/v1/threads/traced/messages', { messages: [user(String(index))] });
  t.deepEqual((await traceOf(t, few, runId)).spans, []);
  await few.send('DELETE', '/v1/threads/traced');
  await few.refused(t, few.send('GET', `/v1/runs/${runId}/trace`), 404, codeOf(404));
  await few.refused(t, few.send('GET', '/v1/runs/none/trace'), 404, codeOf(404));
});

test('a fork has no trace of the thread that it was made from', async (t) => {
  const runId = await ended(open, 'ask', 'forked-from');
  const { spans } = await traceOf(t, open, runId);
  const [step] = spans;
  await open.send('POST', '/v1/threads/forked-from/fork', { checkpoint_id: step?.checkpoint_id, thread_id: 'a-fork' });
  await open.send('DELETE', '/v1/threads/forked-from');
  await open.refused(t, open.send('GET', `/v1/runs/${runId}/trace`), 404, codeOf(404));
});
