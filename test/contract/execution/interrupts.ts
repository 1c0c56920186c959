import type { TestFn } from 'ava';
import { textOf } from '@agent-workflow/graph';
import { call, endOf, followAll, invoke, logOf, owner, start } from './calls.ts';
import { checksOf, refused, type Opener } from './checks.ts';
import { resultOf, toChunk } from './chunks.ts';
import { gates } from './gates.ts';
import { result, user } from './messages.ts';
import { holdsMessages, holdsOrder } from './stream-checks.ts';
import { asked, callsIn, withTools } from './tool-calls.ts';

/** Runs that ask their caller to run a tool, and go on with its results. */
export function interruptTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  for (const [how, tools, word] of [
    ['the request', [asked()], 'ask'],
    ['the graph', [], 'locate'],
  ] as const) {
    check(
      `a tool that ${how} declares remote is asked of the caller, and the run goes on with the answer`,
      withTools,
      async (t, { execution, threads }) => {
        const first = await invoke(execution, { threadId: 't1', tools, messages: [user(`call ${word}`)] });
        t.is(first.meta.status, 'interrupted');
        t.false(first.recursion_limit_reached);
        t.deepEqual(callsIn(first.messages), [['remote_tool_call', 'c1', word]]);
        const second = await invoke(execution, { threadId: 't1', tools, messages: [result('c1', 'here')] });
        t.deepEqual(second.messages.map(textOf), ['result here']);
        t.like(second.meta, { status: 'completed', resumes: first.meta.run_id });
        t.is(second.iterations, 1);
        t.is((await logOf(threads, 't1')).length, 4);
      },
    );
  }

  check(
    'the stream of a run that asks its caller says so and ends as interrupted',
    withTools,
    async (t, { execution, threads }) => {
      const { runId, threadId } = await start(execution, { tools: [asked()], messages: [user('call ask', 'input')] });
      const events = await followAll(execution, runId);
      holdsOrder(t, events, 'low');
      const chunks = events.map(toChunk);
      const log = await logOf(threads, threadId);
      holdsMessages(
        t,
        chunks,
        log.filter(({ message_id: id }) => id !== 'input'),
      );
      const block = chunks.find(({ event, message }) => event === 'messages_chunk' && !message)?.data as {
        type?: string;
      };
      t.is(block.type, 'remote_tool_call');
      t.is(resultOf(chunks.at(-1)).meta.status, 'interrupted');
    },
  );

  check(
    'server and remote calls of one message: the server ones are answered at once',
    withTools,
    async (t, { execution }) => {
      const first = await invoke(execution, { threadId: 't1', tools: [asked()], messages: [user('call add ask')] });
      t.is(first.meta.status, 'interrupted');
      t.deepEqual(
        first.all_messages.map(({ role }) => role),
        ['assistant', 'tool'],
      );
      const second = await invoke(execution, { threadId: 't1', tools: [asked()], messages: [result('c2', 'here')] });
      t.deepEqual(second.messages.map(textOf), ['result 5 here']);
    },
  );

  check('while results are missing, the reply repeats the calls that are open', withTools, async (t, { execution }) => {
    const tools = [asked()];
    const first = await invoke(execution, { threadId: 't1', tools, messages: [user('call ask ask ask ask')] });
    t.deepEqual(
      callsIn(first.messages).map(([, id]) => id),
      ['c1', 'c2', 'c3', 'c4'],
    );
    // What was asked of the caller stays with the caller, whatever tools a later request declares.
    for (const [declared, answered, open] of [
      [tools, 'c2', ['c1', 'c3', 'c4']],
      [[], 'c4', ['c1', 'c3']],
      [[asked('other')], 'c1', ['c3']],
    ] as const) {
      const next = await invoke(execution, { threadId: 't1', tools: declared, messages: [result(answered, answered)] });
      t.is(next.meta.status, 'interrupted');
      t.deepEqual(
        callsIn(next.messages).map(([, id]) => id),
        [...open],
      );
      t.deepEqual(next.all_messages, []);
    }
    const last = await invoke(execution, { threadId: 't1', messages: [result('c3', 'c3')] });
    t.deepEqual(last.messages.map(textOf), ['result c2 c4 c1 c3']);
  });

  check('a new user message answers the open calls as cancelled', withTools, async (t, { execution, threads }) => {
    await invoke(execution, { threadId: 't1', tools: [asked()], messages: [user('call ask ask')] });
    const data = await invoke(execution, { threadId: 't1', messages: [user('never mind')] });
    t.deepEqual(data.messages.map(textOf), ['you said never mind']);
    const results = (await logOf(threads, 't1')).flatMap(({ content }) =>
      content.filter(({ type }) => type === 'tool_result'),
    );
    t.deepEqual(
      results.map((block) => [block['call_id'], block['is_error']]),
      [
        ['c1', true],
        ['c2', true],
      ],
    );
    await refused(t, start(execution, { threadId: 't1', messages: [result('c1', 'late')] }), 'BadRequest');
  });

  check('a result for a call nobody made is refused', withTools, async (t, { execution, threads }) => {
    const message = await refused(t, start(execution, { threadId: 't1', messages: [result('c9', 'x')] }), 'BadRequest');
    t.regex(message, /"c9"/);
    await refused(t, threads.getThread({ owner, threadId: 't1' }, call()), 'NotFound');
  });

  check(
    'a result that waited and finds no call fails its run, and spoils nothing',
    withTools,
    async (t, { execution }) => {
      const gate = gates.next();
      const first = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
      const lost = await start(execution, { threadId: 't1', messages: [result('c9', 'x')] });
      gate.open();
      t.is((await endOf(execution, first.runId)).event, 'on_chain_end');
      t.like((await endOf(execution, lost.runId)).data, { code: 'BAD_REQUEST' });
      t.deepEqual((await invoke(execution, { threadId: 't1' })).messages.map(textOf), ['you said hi']);
    },
  );
}
