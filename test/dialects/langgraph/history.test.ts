import type { Checkpoint, Client, ThreadState } from '@langchain/langgraph-sdk';
import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { serveLangGraph } from './service.ts';

// The checkpoints of a thread, as LangGraph Server has them, on a graph of LangGraph.js and on one of our own.

const service = serveLangGraph(test, {}, { stepping: agentAt('stepping') });
const graphs = ['stepping', 'agent'] as const;

interface Values {
  readonly messages: readonly { readonly id: string; readonly content: string }[];
  readonly count?: number;
}

type State = ThreadState<Values>;

const human = (content: string) => ({ messages: [{ role: 'human', content }] });
const sky = 'pale blue sky over hills';
const texts = ({ values }: State): string[] => values.messages.map(({ content }) => content);
const idOf = ({ checkpoint }: State): string => checkpoint.checkpoint_id ?? '';
const parentOf = (state: State | undefined): string | undefined => state?.parent_checkpoint?.checkpoint_id ?? undefined;
const shape = (state: State) => {
  const { source, step } = state.metadata as { readonly source?: string; readonly step?: number };
  return [source, step, ...state.next, texts(state).length];
};
/** A checkpoint as a run or an update is given it. */
const at = (checkpoint: object | null | undefined) => ({ checkpoint: checkpoint as Checkpoint });
/** The oldest state that shows a message, as the page of a client finds where it came. */
const firstSeen = (history: readonly State[], text: string): State | undefined =>
  history.findLast((state) => texts(state).includes(text));

async function open(): Promise<{ readonly client: Client; readonly id: string; history: () => Promise<State[]> }> {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  return { client, id, history: () => client.threads.getHistory<Values>(id, { limit: 100 }) };
}

for (const graph of graphs) {
  test(`${graph}: a run has a checkpoint before its input, one behind it, and one behind each step`, async (t) => {
    const { client, id, history } = await open();
    await client.runs.wait(id, graph, { input: human('hello') });
    const states = await history();
    t.deepEqual(states.map(shape), [
      ['loop', 2, 2],
      ['loop', 1, 'gate', 2],
      ['loop', 0, 'think', 1],
      ['input', -1, '__start__', 0],
    ]);
    const parents = states.map((state) => parentOf(state));
    t.deepEqual(parents, [...states.slice(1).map(idOf), undefined]);
    t.is(states.at(-1)?.values.count, 0);
    for (const state of states) t.deepEqual(await client.threads.getState<Values>(id, idOf(state)), state);
    const first = states.at(-1);
    t.deepEqual(await client.threads.getState<Values>(id, first?.checkpoint), first);
    const older = await client.threads.getHistory<Values>(id, {
      before: { configurable: { ...states[1]?.checkpoint } },
    });
    t.deepEqual(older, states.slice(2));
  });

  test(`${graph}: a first message is edited by a run at the checkpoint before it, and so is a later one`, async (t) => {
    const { client, id, history } = await open();
    await client.runs.wait(id, graph, { input: human('one') });
    await client.runs.wait(id, graph, { input: human('two') });
    const before = await history();
    const second = firstSeen(before, 'two')?.parent_checkpoint;
    await client.runs.wait(id, graph, { input: human('two b'), ...at(second) });
    const changed = await history();
    t.deepEqual(texts(changed[0] as State), ['one', sky, 'two b', sky]);
    t.is(
      parentOf(changed.find((state) => idOf(state) === parentOf(firstSeen(changed, 'two b')))),
      second?.checkpoint_id ?? undefined,
    );
    const first = firstSeen(changed, 'one')?.parent_checkpoint;
    t.truthy(first);
    await client.runs.wait(id, graph, { input: human('one b'), ...at(first) });
    const states = await history();
    t.deepEqual(texts(states[0] as State), ['one b', sky]);
    t.is(states[0]?.values.count, 1);
    t.deepEqual(states.slice(0, 4).map(shape), [
      ['loop', 2, 2],
      ['loop', 1, 'gate', 2],
      ['loop', 0, 'think', 1],
      ['input', -1, '__start__', 0],
    ]);
    t.is(parentOf(states[3]), first?.checkpoint_id ?? undefined);
    // What was there before the edits is read as it was.
    t.deepEqual(states.slice(-before.length), before);
  });

  test(`${graph}: a run without input at a checkpoint of an input, or before it, begins with that input again`, async (t) => {
    const { client, id, history } = await open();
    await client.runs.wait(id, graph, { input: human('hello') });
    const [, , begun, input] = await history();
    for (const state of [begun, input]) {
      await client.runs.wait(id, graph, { input: null, ...at(state?.checkpoint) });
      const [now] = await history();
      t.deepEqual([texts(now as State), now?.values.count], [['hello', sky], 1]);
    }
  });

  test(`${graph}: a run without input at a checkpoint of an input, or before it, has the fields of that input`, async (t) => {
    const { client, id, history } = await open();
    await client.runs.wait(id, graph, { input: { ...human('one'), answer: 'A0', count: 5 } });
    const [, , begun, input] = await history();
    await client.runs.wait(id, graph, { input: { ...human('two'), answer: 'A1', count: 50 } });
    const answerAndCount = async (): Promise<unknown> => {
      const { values } = await client.threads.getState<{ answer?: unknown; count?: unknown }>(id);
      return [values.answer, values.count];
    };
    for (const state of [begun, input, begun]) {
      await client.runs.wait(id, graph, { input: null, ...at(state?.checkpoint) });
      t.deepEqual(await answerAndCount(), ['A0', 6]);
    }
    const [, , again] = await history();
    await client.runs.wait(id, graph, { command: { update: { answer: 'mine' } }, ...at(again?.checkpoint) });
    t.deepEqual(await answerAndCount(), ['mine', 6]);
  });

  test(`${graph}: the state before an input is updated, and takes another message`, async (t) => {
    const { client, id, history } = await open();
    await client.runs.wait(id, graph, { input: human('hello') });
    const first = (await history()).at(-1);
    await client.threads.updateState(id, { values: { count: 40 }, ...at(first?.checkpoint) });
    const [updated] = await history();
    t.deepEqual([updated?.values.count, texts(updated as State), parentOf(updated)], [40, [], idOf(first as State)]);
    await client.runs.wait(id, graph, { input: human('again') });
    const [now] = await history();
    t.deepEqual([texts(now as State), now?.values.count], [['again', sky], 41]);
  });

  test(`${graph}: a run that goes on adds its steps, and one with nothing to do adds none`, async (t) => {
    const { client, id, history } = await open();
    await client.runs.wait(id, graph, { input: human('ask me') });
    await client.runs.wait(id, graph, { command: { resume: 'yes' } });
    const before = await history();
    t.deepEqual(before.filter(({ next }) => next[0] === '__start__').length, 1);
    await client.runs.wait(id, graph, { input: null });
    const after = await history();
    t.deepEqual(after.map(shape), before.map(shape));
    t.deepEqual(after.slice(1), before.slice(1));
    t.deepEqual(await client.threads.getState<Values>(id), after[0]);
    t.deepEqual(
      await client.threads.getState<Values>(id, idOf(before[0] as State)).then(texts),
      texts(after[0] as State),
    );
  });

  test(`${graph}: a run that goes on at an older checkpoint shows where it branched off`, async (t) => {
    const { client, id, history } = await open();
    await client.runs.wait(id, graph, { input: human('hello') });
    const branched = (await history())[1] as State;
    await client.runs.wait(id, graph, { input: null, ...at(branched.checkpoint) });
    const [last, fork] = await history();
    t.deepEqual(shape(fork as State), ['fork', -1, 'gate', 2]);
    t.deepEqual([parentOf(last), parentOf(fork)], [idOf(fork as State), idOf(branched)]);
  });
}

test('a step that failed comes next, and what failed leaves no checkpoint of its own', async (t) => {
  const { client, id, history } = await open();
  const input = human('hello');
  await client.runs.wait(id, 'stepping', { input, config: { configurable: { fail: true } }, raiseError: false });
  const failed = await history();
  t.deepEqual(failed.map(shape), [
    ['loop', 1, 'gate', 2],
    ['loop', 0, 'think', 1],
    ['input', -1, '__start__', 0],
  ]);
  t.regex(String(failed[0]?.tasks[0]?.error), /gate|planned failure/);
  t.deepEqual(await client.threads.getState<Values>(id), failed[0]);
  await client.runs.wait(id, 'stepping', { input: null });
  t.deepEqual((await history()).map(shape), [['loop', 1, 2], ...failed.map(shape)]);
});

test('a run that is under way comes at its first node, and so does one that was cancelled there', async (t) => {
  const { client, id, history } = await open();
  const { run_id: run } = await client.runs.create(id, 'agent', { input: human('slow') });
  for await (const { event } of client.runs.joinStream(id, run, { streamMode: ['values'] }))
    if (event === 'values') break;
  const expected = [
    ['loop', 0, 'think', 1],
    ['input', -1, '__start__', 0],
  ];
  t.deepEqual((await history()).map(shape), expected);
  await client.runs.cancel(id, run, true);
  t.deepEqual((await history()).map(shape), expected);
});
