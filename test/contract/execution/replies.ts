import type { TestFn } from 'ava';
import { textOf } from '@agent-workflow/graph';
import { partsOfData } from '@agent-workflow/protos/event-parts';
import { call, endOf, fieldOf, invoke, logOf, owner, start } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { resultOf, toChunk, type Result } from './chunks.ts';
import { gates } from './gates.ts';
import { echo, gated } from './graphs.ts';
import { user } from './messages.ts';

/** What a run that is started and waited for answers. */
export function replyTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check('a run is started, waited for, and answers', echo, async (t, { execution }) => {
    const reply = await start(execution, { messages: [user('hello')] });
    t.true(reply.isNewThread);
    const end = await endOf(execution, reply.runId);
    t.is(end.event, 'on_chain_end');
    const data = end.data as Result;
    t.deepEqual(data.messages.map(textOf), ['you said hello']);
    t.deepEqual(data.all_messages, data.messages);
    t.like(data, { iterations: 1, recursion_limit_reached: false });
    t.deepEqual(data.meta, {
      thread_id: reply.threadId,
      run_id: reply.runId,
      is_new_thread: true,
      status: 'completed',
    });
    t.deepEqual(Object.keys(data).toSorted(), [
      'all_messages',
      'iterations',
      'messages',
      'meta',
      'metadata',
      'recursion_limit_reached',
    ]);
  });

  check(
    'a start that may wait for the end has none in its reply, or the last event of the run',
    echo,
    async (t, services) => {
      const { execution } = services;
      const { runId, end } = await start(execution, { messages: [user('hello')], awaitEndMs: 60_000 });
      const last = await execution.wait({ owner, runId }, call());
      t.deepEqual(end ?? last, last);
    },
  );

  check('a start that may not wait replies without the end', echo, async (t, { execution }) => {
    const { runId, end } = await start(execution);
    t.is(end, undefined);
    t.is((await endOf(execution, runId)).event, 'on_chain_end');
  });

  check('a start waits no longer than it may for a run that goes on', gated(), async (t, { execution }) => {
    const gate = gates.next();
    const { runId, end } = await start(execution, { messages: [user(gate.name)], awaitEndMs: 1 });
    t.is(end, undefined);
    gate.open();
    t.is((await endOf(execution, runId)).event, 'on_chain_end');
  });

  check('a reply holds what its granularity asks for', echo, async (t, { execution }) => {
    const partial = await invoke(execution, { granularity: 'partial', messages: [user('a', 'm1')] });
    t.deepEqual(Object.keys(partial.state ?? {}).toSorted(), ['context', 'context_summary', 'turns']);
    t.is(partial.state?.['turns'], 1);
    t.deepEqual(partial.state?.['context'], partial.context);
    t.deepEqual(
      partial.context?.map(({ role }) => role),
      ['user', 'assistant'],
    );
    t.false('summary' in partial);
    const full = await invoke(execution, { granularity: 'full' });
    t.is(full.summary, '');
  });

  check('a large context crosses in a reply once, and is read twice', echo, async (t, { execution }) => {
    const content = [{ type: 'text', text: '€'.repeat(300_000) }];
    const messages = [user(content[0]?.text ?? '', 'large'), user('b')];
    const { runId } = await start(execution, { granularity: 'partial', messages });
    const end = await execution.wait({ owner, runId }, call());
    const text = Buffer.concat(partsOfData(end)).toString();
    const { context, state } = resultOf(toChunk(end));
    t.deepEqual(context?.[0]?.content, content);
    t.true(JSON.stringify(state?.['context']) === JSON.stringify(context));
    t.true(end.data.byteLength < 950_000, `${String(end.data.byteLength)} bytes`);
    t.true(Buffer.byteLength(text) > 1_800_000);
  });

  check('messages and state are on record when the reply is there', echo, async (t, { execution, threads }) => {
    const data = await invoke(execution, { threadId: 't1', messages: [user('a', 'm1')] });
    t.deepEqual(
      (await logOf(threads, 't1')).map(({ message_id: id }) => id),
      ['m1', data.messages[0]?.message_id],
    );
    t.is(await fieldOf(threads, 't1', 'turns'), 1);
    await invoke(execution, { threadId: 't1' });
    t.is(await fieldOf(threads, 't1', 'turns'), 2);
  });
}
