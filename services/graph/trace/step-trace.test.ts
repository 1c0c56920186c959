import test from 'ava';
import {
  longestId,
  mostMemories,
  mostSpans,
  runContentBytes,
  spanContentBytes,
  spansBytes,
  stepContentBytes,
  type StoredContent,
  type StoredTrace,
} from '@agent-workflow/protos/run-trace';
import { readContent, readTrace } from '@agent-workflow/protos/stored-trace';
import { ContentBudget, type RunBudget } from './bounded-content.ts';
import { StepTrace, type WrittenTrace } from './step-trace.ts';

const start = 1_790_000_000_000;

interface Traced {
  readonly trace: StepTrace;
  /** Lets time pass, in milliseconds. */
  readonly pass: (ms: number) => void;
}

function traced(run?: RunBudget): Traced {
  let now = start;
  const trace = new StepTrace({ start, now: () => now, budget: run && new ContentBudget(run) });
  return {
    trace,
    pass: (ms) => {
      now += ms;
    },
  };
}

const runBudget = (): RunBudget => ({ left: runContentBytes });
const spansIn = (written: WrittenTrace | undefined): StoredTrace =>
  written ? readTrace(written.spansJson) : { spans: [] };
const contentIn = (written: WrittenTrace | undefined): StoredContent =>
  written?.contentJson ? readContent(written.contentJson) : {};

test('a node that found memories is kept with their ids, also where its one attempt found them', (t) => {
  const { trace } = traced();
  const attempt = trace.step.begin('node', { name: 'agent' }).begin('attempt', { number: 1 });
  const ids = Array.from({ length: mostMemories + 5 }, (_, at) => `m${String(at)}`);
  attempt.note({ memories: ['x'.repeat(longestId + 1), ...ids] });
  const [node, ...others] = spansIn(trace.toStored()).spans;
  t.deepEqual(node?.memories, ids.slice(0, mostMemories));
  t.deepEqual(others, []);
  const plain = traced().trace;
  plain.step.begin('node', { name: 'agent' }).end();
  t.is(plain.toStored(), undefined);
});

test('spans stand in the order of their begins, with times after that of the step', (t) => {
  const { trace, pass } = traced();
  const node = trace.step.begin('node', { name: 'agent' });
  pass(5);
  const model = node.begin('model', { name: 'gpt-5' });
  pass(20);
  model.end('completed', { finish: 'stop', tokens: [10, 2] });
  const tool = node.begin('tool', { name: 'look_up', call: 'c1' });
  pass(1);
  tool.end('failed', { error: { message: 'it was refused', reason: 'user_error' } });
  node.end();
  t.deepEqual(spansIn(trace.toStored()).spans, [
    { kind: 'node', at: 0, name: 'agent', ms: 26, tokens: [10, 2] },
    { kind: 'model', in: 1, at: 5, name: 'gpt-5', ms: 20, finish: 'stop', tokens: [10, 2] },
    {
      ...{ kind: 'tool', in: 1, at: 25, name: 'look_up', call: 'c1', ms: 1, status: 'failed' },
      error: { message: 'it was refused', reason: 'user_error' },
    },
  ]);
});

test('nothing is stored of a node that the record of its step says all of', (t) => {
  const plain = traced().trace;
  plain.step.begin('node', { name: 'a' }).end('completed', { output: { ids: ['m1'], messages: 1 } });
  t.is(plain.toStored(), undefined);
  const asking = traced().trace;
  asking.step.begin('node', { name: 'a' }).end('waiting');
  t.is(spansIn(asking.toStored('waiting')).status, 'waiting');
  const two = traced().trace;
  for (const name of ['a', 'b']) two.step.begin('node', { name }).end();
  t.is(spansIn(two.toStored()).spans.length, 2);
});

test('what is open when its parent ends is stopped with it, and changes no more', (t) => {
  const { trace, pass } = traced();
  const node = trace.step.begin('node', { name: 'a' });
  const branch = node.begin('branch', { number: 1 });
  const model = branch.begin('model');
  pass(3);
  node.end('failed');
  pass(3);
  model.end('completed', { name: 'late' });
  model.note({ name: 'late' });
  const { spans } = spansIn(trace.toStored('failed'));
  t.deepEqual(
    spans.map(({ kind, ms, status, name }) => [kind, ms, status, name]),
    [
      ['node', 3, 'failed', 'a'],
      ['branch', 3, 'stopped', undefined],
      ['model', 3, 'stopped', undefined],
    ],
  );
});

test('the only attempt at a node is none; several are shown, with what was within each', (t) => {
  const { trace } = traced();
  const single = trace.step.begin('node', { name: 'once' });
  const only = single.begin('attempt', { number: 1 });
  only.begin('model', { name: 'm' }).end();
  only.end();
  single.end();
  const twice = trace.step.begin('node', { name: 'twice' });
  for (const number of [1, 2]) {
    const attempt = twice.begin('attempt', { number });
    attempt.begin('model', { name: 'm' }).end();
    attempt.end(number === 1 ? 'failed' : 'completed');
  }
  twice.end();
  t.deepEqual(
    spansIn(trace.toStored()).spans.map(({ kind, in: parent, number }) => [kind, parent, number]),
    [
      ['node', undefined, undefined],
      ['model', 1, undefined],
      ['node', undefined, undefined],
      ['attempt', 3, 1],
      ['model', 4, undefined],
      ['attempt', 3, 2],
      ['model', 6, undefined],
    ],
  );
});

test('a step keeps so many spans and bytes of them, and says how many there were besides', (t) => {
  const many = traced().trace;
  const node = many.step.begin('node', { name: 'loop' });
  for (let index = 0; index < mostSpans + 10; index++) node.begin('tool', { name: 'x' }).begin('model').end();
  node.end();
  const stored = spansIn(many.toStored());
  t.is(stored.spans.length + (stored.omitted ?? 0), 1 + 2 * (mostSpans + 10));
  const long = traced().trace;
  for (let index = 0; index < 1900; index++) long.step.begin('node', { name: 'ä'.repeat(300) }).end();
  const written = long.toStored();
  t.true((written?.spansJson.byteLength ?? Infinity) <= spansBytes + 1024);
  t.true((spansIn(written).omitted ?? 0) > 0);
});

test('content is kept where it is wanted alone', (t) => {
  for (const [budget, keeps] of [
    [undefined, false],
    [runBudget(), true],
  ] as const) {
    const { trace } = traced(budget);
    const node = trace.step.begin('node', { name: 'a' });
    t.is(node.keepsContent, keeps);
    node.add('instructions', 'the secret of the author');
    node.log('info', 'a secret line');
    node.end();
    const written = trace.toStored();
    t.is(JSON.stringify([spansIn(written), contentIn(written)]).includes('secret'), keeps);
  }
});

test('a prompt of ten megabytes is cut to the bound of its span, quickly, and says how long it was', (t) => {
  for (const sign of ['x', '\u0000', '𝒳', '"', '\ud800']) {
    const prompt = sign.repeat((10 * 1024 * 1024) / Buffer.byteLength(sign));
    const { trace } = traced(runBudget());
    const model = trace.step.begin('model');
    const begun = performance.now();
    model.add('instructions', prompt);
    model.log('info', prompt);
    t.true(performance.now() - begun < 500, sign);
    const written = trace.toStored();
    const content = contentIn(written)['1'];
    t.true((written?.contentJson?.byteLength ?? 0) <= spanContentBytes + 1024, sign);
    t.true((content?.instructions?.length ?? 0) > 5000, sign);
    t.is(content?.cut?.['instructions'], Buffer.byteLength(prompt));
  }
});

test('a step and a run have bounds of their own; a span without room keeps its times and says so', (t) => {
  const run = runBudget();
  const bytes: number[] = [];
  const lost: boolean[] = [];
  for (let step = 0; step < 6; step++) {
    const { trace } = traced(run);
    for (let call = 0; call < 20; call++) trace.step.begin('model').add('output', 'x'.repeat(spanContentBytes));
    const written = trace.toStored();
    bytes.push(written?.contentJson?.byteLength ?? 0);
    lost.push(spansIn(written).spans.some((span) => span.lost === true));
  }
  const most = stepContentBytes + 4096;
  t.true(bytes.every((size) => size <= most));
  t.true(bytes.reduce((sum, size) => sum + size, 0) <= runContentBytes + 6 * 4096);
  t.deepEqual(
    bytes.slice(4).filter((size) => size > 0),
    [],
  );
  t.true(lost.every(Boolean));
});

test('values that cannot be written are named, and fail nobody', (t) => {
  const { trace } = traced(runBudget());
  const node = trace.step.begin('branch', { number: 0 });
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  node.add('input', circle);
  node.add('output', 10n);
  node.add('sent', [{ text: 'x'.repeat(100_000) }]);
  node.add('error', { name: 'Error', message: 'm', stack: 's'.repeat(100_000) });
  const content = contentIn(trace.toStored())['1'];
  t.is(content?.input, 'what cannot be written as JSON');
  t.is(content?.output, 'what cannot be written as JSON');
  t.true(Array.isArray(content?.sent));
});

test('what the only attempt at a node has is that of the node: tokens, lines and what was thrown', (t) => {
  const { trace, pass } = traced(runBudget());
  const node = trace.step.begin('node', { name: 'a' });
  node.log('info', 'before');
  const attempt = node.begin('attempt', { number: 1, tokens: [3, 4] });
  pass(5);
  attempt.log('warn', 'within');
  attempt.add('error', { name: 'Error', message: 'm' });
  attempt.end('failed');
  pass(5);
  node.log('info', 'after');
  node.end('failed');
  const written = trace.toStored('failed');
  t.like(spansIn(written).spans, [{ kind: 'node', tokens: [3, 4] }]);
  const { logs, error } = contentIn(written)['1'] ?? {};
  t.deepEqual(
    logs?.map(({ at, text }) => [at, text]),
    [
      [0, 'before'],
      [5, 'within'],
      [10, 'after'],
    ],
  );
  t.like(error, { message: 'm' });
});

test('a node and its only attempt have the room of one span together', (t) => {
  const { trace } = traced(runBudget());
  const node = trace.step.begin('node', { name: 'a' });
  const attempt = node.begin('attempt', { number: 1 });
  node.add('input', 'x'.repeat(40_000));
  attempt.add('output', 'y'.repeat(40_000));
  for (let line = 0; line < 10_000; line++) attempt.log('info', 'line');
  const written = trace.toStored();
  t.true((written?.contentJson?.byteLength ?? Infinity) <= spanContentBytes + 1024);
  t.like(contentIn(written)['1'], { input: 'x'.repeat(40_000), cut: { output: 40_002 } });
});

test('a span of long lists loses them, and no other span', (t) => {
  const { trace } = traced();
  const fields = Array.from({ length: 32 }, (_, index) => `${String(index)}${'x'.repeat(8000)}`);
  const node = trace.step.begin('node', { name: 'a' });
  node.begin('tool', { name: 't', call: 'c'.repeat(10_000) }).end();
  node.end('completed', { output: { ids: ['m'], messages: 1, fields } });
  trace.step.begin('node', { name: 'b' }).end('completed', { output: { fields: fields.slice(0, 2) } });
  const { spans, omitted } = spansIn(trace.toStored());
  t.is(omitted, undefined);
  t.deepEqual(spans[0]?.output, { messages: 1 });
  t.is(spans[1]?.call, undefined);
  t.deepEqual(
    spans[2]?.output?.fields,
    fields.slice(0, 2).map((name) => name.slice(0, 256)),
  );
});

test('what begins after its node has ended is stopped with the step', (t) => {
  const { trace, pass } = traced();
  const node = trace.step.begin('node', { name: 'a' });
  node.end();
  const late = node.begin('tool', { name: 't' });
  late.begin('model');
  pass(7);
  t.deepEqual(
    spansIn(trace.toStored()).spans.map(({ kind, ms, status }) => [kind, ms, status]),
    [
      ['node', 0, undefined],
      ['tool', 7, 'stopped'],
      ['model', 7, 'stopped'],
    ],
  );
});

test('a value for which there is no room is not written, and its span says that it was there', (t) => {
  const { trace } = traced(runBudget());
  const node = trace.step.begin('node', { name: 'a' });
  node.add('input', 'x'.repeat(2 * spanContentBytes));
  let isWritten = false;
  node.add('output', {
    toJSON: () => {
      isWritten = true;
      return 'y';
    },
  });
  node.end();
  const [span] = spansIn(trace.toStored()).spans;
  t.false(isWritten);
  t.true(span?.lost);
});
