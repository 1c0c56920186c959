import test from 'ava';
import type { TracedStep } from '@agent-workflow/protos/threads';
import { tracePage } from './trace-spans.ts';

const start = Date.parse('2026-02-05T12:00:00.000Z');
const run = { status: 'completed', updatedAt: start + 900 } as const;
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const step = (number: number, more: Partial<TracedStep> = {}): TracedStep => ({
  ...{ step: number, nodes: ['agent'], next: [], at: start + 500, checkpointId: `c${String(number)}` },
  work: { startedAt: start, attempt: 1, retries: 0, inputTokens: 0, outputTokens: 0 },
  ...more,
});

const spansOf = (...page: Parameters<typeof tracePage>) => tracePage(...page).spans;

const shown = (steps: readonly TracedStep[], ended: object = run): unknown[] =>
  spansOf({ ...run, ...ended }, { steps, hasMore: false }).map(({ id, parent_id: parent, kind, name, status }) => [
    ...[id, parent, kind, name, status],
  ]);

test('a step without a trace is shown by its nodes, with its own times', (t) => {
  const [own, node] = spansOf(run, { steps: [step(3)], hasMore: false });
  t.like(own, { id: 's3', parent_id: null, checkpoint_id: 'c3', started_at: '2026-02-05T12:00:00.000Z' });
  t.like(node, { id: 's3.1', parent_id: 's3', kind: 'node', name: 'agent', ended_at: '2026-02-05T12:00:00.500Z' });
});

test('names, numbers and times of spans are made whole', (t) => {
  const spans = [
    { kind: 'node', at: 0, ms: 500, name: 'agent' },
    { kind: 'branch', in: 1, at: 10, ms: 20, number: 4, replayed: true },
    { kind: 'step', in: 2, at: 10, ms: 20, number: 2, name: 'inner' },
  ];
  const traced = step(0, { trace: { spansJson: json({ spans, omitted: 7 }) } });
  const all = spansOf(run, { steps: [traced], hasMore: false });
  t.like(all[0], { omitted: 7 });
  t.like(all[2], {
    ...{ id: 's0.2', parent_id: 's0.1', name: 'agent', branch: 4, replayed: true },
    ...{ started_at: '2026-02-05T12:00:00.010Z', ended_at: '2026-02-05T12:00:00.030Z' },
  });
  t.like(all[3], { id: 's0.3', parent_id: 's0.2', inner_step: 2, name: 'inner' });
});

test('a step of a second claim has a takeover before it', (t) => {
  const again = { startedAt: start, attempt: 2, inputTokens: 1, outputTokens: 2 };
  t.deepEqual(shown([step(1, { work: again })]), [
    ['t1', null, 'takeover', '', 'completed'],
    ['s1', null, 'step', 'agent', 'completed'],
    ['s1.1', 's1', 'node', 'agent', 'completed'],
  ]);
});

test('a takeover shows also where the claim does not count', (t) => {
  const trace = { spansJson: json({ takeover: true, spans: [] }) };
  t.deepEqual(shown([step(1, { trace })])[0], ['t1', null, 'takeover', '', 'completed']);
});

test('the step in which a run was stopped or failed is named by the nodes that were to run', (t) => {
  const steps = [step(0, { next: ['tools'] }), step(1, { nodes: [] })];
  t.deepEqual(shown(steps, { status: 'stopped' }).slice(2), [
    ['s1', null, 'step', 'tools', 'stopped'],
    ['s1.1', 's1', 'node', 'tools', 'stopped'],
  ]);
  const error = { code: 'NodeFailed', message: 'it failed' } as const;
  const end = { status: 'failed', iterations: 1, recursionLimitReached: false, error } as const;
  const failed = spansOf({ ...run, status: 'failed', end }, { steps, hasMore: false });
  t.like(failed[2], { status: 'failed', error: { message: 'it failed', code: 'NODE_ERROR' } });
});

test('what is under way has no end, and what others ended has theirs', (t) => {
  const uncommitted = { step: 2, nodes: ['agent', 'other'], since: start + 500 };
  const [own, first, second] = spansOf({ ...run, status: 'running' }, { steps: [], hasMore: false, uncommitted });
  t.like(own, { id: 's2', status: 'running', ended_at: null, name: 'agent, other' });
  t.deepEqual([first?.['id'], second?.['id']], ['s2.1', 's2.2']);
  const [stopped] = spansOf({ ...run, status: 'stopped' }, { steps: [], hasMore: false, uncommitted });
  t.like(stopped, { status: 'stopped', ended_at: '2026-02-05T12:00:00.900Z' });
});

test('a span says which memories it has found', (t) => {
  const spans = [{ kind: 'tool', at: 0, ms: 1, name: 'recall', memories: ['m1', 7, 'm2'] }];
  const [, tool] = spansOf(run, { steps: [step(0, { trace: { spansJson: json({ spans }) } })], hasMore: false });
  t.deepEqual(tool?.['memory_ids'], ['m1', 'm2']);
});

test('a trace of another shape spoils nothing: what cannot be read is left out', (t) => {
  for (const spansJson of [Buffer.from('{'), json(7), json({ spans: {} }), json({ spans: [] }), json(null)])
    t.deepEqual(shown([step(0, { trace: { spansJson } })]).length, 2);
  const spans = [
    ...[null, { kind: 'other', at: 0 }, { kind: 'node', at: -1 }],
    { kind: 'model', at: 2 ** 52, ms: 2 ** 52, in: 9, name: 7, tokens: ['x'], error: 'x', sent: {}, secret: 'x' },
    { kind: 'tool', at: 1, ms: 1, in: 2, error: { message: 'm', code: 5 }, output: { ids: [1] } },
  ];
  const all = spansOf(run, {
    steps: [step(0, { trace: { spansJson: json({ spans, status: 'odd' }) } })],
    hasMore: false,
  });
  t.is(all.length, 1 + spans.length);
  t.false(JSON.stringify(all).includes('secret'));
  t.like(all.at(-1), { parent_id: 's0.2', kind: 'tool' });
  const content = Buffer.from('[]');
  t.notThrows(() => shown([step(0, { trace: { spansJson: json({ spans }), contentJson: content } })]));
});

const plainNode = { kind: 'node', at: 0, ms: 1 };

test('names and errors of another worker are bounded, also where many spans inherit them', (t) => {
  const long = 'x'.repeat(200_000);
  const spans = [
    { ...plainNode, name: long, error: { message: long, code: long, reason: { deep: long } } },
    ...Array.from({ length: 1999 }, () => ({ ...plainNode, in: 1 })),
  ];
  for (const nodes of [['agent'], [long]]) {
    const all = spansOf(run, { steps: [step(0, { nodes, trace: { spansJson: json({ spans }) } })], hasMore: false });
    t.is(all.length, 2001);
    t.true(JSON.stringify(all.slice(1)).length < 2_000_000);
    t.deepEqual(all[1]?.['error'], { message: 'x'.repeat(1024) });
  }
});

test('a page ends at so many bytes of spans, and says which step it shows last', (t) => {
  const spansJson = json({ spans: Array<number>(2000).fill(0) });
  const steps = Array.from({ length: 200 }, (_, number) => step(number, { trace: { spansJson } }));
  const { spans, last = 0, hasMore } = tracePage(run, { steps, hasMore: false });
  t.true(hasMore);
  t.true(JSON.stringify(spans).length < 5 * 1024 * 1024);
  t.is(spans.length, 2001 * (last + 1));
  t.true(last > 0);
  const end = tracePage(run, { steps: steps.slice(0, 1), hasMore: false });
  t.deepEqual([end.last, end.hasMore], [0, false]);
  t.deepEqual(tracePage(run, { steps: [], hasMore: false }), { spans: [], hasMore: false });
});

const contentIn = (content: unknown): unknown => {
  const trace = { spansJson: json({ spans: [plainNode] }), contentJson: Buffer.from(String(content)) };
  return spansOf(run, { steps: [step(0, { trace })], hasMore: false })[1]?.['content'];
};

test('content of another shape is left out by its members', (t) => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  t.deepEqual(contentIn(`{"1":{"logs":1,"input":${deep},"sent":[1,${deep}],"output":2,"secret":3}}`), {
    sent: [1],
    output: 2,
  });
  t.deepEqual(
    contentIn('{"1":{"logs":[null,{"at":5,"level":"info","text":"a"},{"at":"x"}],"error":7,"cut":{"logs":9,"b":1}}}'),
    {
      logs: [{ at: '2026-02-05T12:00:00.005Z', level: 'info', text: 'a' }],
      cut: { logs: 9 },
    },
  );
  t.deepEqual(contentIn('{"1":{"tools":["a",5],"instructions":[],"error":{"name":"E","message":"m","stack":1}}}'), {
    tools: ['a'],
    error: { name: 'E', message: 'm' },
  });
});

test('an error whose reason is nested deep is one without a reason', (t) => {
  const reason = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const spansJson = Buffer.from(`{"spans":[{"kind":"tool","at":0,"error":{"message":"m","reason":${reason}}}]}`);
  const [, tool] = spansOf(run, { steps: [step(0, { trace: { spansJson } })], hasMore: false });
  t.deepEqual(tool?.['error'], { message: 'm' });
  t.notThrows(() => JSON.stringify(tool));
});
