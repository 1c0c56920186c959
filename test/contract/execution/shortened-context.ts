import type { TestFn } from 'ava';
import { START, StateGraph, textOf, type Message } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { granularities } from '@agent-workflow/protos/lists';
import { call, contextOf, endOf, fieldOf, followAll, invoke, logOf, owner, start } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { resultOf, toChunk } from './chunks.ts';
import { shortening } from './graphs.ts';
import { user } from './messages.ts';
import { holdsOrder } from './stream-checks.ts';

/** Messages that leave the context. */
export function shortenedContextTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check('what a summarising node takes out of the context stays in the log', shortening, async (t, services) => {
    const { execution, threads } = services;
    for (const id of ['a', 'b']) await invoke(execution, { threadId: 't1', messages: [user(id, id)] });
    const third = await invoke(execution, { threadId: 't1', messages: [user('c', 'c')], granularity: 'full' });
    t.deepEqual(third.all_messages.map(textOf), ['saw 5']);
    t.deepEqual(third.context?.map(textOf), ['c', 'saw 5']);
    t.deepEqual(third.state?.['context'], third.context);
    t.is(third.summary, 'a, saw 1, b, saw 3');
    const log = ['a', 'saw 1', 'b', 'saw 3', 'c', 'saw 5'];
    t.deepEqual((await logOf(threads, 't1')).map(textOf), log);
    t.deepEqual(await contextOf(threads, 't1'), ['c', 'saw 5']);
    t.is(await fieldOf(threads, 't1', 'context_summary'), third.summary);

    const warm = await invoke(execution, { threadId: 't1', messages: [user('d', 'd')], granularity: 'full' });
    t.deepEqual(warm.messages.map(textOf), ['saw 3']);
    t.deepEqual(warm.context?.map(textOf), ['c', 'saw 5', 'd', 'saw 3']);
    await threads.addMessages({ owner, threadId: 't1', messages: [user('by hand')] }, call());
    const read = await invoke(execution, { threadId: 't1', messages: [user('e', 'e')], granularity: 'full' });
    t.deepEqual(read.context?.map(textOf), ['e', 'saw 6']);
    t.is(read.summary, 'a, saw 1, b, saw 3, c, saw 5, d, saw 3, by hand');
    t.deepEqual((await logOf(threads, 't1')).map(textOf), [...log, 'd', 'saw 3', 'by hand', 'e', 'saw 6']);
  });

  for (const granularity of granularities)
    check(`at ${granularity} a shortened context is told as far as that goes`, shortening, async (t, { execution }) => {
      const first = await start(execution, { threadId: 't1', granularity, messages: [user('a', 'a')] });
      const before = await followAll(execution, first.runId);
      const input = [user('b', 'b'), user('c', 'c'), user('d', 'd')];
      const { runId } = await start(execution, { threadId: 't1', granularity, messages: input });
      const events = await followAll(execution, runId);
      for (const each of [before, events]) holdsOrder(t, each, granularity);
      const dataOf = (list: readonly RunEvent[], event: string): unknown[] =>
        list.map(toChunk).flatMap((chunk) => (chunk.event === event ? [chunk.data] : []));
      const chunks = (added: readonly Message[], ...removed: string[][]): unknown[] =>
        granularity === 'low'
          ? []
          : [{ messages: added, removed: [] }, ...removed.map((ids) => ({ messages: [], removed: ids }))];
      const replies = (list: readonly RunEvent[]): readonly Message[] => resultOf(toChunk(list.at(-1))).all_messages;
      t.deepEqual(dataOf(before, 'context_chunk'), chunks(replies(before)));
      const gone = ['a', replies(before)[0]?.message_id ?? '', 'b', 'c'];
      t.deepEqual(dataOf(events, 'context_chunk'), chunks(replies(events), gone));
      t.deepEqual(dataOf(events, 'summary_chunk'), granularity === 'full' ? ['a, saw 1, b, c'] : []);
    });

  check('what is said and removed in one step is in the log alone, warm or read', asides, async (t, services) => {
    const { execution, threads } = services;
    const [first, second] = [await invoke(execution, { threadId: 't1' }), await invoke(execution, { threadId: 't1' })];
    await threads.addMessages({ owner, threadId: 't1', messages: [user('by hand')] }, call());
    const third = await invoke(execution, { threadId: 't1' });
    t.deepEqual(
      [first, second, third].map(({ all_messages: added }) => added.map(textOf)),
      [1, 3, 6].map((seen) => [`saw ${String(seen)}`, 'an aside']),
    );
    t.is((await logOf(threads, 't1')).filter((message) => textOf(message) === 'an aside').length, 3);
    t.is((await contextOf(threads, 't1')).length, 7);
  });

  check('a message that left the context and is sent again is back at its place', shortening, async (t, services) => {
    const { execution, threads } = services;
    const input = ['a', 'b', 'c', 'd'].map((id) => user(id, id));
    await invoke(execution, { threadId: 't1', messages: input });
    t.deepEqual(await contextOf(threads, 't1'), ['d', 'saw 4']);
    const again = await invoke(execution, { threadId: 't1', messages: [user('again', 'b')], granularity: 'full' });
    t.deepEqual(again.context?.map(textOf), ['again', 'd', 'saw 4', 'saw 3']);
    t.deepEqual(await contextOf(threads, 't1'), ['again', 'd', 'saw 4', 'saw 3']);
    t.deepEqual((await logOf(threads, 't1')).map(textOf), ['a', 'again', 'c', 'd', 'saw 4', 'saw 3']);
  });

  check('a node that removes what is not there fails its run, and is named', careless, async (t, services) => {
    const { execution, threads } = services;
    const { runId } = await start(execution, { threadId: 't1', messages: [user('a', 'a')] });
    const end = await endOf(execution, runId);
    t.deepEqual(end.data, {
      code: 'NODE_ERROR',
      message: 'removed_from_context of node "tidy" names "nobody", which no message of the context has for its id',
      node: 'tidy',
    });
    t.deepEqual(await contextOf(threads, 't1'), ['a']);
  });
}

/** Emits something that the model is never to see. */
const asides = new StateGraph({})
  .addNode('look', ({ context }, { emit }) => {
    emit(`saw ${String(context.length)}`);
    const aside = newId();
    return { messages: [{ message_id: aside, content: 'an aside' }], removed_from_context: [aside] };
  })
  .addEdge(START, 'look')
  .compile();

const careless = new StateGraph({})
  .addNode('tidy', () => ({ removed_from_context: ['nobody'] }))
  .addEdge(START, 'tidy')
  .compile();
