import type { TestFn } from 'ava';
import { END, START, StateGraph, type Message } from '@agent-workflow/graph';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { granularities } from '@agent-workflow/protos/lists';
import { chunkText } from '../../events.ts';
import { call, endOf, followAll, logOf, nextEvents, owner, scopesOf, start } from './calls.ts';
import { checksOf, refused, type Opener } from './checks.ts';
import { resultOf, toChunk, type Chunk } from './chunks.ts';
import { gates } from './gates.ts';
import { gated, talkative, turns } from './graphs.ts';
import { user } from './messages.ts';
import { holdsMessages, holdsOrder } from './stream-checks.ts';

/** The events of a run, read from any number on. */
export function followingTests(test: TestFn, name: string, open: Opener): void {
  const { check, checkAlone } = checksOf(test, name, open);

  for (const granularity of granularities) {
    check(
      `the events of a ${granularity} run are complete and in order`,
      talkative,
      async (t, { execution, threads }) => {
        const { runId, threadId } = await start(execution, { granularity, messages: [user('hi', 'input')] });
        const events = await followAll(execution, runId);
        holdsOrder(t, events, granularity);
        const chunks = events.map(toChunk);
        const scope = { runId, threadId, requestId: 'q', isNewThread: true };
        t.deepEqual(await scopesOf(execution, runId), [scope], 'whose they are, in the first reply alone');
        t.deepEqual(await scopesOf(execution, runId, 2), [scope]);
        const log = await logOf(threads, threadId);
        holdsMessages(
          t,
          chunks,
          log.filter(({ message_id: id }) => id !== 'input'),
        );
        const counted = (kind: string): Chunk[] => chunks.filter(({ event }) => event === kind);
        const states =
          granularity === 'low'
            ? []
            : [
                { topic: 'tea', turns: 1 },
                { turns: 2, context_summary: 'in short' },
              ];
        t.deepEqual(
          counted('state_chunk').map(({ data }) => data),
          states,
        );
        t.deepEqual(
          counted('state_chunk').map(({ state }) => state),
          states,
        );
        t.deepEqual(
          counted('context_chunk').map(({ data }) => (data as { messages: Message[] }).messages.length),
          granularity === 'low' ? [] : [2, 1],
        );
        t.deepEqual(
          counted('summary_chunk').map(({ data }) => data),
          granularity === 'full' ? ['in short'] : [],
        );
        t.deepEqual(
          counted('on_chain_stream').map(({ data }) => data),
          [
            { node: 'draft', step: 0, status: 'started' },
            { node: 'draft', step: 0, status: 'completed' },
            { node: 'polish', step: 1, status: 'started' },
            { node: 'polish', step: 1, status: 'completed' },
          ],
        );
        t.deepEqual(resultOf(toChunk(events.at(-1))).all_messages, log.slice(1));
      },
    );
  }

  check('whole messages and changed state are told only after their commit', gated(), async (t, { execution }) => {
    const gate = gates.next();
    const { runId } = await start(execution, { granularity: 'full', messages: [user(gate.name)] });
    const reader = execution.follow({ owner, runId, after: 0 }, call())[Symbol.asyncIterator]();
    const before: string[] = [];
    while (!before.includes('messages_chunk')) before.push(...(await nextEvents(reader)).map(({ kind }) => kind));
    t.deepEqual(before, ['metadata', 'on_chain_start', 'on_chain_stream', 'messages_chunk']);
    gate.open();
    const rest = await followAll(execution, runId, before.length);
    t.deepEqual(
      rest.map(({ kind }) => kind),
      ['messages_chunk', 'state_chunk', 'context_chunk', 'on_chain_stream', 'on_chain_end'],
    );
    await reader.return?.();
  });

  check('resuming after any number gives the rest, byte for byte', talkative, async (t, { execution }) => {
    const { runId } = await start(execution, { granularity: 'full' });
    const uncut = (await followAll(execution, runId)).map(plain);
    for (let after = 0; after <= uncut.length; after++)
      t.deepEqual((await followAll(execution, runId, after)).map(plain), uncut.slice(after));
    t.deepEqual(plain(await execution.wait({ owner, runId }, call())), uncut.at(-1));
  });

  check('a follower that leaves ends nothing', gated(), async (t, { execution }) => {
    const gate = gates.next();
    const { runId } = await start(execution, { messages: [user(gate.name)] });
    for await (const _ of execution.follow({ owner, runId, after: 0 }, call())) break;
    await refused(t, execution.wait({ owner, runId }, within(20)), 'Timeout');
    gate.open();
    t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  });

  checkAlone('a run whose events weigh more than one reply may is followed whole', bulky, async (t, { execution }) => {
    const { runId } = await start(execution);
    await endOf(execution, runId);
    const events = await followAll(execution, runId);
    holdsOrder(t, events, 'low');
    t.true(events.reduce((sum, event) => sum + bytesOfEvent(event), 0) > sizes.rpc);
  });
}

const plain = (event: RunEvent): unknown[] => [event.seq, event.kind, chunkText(event)];

/** Writes more than a context holds, and leaves no more than one message in it. */
const bulky = new StateGraph({ turns })
  .addNode('write', ({ context }) => ({
    turns: 1,
    messages: [{ role: 'assistant', content: 'x'.repeat(1_500_000) }],
    removed_from_context: context.map(({ message_id: id }) => id),
  }))
  .addEdge(START, 'write')
  .addConditionalEdges('write', (state) => (state.turns < 12 ? 'write' : END), ['write', END])
  .compile();
