import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { openGate } from '../../servers/gate.ts';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(
  test,
  {},
  { sends: agentAt('lang-graph-tasks').replace(/:graph$/, ':sends'), asking: agentAt('asking') },
);

interface Task {
  readonly id: string;
  readonly name: string;
  readonly input?: object;
  readonly triggers?: readonly string[];
  readonly result?: unknown;
  readonly interrupts?: readonly unknown[];
}

interface Frame {
  readonly event: string;
  readonly data: unknown;
}

const of = (frames: readonly Frame[], event: string): unknown[] =>
  frames.filter((frame) => frame.event === event).map(({ data }) => data);

async function streamed(threadId: string, payload: object): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  const streamMode = ['updates' as const, 'tasks' as const, 'checkpoints' as const];
  for await (const frame of service.client().runs.stream(threadId, 'sends', { streamMode, ...payload }))
    frames.push(frame);
  return frames;
}

const started = (frames: readonly Frame[]): Task[] =>
  (of(frames, 'tasks') as Task[]).filter((task) => !('result' in task));
const ended = (frames: readonly Frame[]): Task[] => (of(frames, 'tasks') as Task[]).filter((task) => 'result' in task);

test('each branch of a Send is a task of its own, and an update is what it returned', async (t) => {
  const { thread_id: id } = await service.client().threads.create();
  const frames = await streamed(id, { input: { notes: ['given'] } });
  t.deepEqual(of(frames, 'updates'), [
    { plan: { text: 'planned', notes: ['plan'] } },
    { work: { notes: ['a'] } },
    { work: { notes: ['b'] } },
    { work: { notes: ['c'] } },
  ]);
  const branches = started(frames).filter(({ name }) => name === 'work');
  t.deepEqual(
    branches.map(({ input, triggers }) => [input, triggers]),
    ['a', 'b', 'c'].map((item) => [{ item }, ['__pregel_push']]),
  );
  t.is(new Set(branches.map(({ id: task }) => task)).size, 3);
  t.deepEqual(
    ended(frames).map(({ id: task, result }) => [task, result]),
    [
      [started(frames)[0]?.id, { text: 'planned', notes: ['plan'] }],
      ...branches.map(({ id: task }, index) => [task, { notes: [['a', 'b', 'c'][index]] }]),
    ],
  );
  const [, , planned] = of(frames, 'checkpoints') as { next: string[]; tasks: Task[] }[];
  t.deepEqual(planned?.next, ['work', 'work', 'work']);
  t.deepEqual(
    planned?.tasks.map(({ id: task }) => task),
    branches.map(({ id: task }) => task),
  );
  const history = await service.client().threads.getHistory<{ notes: string[] }>(id);
  t.deepEqual(
    history.map(({ next }) => next),
    [[], ['work', 'work', 'work'], ['plan'], ['__start__']],
  );
  t.deepEqual(history[0]?.values.notes, ['given', 'plan', 'a', 'b', 'c']);
});

test('a branch that asks waits by itself, and what others returned is said at once and again', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const asked = await streamed(id, { input: { mode: 'ask' } });
  t.deepEqual(of(asked, 'updates').slice(1, 3), [{ work: { notes: ['a'] } }, { work: { notes: ['c'] } }]);
  const [, asking] = started(asked).filter(({ name }) => name === 'work');
  const waiting = ended(asked).filter(({ interrupts = [] }) => interrupts.length > 0);
  t.deepEqual([waiting.length, waiting[0]?.id, waiting[0]?.result], [1, asking?.id, {}]);
  const { next, tasks } = await client.threads.getState(id);
  t.deepEqual(next, ['work']);
  t.deepEqual(
    tasks.map(({ name, result, interrupts }) => [name, result, interrupts.map(({ value }) => value)]),
    [
      ['work', { notes: ['a'] }, []],
      ['work', null, ['which?']],
      ['work', { notes: ['c'] }, []],
    ],
  );
  const answered = await streamed(id, { command: { resume: 'this' } });
  const cached = { __metadata__: { cached: true } };
  t.deepEqual(of(answered, 'updates'), [
    { work: { notes: ['a'] }, ...cached },
    { work: { notes: ['this'] } },
    { work: { notes: ['c'] }, ...cached },
  ]);
  t.deepEqual(
    ended(answered).map(({ result }) => result),
    [{ notes: ['this'] }],
  );
});

test('a stream that is read again has the same updates', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const frames = await streamed(id, { input: {} });
  const [run] = await client.runs.list(id);
  const again: Frame[] = [];
  for await (const { event, data } of client.runs.joinStream(id, run?.run_id ?? '', { streamMode: 'updates' }))
    again.push({ event, data });
  t.deepEqual(of(again, 'updates'), of(frames, 'updates'));
});

for (const [graph, input] of [
  ['sends', { mode: 'ask' }],
  [graphId, { messages: [{ role: 'user', content: 'please ask' }] }],
] as const)
  test(`a task has one id in the stream, in states, in the history and among the open questions of its thread, of ${graph}`, async (t) => {
    const { threads, runs } = service.client();
    const { thread_id: id } = await threads.create();
    const frames: Frame[] = [];
    for await (const frame of runs.stream(id, graph, { input, streamMode: ['tasks', 'checkpoints'] }))
      frames.push(frame);
    const idsOf = (tasks: readonly Task[]): string[] => tasks.map(({ id: task }) => task);
    const began = idsOf(started(frames));
    const [, ...checkpoints] = of(frames, 'checkpoints') as { readonly tasks: readonly Task[] }[];
    t.deepEqual(
      checkpoints.flatMap(({ tasks }) => idsOf(tasks)),
      began,
    );
    const [newest, ...history] = (await threads.getHistory(id)) as unknown as { readonly tasks: readonly Task[] }[];
    t.deepEqual(
      history
        .toReversed()
        .flatMap(({ tasks }) => idsOf(tasks))
        .slice(1),
      began,
    );
    const waiting = (tasks: readonly Task[] = []): string[] =>
      idsOf(tasks.filter(({ interrupts = [] }) => interrupts.length > 0));
    const asked = waiting(ended(frames));
    t.is(asked.length, 1);
    t.deepEqual(waiting(newest?.tasks), asked);
    t.deepEqual(waiting((await threads.getState(id)).tasks as unknown as Task[]), asked);
    t.deepEqual(Object.keys((await threads.get(id)).interrupts), asked);
    for (const select of [undefined, ['thread_id', 'interrupts'] as const]) {
      const [found] = await threads.search({ ids: [id], ...(select && { select: [...select] }) });
      t.deepEqual(Object.keys(found?.interrupts ?? {}), asked);
    }
    await runs.wait(id, graph, { command: { resume: 'this' } });
    const before = (await threads.getHistory(id)) as unknown as { readonly tasks: readonly Task[] }[];
    t.deepEqual(waiting(before[1]?.tasks), asked, 'and where it has been answered');
  });

test('a task that has asked keeps its id in the state while its answer is worked on', async (t) => {
  await using gate = await openGate();
  const { threads, runs } = service.client();
  const { thread_id: id } = await threads.create();
  await runs.wait(id, 'asking', { input: { messages: [{ role: 'user', content: 'hello' }] } });
  const idsNow = async (): Promise<string[]> => (await threads.getState(id)).tasks.map(({ id: task }) => task);
  const asked = await idsNow();
  const config = { configurable: { gate: gate.url } };
  const { run_id: run } = await runs.create(id, 'asking', { command: { resume: 'Ada' }, config });
  await gate.visited(1);
  t.deepEqual(await idsNow(), asked);
  gate.open();
  await runs.join(id, run);
});
