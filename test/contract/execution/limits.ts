import type { TestFn } from 'ava';
import { END, field, START, StateGraph } from '@agent-workflow/graph';
import { sizes } from '@agent-workflow/kit/sizes';
import { contextOf, endOf, fieldOf, invoke, start } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { turns } from './graphs.ts';

/** States, messages, contexts and loops that grow beyond their limits. */
export function limitTests(test: TestFn, name: string, open: Opener): void {
  const { check, checkAlone } = checksOf(test, name, open);

  check(
    'fields that are too heavy together fail the node that made them so, and those before are kept',
    tooLargeTogether,
    async (t, { execution, threads }) => {
      const { data } = await endOf(execution, (await start(execution, { threadId: 't1' })).runId);
      t.like(data, { code: 'NODE_ERROR', node: 'second' });
      t.regex((data as { message: string }).message, /^the state has \d+ bytes, more than 2097152$/);
      t.is(((await fieldOf(threads, 't1', 'one')) as string).length, halfState);
      t.is(await fieldOf(threads, 't1', 'two'), null);
    },
  );

  check(
    'a message that is too heavy fails its node with the bound in the message',
    tooLarge,
    async (t, { execution }) => {
      const { data } = await endOf(execution, (await start(execution)).runId);
      t.like(data, { code: 'NODE_ERROR', node: 'heavy' });
      t.regex((data as { message: string }).message, /2097152/);
    },
  );

  checkAlone(
    'a step that overfills the context fails its node with advice to summarise, and the steps before it are kept',
    overfilling,
    async (t, { execution, threads }) => {
      const { data } = await endOf(execution, (await start(execution, { threadId: 't1' })).runId);
      t.like(data, { code: 'NODE_ERROR', node: 'fill' });
      t.regex(
        (data as { message: string }).message,
        /^the context would have \d+ bytes, more than 8388608; a node made by summarizeNode keeps it shorter$/,
      );
      const kept = Math.floor(sizes.context / largeText);
      t.is((await contextOf(threads, 't1')).filter((text) => text.length === largeText).length, kept);
    },
  );

  check(
    'the recursion limit stops a loop, keeps what it has and says so',
    looping,
    async (t, { execution, threads }) => {
      const data = await invoke(execution, { threadId: 't1', recursionLimit: 3 });
      t.like(data, { iterations: 3, recursion_limit_reached: true });
      t.is(data.meta.status, 'completed');
      t.is(await fieldOf(threads, 't1', 'turns'), 3);
      const next = await invoke(execution, { threadId: 't1', recursionLimit: 1 });
      t.like(next, { iterations: 1, recursion_limit_reached: true });
      const enough = await invoke(execution, { threadId: 't2', recursionLimit: 10 });
      t.like(enough, { iterations: 10, recursion_limit_reached: false });
    },
  );
}

/** Characters of which one field may hold as many, and two may not. */
const halfState = 1_200_000;

const tooLargeTogether = new StateGraph({
  one: field<string>({ type: 'string', default: '' }),
  two: field<string>({ type: 'string', default: '' }),
})
  .addNode('first', () => ({ one: 'x'.repeat(halfState) }))
  .addNode('second', () => ({ two: 'x'.repeat(halfState) }))
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

const tooLarge = new StateGraph({})
  .addNode('heavy', () => ({ messages: [{ role: 'assistant', content: 'x'.repeat(3 * 1024 * 1024) }] }))
  .addEdge(START, 'heavy')
  .compile();

const largeText = 2_000_000;

/** Adds messages for as long as the context takes them. */
const overfilling = new StateGraph({})
  .addNode('fill', () => ({ messages: [{ role: 'assistant', content: 'x'.repeat(largeText) }] }))
  .addEdge(START, 'fill')
  .addConditionalEdges('fill', () => 'fill', ['fill'])
  .compile();

const looping = new StateGraph({ turns })
  .addNode('again', () => ({ turns: 1 }))
  .addEdge(START, 'again')
  .addConditionalEdges('again', (state) => (state.turns < 10 ? 'again' : END), ['again', END])
  .compile();
