import test from 'ava';
import { field } from '../state/field.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { END, START } from '../build/names.ts';
import type { NodePolicy } from '../build/policy.ts';
import type { StepCode } from '../build/step-code.ts';
import { textOf } from '@agent-workflow/protos/message';
import { user } from '../testing/conversation.ts';
import { walkWithCrashes } from '../testing/crashes.ts';
import { walk } from '../testing/walk.ts';

/** A graph of two nodes and a last one, whose steps are run by `steps`. */
function graphOf(steps: StepCode, policy?: NodePolicy): CompiledGraph {
  const list = { type: 'array', default: [] } as const;
  const route = ({ next }: { readonly next: readonly string[] }): string[] => [...next];
  const builder = new StateGraph({
    next: field<readonly string[]>(list),
    log: field<readonly string[]>({ ...list, reducer: (one, other) => [...one, ...other] }),
  });
  const never = (): never => {
    throw new Error('a node does not run by itself');
  };
  for (const name of ['one', 'two', 'last'])
    builder.addNode(name, never, policy).addConditionalEdges(name, route, ['one', 'two', 'last', END]);
  return { ...builder.addConditionalEdges(START, route, ['one', 'two']).compile(), steps };
}

const begin: StepCode['begin'] = async () => ({ next: ['one', 'two'], log: ['begun'] });
const logOf = (state: Readonly<Record<string, unknown>>): string[] => [...(state['log'] as readonly string[])];

/** Runs two nodes, of which the second asks, and a last one. */
const asking: StepCode = {
  begin,
  run: async (state, { nodes, answers, openMessage, idempotencyKey }) => {
    const log = [...logOf(state), `${nodes.join('+')} ${idempotencyKey}`];
    if (nodes.includes('last')) return { updates: new Map([['last', { next: [], log }]]), questions: [] };
    if (!('q' in answers)) {
      openMessage('one').emit('From one.');
      const waits = { id: 'q', node: 'two', value: 'Well?' };
      return { updates: new Map([['one', { log }]]), questions: [waits] };
    }
    const message = { messages: [{ content: `Answer ${String(answers['q'])}` }] };
    return { updates: new Map([['two', { ...message, next: ['last'], log }]]), questions: [] };
  },
};

test('the nodes of a step are run together, what they write passes no reducer, and the next are those that it names', async (t) => {
  const asked = await walk(graphOf(asking), { context: [user('Go')] });
  t.deepEqual(asked.steps, [['one', 'two']]);
  t.deepEqual(asked.next, ['two']);
  t.deepEqual(asked.interrupts, [{ id: 'q', node: 'two', value: 'Well?' }]);
  t.deepEqual(asked.state.values['log'], ['begun', 'one+two run/1/one+two']);
  t.deepEqual(asked.state.context.map(textOf), ['Go', 'From one.']);
  const still = await walk(graphOf(asking), { from: asked, maxSteps: 1 });
  t.deepEqual([still.waiting, still.state.values['log']], [true, asked.state.values['log']]);
  const done = await walk(graphOf(asking), { from: asked, answer: 'yes' });
  t.deepEqual(done.steps, [['two'], ['last']]);
  t.deepEqual((done.state.values['log'] as string[]).slice(2), ['two run/1/one+two', 'last run-2/2/last']);
  t.is(done.state.context.map(textOf).at(-1), 'Answer yes');
});

test('a crash at any of its steps leads to the same', async (t) => {
  const { differences, crashes } = await walkWithCrashes(() => graphOf(asking), { context: [user('Go')] });
  t.deepEqual(differences, []);
  t.true(crashes > 0);
});

test('a step that fails names its first node, or the one that is named, and is tried again by its policy', async (t) => {
  let failures = 1;
  const failing: StepCode = {
    begin,
    run: async (state) => {
      if (failures-- > 0) throw new Error('busy');
      return { updates: new Map([['one', { next: [], log: logOf(state) }]]), questions: [] };
    },
  };
  await t.throwsAsync(walk(graphOf(failing)), { message: 'node "one" failed: busy' });
  failures = 1;
  const restarts: string[] = [];
  const policy = { retry: { maxAttempts: 2, initialDelayMs: 0 } };
  const done = await walk(graphOf(failing, policy), { onRestart: (node) => restarts.push(node) });
  t.deepEqual([done.ended, restarts], ['done', ['one', 'two']]);
  const unable: StepCode = { ...failing, begin: async () => Promise.reject(new Error('no input')) };
  await t.throwsAsync(walk(graphOf(unable)), { message: 'the begin of the graph failed: no input' });
});

test('a graph whose steps are run together is a node of another graph, and asks there', async (t) => {
  const around = new StateGraph({}).addNode('inner', graphOf(asking)).addEdge(START, 'inner').compile();
  const asked = await walk(around, { context: [user('Go')] });
  t.like(asked.interrupts[0], { id: 'q', node: 'inner' });
  const done = await walk(around, { from: JSON.parse(JSON.stringify(asked)) as typeof asked, answer: 'no' });
  t.is(done.state.context.map(textOf).at(-1), 'Answer no');
});
