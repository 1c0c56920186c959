import type { ExecutionContext, TestFn } from 'ava';
import {
  callsTools,
  END,
  field,
  remoteTool,
  START,
  StateGraph,
  summarizeNode,
  textOf,
  tool,
  toolNode,
} from '@agent-workflow/graph';
import type { CompiledGraph, Message, NodeContext } from '@agent-workflow/graph';
import { isServiceError, type ErrorCode, type ServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import { bytesOfEvent, partsOfData } from '@agent-workflow/protos/event-parts';
import type {
  Execution,
  RemoteTool,
  RunEvent,
  RunEvents,
  RunScope,
  StartRequest,
} from '@agent-workflow/protos/execution';
import { granularities, type Granularity } from '@agent-workflow/protos/lists';
import type { Memory } from '@agent-workflow/protos/memory';
import type { MessageEntry, Threads } from '@agent-workflow/protos/threads';
import { areWhole } from '../numbers.ts';
import { chunkText } from '../events.ts';

/** The execution service and what it stands on, opened for one graph. */
export interface Services extends AsyncDisposable {
  readonly execution: Execution;
  readonly threads: Threads;
  readonly memory: Memory;
}

export interface OpenServices {
  readonly graph: CompiledGraph | undefined;
  /** Where the data is kept; absent: nowhere. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What the execution service promises, whatever is between it and its caller. */
export function executionContract(
  test: TestFn,
  name: string,
  open: (options: OpenServices) => Promise<Services>,
): void {
  const check = (
    title: string,
    graph: CompiledGraph | undefined,
    body: (t: ExecutionContext, services: Services) => Promise<void>,
    env: Readonly<Record<string, string>> = {},
  ): void => {
    test(`${name}: ${title}`, async (t) => {
      await using services = await open({ graph, env });
      await body(t, services);
    });
  };

  /** The same before all others: what moves many megabytes would hold up those that run beside it. */
  const checkAlone = (
    title: string,
    graph: CompiledGraph | undefined,
    body: (t: ExecutionContext, services: Services) => Promise<void>,
  ): void => {
    test.serial(`${name}: ${title}`, async (t) => {
      await using services = await open({ graph });
      await body(t, services);
    });
  };

  // Starting and waiting

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

  check('without a graph nothing runs', undefined, async (t, { execution }) => {
    await refused(t, start(execution), 'NotFound');
    await refused(t, execution.getGraph({}, call()), 'NotFound');
  });

  check('the graph is drawn, and its fields are described', echo, async (t, { execution }) => {
    const { graphJson, fieldsJson } = await execution.getGraph({}, call());
    t.like(parse(graphJson), {
      nodes: [
        { id: START, type: 'start' },
        { id: 'echo', type: 'node' },
        { id: END, type: 'end' },
      ],
      edges: [
        { source: START, target: 'echo', conditional: false },
        { source: 'echo', target: END, conditional: false },
      ],
    });
    t.deepEqual(Object.keys(parse(fieldsJson) as object), ['turns', 'context', 'context_summary']);
    t.like(parse(fieldsJson), { turns: { type: 'number', default: 0 }, context: { type: 'array' } });
  });

  check('runs of other owners are absent', echo, async (t, { execution }) => {
    const { runId } = await start(execution);
    await endOf(execution, runId);
    for (const id of [runId, newId()]) {
      await refused(t, execution.wait({ owner: 'u:bob', runId: id }, call()), 'NotFound');
      await refused(t, followAll(execution, id, 0, 'u:bob'), 'NotFound');
    }
  });

  check('two owners use one thread id without meeting', echo, async (t, { execution, threads }) => {
    await Promise.all(
      ['u:ada', 'u:bob'].map(async (each) =>
        invoke(execution, { owner: each, threadId: 't1', messages: [user(each)] }),
      ),
    );
    for (const each of ['u:ada', 'u:bob'])
      t.deepEqual((await logOf(threads, 't1', each)).map(textOf), [each, `you said ${each}`]);
  });

  check(
    'eight runs at once on one thread are answered in order of acceptance',
    echo,
    async (t, { execution, threads }) => {
      const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
      const started = await Promise.all(
        words.map(async (word) => start(execution, { threadId: 't1', messages: [user(word)] })),
      );
      t.is(started.filter(({ isNewThread }) => isNewThread).length, 1);
      const answers = await Promise.all(started.map(async ({ runId }) => resultOf(await endOf(execution, runId))));
      t.deepEqual(
        answers.map(({ messages }) => messages.map(textOf).join()),
        words.map((word) => `you said ${word}`),
      );
      t.deepEqual(
        (await logOf(threads, 't1')).map(textOf),
        words.flatMap((word) => [word, `you said ${word}`]),
      );
      t.is(await fieldOf(threads, 't1', 'turns'), 8);
    },
  );

  check('many threads run at once, each with its own answer', echo, async (t, { execution }) => {
    const words = Array.from({ length: 60 }, (_, index) => `word ${String(index)}`);
    const answers = await Promise.all(words.map(async (word) => invoke(execution, { messages: [user(word)] })));
    t.deepEqual(
      answers.map(({ messages }) => messages.map(textOf).join()),
      words.map((word) => `you said ${word}`),
    );
  });

  check(
    'more runs than there are slots all end',
    echo,
    async (t, { execution }) => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, async (_, index) => invoke(execution, { threadId: `t${String(index % 4)}` })),
      );
      t.is(answers.length, 12);
    },
    { RUN_CONCURRENCY: '2' },
  );

  check(
    'threads whose states outgrow the memory for them keep them all the same',
    largeState,
    async (t, { execution, threads }) => {
      const ids = Array.from({ length: 8 }, (_, index) => `t${String(index)}`);
      await Promise.all(
        ids.map(async (threadId) => {
          for (let turn = 0; turn < 6; turn++) await invoke(execution, { threadId });
        }),
      );
      for (const threadId of ids) t.is(await fieldOf(threads, threadId, 'turns'), 6);
    },
    { HOT_STATE_MB: '1' },
  );

  check('what runs on a thread sees what was written to it directly', echo, async (t, { execution, threads }) => {
    await invoke(execution, { threadId: 't1' });
    await threads.addMessages({ owner, threadId: 't1', messages: [user('by hand', 'hand')] }, call());
    const { context } = await invoke(execution, { threadId: 't1', granularity: 'full', messages: [user('b')] });
    t.deepEqual(context?.map(textOf), ['hi', 'you said hi', 'by hand', 'b', 'you said b']);
    await threads.clearState({ owner, threadId: 't1' }, call());
    const cleared = await invoke(execution, { threadId: 't1', granularity: 'full', messages: [user('c')] });
    t.deepEqual(cleared.context?.map(textOf), ['c', 'you said c']);
    t.is(cleared.state?.['turns'], 1);
  });

  // Streaming

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

  // Failing

  check(
    'a node that throws fails the run, names itself and keeps the steps before',
    failing,
    async (t, { execution, threads }) => {
      const { runId } = await start(execution, { threadId: 't1', messages: [user('hi', 'm1')] });
      const events = await followAll(execution, runId);
      holdsOrder(t, events, 'low');
      const end = toChunk(events.at(-1));
      t.is(end.event, 'error');
      t.deepEqual(end.data, { code: 'NODE_ERROR', message: 'node "second" failed: no tea left', node: 'second' });
      t.is(end.metadata.node, 'second');
      t.deepEqual((await logOf(threads, 't1')).map(textOf), ['hi', 'first is done']);
      t.is(await fieldOf(threads, 't1', 'topic'), 'kept');
      const run = await threads.getRun({ owner, runId }, call());
      t.is(run.status, 'failed');
      t.like(run.end?.error, { code: 'NodeFailed', node: 'second' });
      const again = await start(execution, { threadId: 't1' });
      t.is((await endOf(execution, again.runId)).event, 'error');
    },
  );

  check('a failed run gives the thread to the one that waits', failing, async (t, { execution, threads }) => {
    const runs = await Promise.all(Array.from({ length: 3 }, async () => start(execution, { threadId: 't1' })));
    for (const { runId } of runs) t.is((await endOf(execution, runId)).event, 'error');
    t.is((await logOf(threads, 't1')).length, 6);
  });

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

  // Tools

  check(
    'server tools are called and their results are part of what the run added',
    withTools,
    async (t, { execution }) => {
      const data = await invoke(execution, { messages: [user('call add')] });
      t.deepEqual(
        data.all_messages.map(({ role, content }) => [role, content[0]?.type]),
        [
          ['assistant', 'tool_call'],
          ['tool', 'tool_result'],
          ['assistant', 'text'],
        ],
      );
      t.like(data.all_messages[1]?.content[0], { call_id: 'c1', output: 5, is_error: false, status: 'completed' });
      t.deepEqual(data.messages.map(textOf), ['result 5']);
      t.is(data.iterations, 2);
    },
  );

  check(
    'calls that the limit left open are cancelled by the next message',
    toolsFirst,
    async (t, { execution, threads }) => {
      const data = await invoke(execution, { threadId: 't1', recursionLimit: 1, messages: [user('call')] });
      t.like(data, { recursion_limit_reached: true, iterations: 1 });
      t.is(data.meta.status, 'completed');
      await invoke(execution, { threadId: 't1', messages: [user('hello')] });
      t.deepEqual(
        (await logOf(threads, 't1')).map(({ role, content }) => [role, content[0]?.type, content[0]?.['is_error']]),
        [
          ['user', 'text', undefined],
          ['assistant', 'tool_call', undefined],
          ['tool', 'tool_result', true],
          ['user', 'text', undefined],
          ['assistant', 'text', undefined],
        ],
      );
    },
  );

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

  for (const [what, loc, tools] of [
    ["a server tool's name", ['tools', 1, 'name'], [asked(), asked('add')]],
    ['a name declared before', ['tools', 1, 'name'], [asked(), asked()]],
    ['an unknown node', ['tools', 0, 'nodeName'], [{ ...asked(), nodeName: 'nowhere' }]],
  ] as const) {
    check(`a remote tool with ${what} is refused`, withTools, async (t, { execution }) => {
      const error = await t.throwsAsync<ServiceError>(start(execution, { tools }));
      t.is(error.code, 'Invalid');
      t.deepEqual(error.details[0]?.field, loc);
    });
  }

  check('tools of one run are unknown to the next and to other threads', withTools, async (t, { execution }) => {
    const declared = await start(execution, { threadId: 't1', tools: [asked()], messages: [user('call ask')] });
    const bare = await start(execution, { threadId: 't2', messages: [user('call ask')] });
    t.is(resultOf(await endOf(execution, declared.runId)).meta.status, 'interrupted');
    t.is(resultOf(await endOf(execution, bare.runId)).meta.status, 'completed');
  });

  // State

  check(
    'an initial state passes the reducers, on a new thread and on a known one',
    echo,
    async (t, { execution, threads }) => {
      const first = await invoke(execution, {
        threadId: 't1',
        initialStateJson: json({ turns: 10 }),
        granularity: 'full',
      });
      t.is(first.state?.['turns'], 11);
      await invoke(execution, { threadId: 't1', initialStateJson: json({ turns: 100 }) });
      t.is(await fieldOf(threads, 't1', 'turns'), 112);
    },
  );

  for (const [what, given, loc] of [
    ['a field that is not declared', { nothing: 1 }, ['initialState', 'nothing']],
    ['a value that does not fit', { topic: 5 }, ['initialState', 'topic']],
    ['a value that its reducer makes misfit', { turns: 'x' }, ['initialState', 'turns']],
    ['a context that is no list', { context: 5 }, ['initialState', 'context']],
    ['no message in its context', { context: [{ role: 42 }] }, ['initialState', 'context', 0, 'role']],
  ] as const) {
    check(
      `an initial state with ${what} is refused before anything is made`,
      talkative,
      async (t, { execution, threads }) => {
        const error = await t.throwsAsync<ServiceError>(
          start(execution, { threadId: 't1', initialStateJson: json(given) }),
        );
        t.is(error.code, 'Invalid');
        t.deepEqual(error.details[0]?.field, loc);
        await refused(t, threads.getThread({ owner, threadId: 't1' }, call()), 'NotFound');
      },
    );
  }

  check(
    "an initial state's context stands before the request's own messages",
    echo,
    async (t, { execution, threads }) => {
      const context = [{ message_id: 'earlier', role: 'assistant', content: 'what was said before' }];
      await invoke(execution, { threadId: 't1', initialStateJson: json({ context }) });
      const state = await threads.getState({ owner, threadId: 't1' }, call());
      const messages = parse(state.contextJson) as Message[];
      t.is(messages[0]?.message_id, 'earlier');
      t.deepEqual(
        messages.map(({ role }) => role),
        ['assistant', 'user', 'assistant'],
      );
    },
  );

  check('a state update passes the reducers and gives the whole state', talkative, async (t, { execution }) => {
    await invoke(execution, { threadId: 't1' });
    const update = { turns: 5, topic: 'milk', context: [{ role: 'user', content: 'by hand' }] };
    const state = await execution.updateState({ owner, threadId: 't1', stateJson: json(update) }, call());
    t.is(parse(state.fields['turns']), 7);
    t.is(parse(state.fields['topic']), 'milk');
    t.is(parse(state.fields['context_summary']), 'in short');
    const context = parse(state.contextJson) as Message[];
    t.is(textOf(context.at(-1) ?? { content: [] }), 'by hand');
  });

  check('forty state updates at once stand in line, and all are applied', echo, async (t, { execution, threads }) => {
    await invoke(execution, { threadId: 't1' });
    await Promise.all(
      Array.from({ length: 40 }, async () =>
        execution.updateState({ owner, threadId: 't1', stateJson: json({ turns: 1 }) }, call()),
      ),
    );
    t.is(await fieldOf(threads, 't1', 'turns'), 41);
  });

  check(
    'a state update is refused on an absent thread, a busy one and for a misfit',
    gated(),
    async (t, { execution }) => {
      const update = async (state: object): Promise<unknown> =>
        execution.updateState({ owner, threadId: 't1', stateJson: json(state) }, call());
      await refused(t, update({ turns: 1 }), 'NotFound');
      const gate = gates.next();
      const { runId } = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
      await refused(t, update({ turns: 1 }), 'Conflict');
      gate.open();
      await endOf(execution, runId);
      for (const state of [{ turns: 'x' }, { unknown: 1 }, { context: 5 }, { context: [5] }])
        await refused(t, update(state), 'Invalid');
    },
  );

  // Memory

  check("a node's memories belong to the owner and are found by him alone", remembering, async (t, { execution }) => {
    await invoke(execution, { messages: [user('remember green tea')] });
    const mine = await invoke(execution, { messages: [user('recall tea')] });
    t.deepEqual(mine.messages.map(textOf), ['green tea']);
    const theirs = await invoke(execution, { owner: 'u:bob', messages: [user('recall tea')] });
    t.deepEqual(theirs.messages.map(textOf), ['nothing']);
  });

  // Deleting

  check('a deleted thread is gone with its messages, runs, events and memories', remembering, async (t, services) => {
    const { execution, threads, memory } = services;
    const { runId } = await start(execution, { threadId: 't1', messages: [user('remember green tea')] });
    await endOf(execution, runId);
    await invoke(execution, { threadId: 't2', messages: [user('remember black tea')] });
    await execution.deleteThread({ owner, threadId: 't1' }, call());
    await refused(t, threads.getThread({ owner, threadId: 't1' }, call()), 'NotFound');
    await refused(t, threads.getRun({ owner, runId }, call()), 'NotFound');
    await refused(t, execution.wait({ owner, runId }, call()), 'NotFound');
    await refused(t, followAll(execution, runId), 'NotFound');
    await refused(t, execution.deleteThread({ owner, threadId: 't1' }, call()), 'NotFound');
    const { memories } = await memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call());
    t.deepEqual(
      memories.map(({ content }) => content),
      ['black tea'],
    );
    const fresh = await invoke(execution, { threadId: 't1', messages: [user('again')], granularity: 'full' });
    t.true(fresh.meta.is_new_thread);
    t.is(fresh.context?.length, 2);
  });

  check(
    'deleting a thread stops its run in the middle of a node and ends every stream',
    patient,
    async (t, { execution, threads }) => {
      const gate = gates.next();
      const running = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
      const queued = await start(execution, { threadId: 't1' });
      await gate.entered;
      const following = [running, queued].map(async ({ runId }) => followAll(execution, runId));
      const waiting = execution.wait({ owner, runId: running.runId }, call());
      await execution.getGraph({}, call());
      await execution.deleteThread({ owner, threadId: 't1' }, call());
      t.is(await gate.fired, 'the signal fired');
      for (const events of await Promise.all(following)) {
        holdsOrder(t, events, 'low');
        t.is(resultOf(toChunk(events.at(-1))).meta.status, 'stopped');
        t.is((toChunk(events[0]).data as { readonly request_id: string }).request_id, 'q');
      }
      t.is((await waiting).kind, 'on_chain_end');
      await refused(t, threads.getThread({ owner, threadId: 't1' }, call()), 'NotFound');
      const again = await start(execution, { threadId: 't1', messages: [user('go')] });
      t.true(again.isNewThread);
      t.is((await endOf(execution, again.runId)).event, 'on_chain_end');
    },
  );

  check('an absent or foreign thread cannot be deleted', echo, async (t, { execution, threads }) => {
    await invoke(execution, { threadId: 't1' });
    await refused(t, execution.deleteThread({ owner: 'u:bob', threadId: 't1' }, call()), 'NotFound');
    await refused(t, execution.deleteThread({ owner, threadId: 't9' }, call()), 'NotFound');
    t.is((await threads.getThread({ owner, threadId: 't1' }, call())).threadId, 't1');
  });

  // Messages that leave the context

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
      const chunksOf = (list: readonly RunEvent[], event: string): unknown[] =>
        list.map(toChunk).flatMap((chunk) => (chunk.event === event ? [chunk.data] : []));
      const chunks = (added: readonly Message[], ...removed: string[][]): unknown[] =>
        granularity === 'low'
          ? []
          : [{ messages: added, removed: [] }, ...removed.map((ids) => ({ messages: [], removed: ids }))];
      const replies = (list: readonly RunEvent[]): readonly Message[] => resultOf(toChunk(list.at(-1))).all_messages;
      t.deepEqual(chunksOf(before, 'context_chunk'), chunks(replies(before)));
      const gone = ['a', replies(before)[0]?.message_id ?? '', 'b', 'c'];
      t.deepEqual(chunksOf(events, 'context_chunk'), chunks(replies(events), gone));
      t.deepEqual(chunksOf(events, 'summary_chunk'), granularity === 'full' ? ['a, saw 1, b, c'] : []);
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

export const owner = 'u:ada';
export const call = (ms = 90_000): ReturnType<typeof within> => within(ms);

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const parse = (bytes: Uint8Array | undefined): unknown => JSON.parse(bytes ? Buffer.from(bytes).toString() : 'null');

const entry = (id: string, role: string, content: unknown): MessageEntry => ({
  messageId: id,
  json: json({ message_id: id, role, content, timestamp: '2026-01-01T00:00:00.000Z' }),
});
export const user = (text: string, id = newId()): MessageEntry => entry(id, 'user', [{ type: 'text', text }]);
const result = (callId: string, output: string): MessageEntry =>
  entry(newId(), 'tool', [{ type: 'tool_result', call_id: callId, output, status: 'completed', is_error: false }]);

/** A tool that the caller runs. */
function asked(name = 'ask'): RemoteTool {
  return { nodeName: '', name, description: 'Asks', parametersJson: json({ type: 'object', properties: {} }) };
}

export const start = async (
  execution: Execution,
  parts: Partial<StartRequest> = {},
  at = call(),
): ReturnType<Execution['start']> =>
  execution.start(
    {
      owner,
      requestId: 'q',
      runId: newId(),
      messages: [user('hi')],
      tools: [],
      recursionLimit: 25,
      granularity: 'low',
      multitaskStrategy: 'enqueue',
      ...parts,
    },
    at,
  );

export interface Chunk {
  readonly event: string;
  readonly data: unknown;
  readonly message?: Message;
  readonly state?: unknown;
  readonly thread_id: string;
  readonly run_id: string;
  readonly metadata: {
    readonly request_id: string;
    readonly node?: string;
    readonly message_id?: string;
    readonly role?: string;
  };
  readonly timestamp: string;
}

interface Result {
  readonly messages: readonly Message[];
  readonly all_messages: readonly Message[];
  readonly state?: Readonly<Record<string, unknown>>;
  readonly context?: readonly Message[];
  readonly summary?: string;
  readonly iterations: number;
  readonly recursion_limit_reached: boolean;
  readonly meta: {
    readonly thread_id: string;
    readonly run_id: string;
    readonly is_new_thread: boolean;
    readonly status: string;
    readonly resumes?: string;
  };
}

export function toChunk(event: RunEvent | undefined): Chunk {
  if (!event) throw new Error('there is no such event');
  return JSON.parse(chunkText(event)) as Chunk;
}
const plain = (event: RunEvent): unknown[] => [event.seq, event.kind, chunkText(event)];

export const endOf = async (execution: Execution, runId: string): Promise<Chunk> =>
  toChunk(await execution.wait({ owner, runId }, call()));

export function resultOf(chunk: Chunk | undefined): Result {
  if (chunk?.event !== 'on_chain_end') throw new Error(`the run did not end well: ${JSON.stringify(chunk?.data)}`);
  return chunk.data as Result;
}

async function invoke(execution: Execution, parts: Partial<StartRequest> = {}): Promise<Result> {
  const { runId } = await start(execution, parts);
  return resultOf(toChunk(await execution.wait({ owner: parts.owner ?? owner, runId }, call())));
}

export async function followAll(execution: Execution, runId: string, after = 0, as = owner): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const batch of execution.follow({ owner: as, runId, after }, call())) events.push(...batch.events);
  return events;
}

/** Whose events they are, as often as the replies say so. */
async function scopesOf(execution: Execution, runId: string, after = 0): Promise<RunScope[]> {
  const scopes: RunScope[] = [];
  for await (const { scope } of execution.follow({ owner, runId, after }, call())) if (scope) scopes.push(scope);
  return scopes;
}

async function nextEvents(reader: AsyncIterator<RunEvents>): Promise<readonly RunEvent[]> {
  const item = await reader.next();
  if (item.done) throw new Error('the stream has ended');
  return item.value.events;
}

export const logOf = async (threads: Threads, threadId: string, as = owner): Promise<Message[]> =>
  parse(
    (await threads.listMessages({ owner: as, threadId, limit: 1000, offset: 0 }, call())).messagesJson,
  ) as Message[];

export const contextOf = async (threads: Threads, threadId: string): Promise<string[]> =>
  (parse((await threads.getState({ owner, threadId }, call())).contextJson) as Message[]).map(textOf);

const fieldOf = async (threads: Threads, threadId: string, field: string): Promise<unknown> =>
  parse((await threads.getState({ owner, threadId }, call())).fields[field]);

async function refused(t: ExecutionContext, work: Promise<unknown>, code: ErrorCode): Promise<string> {
  const error = await t.throwsAsync(work, undefined, `nothing was refused with ${code}`);
  t.true(isServiceError(error, code), `${code} was expected, not ${String(error)}`);
  return error.message;
}

const callsIn = (messages: readonly Message[]): unknown[][] =>
  messages.flatMap(({ content }) => content.map((block) => [block.type, block['id'], block['name']]));

const terminal = new Set(['on_chain_end', 'error']);

/** Numbers without a gap, the two first events first, one terminal event and that one last, kinds by granularity. */
function holdsOrder(t: ExecutionContext, events: readonly RunEvent[], granularity: Granularity): void {
  t.true(areWhole(events.map(({ seq }) => seq)));
  t.deepEqual(
    events.slice(0, 2).map(({ kind }) => kind),
    ['metadata', 'on_chain_start'],
  );
  t.deepEqual(
    events.flatMap(({ kind }, index) => (terminal.has(kind) ? [index] : [])),
    [events.length - 1],
  );
  const left = { low: /^(state|context|summary)_chunk$/, partial: /^summary_chunk$/, full: /^$/ }[granularity];
  t.false(events.some(({ kind }) => left.test(kind)));
  for (const event of events) {
    const chunk = toChunk(event);
    t.is(chunk.event, event.kind);
    t.is(new Date(chunk.timestamp).toISOString(), chunk.timestamp);
  }
}

/** What is streamed of each message is its text, and each is there whole exactly once, after its pieces. */
function holdsMessages(t: ExecutionContext, chunks: readonly Chunk[], messages: readonly Message[]): void {
  const chunksOf = chunks.filter(({ event }) => event === 'messages_chunk');
  t.deepEqual(
    chunksOf.flatMap(({ message }) => message ?? []),
    messages,
  );
  for (const message of messages) {
    const mine = chunksOf.filter(({ metadata }) => metadata.message_id === message.message_id);
    t.is(mine.map(({ data }) => (typeof data === 'string' ? data : '')).join(''), textOf(message));
    t.deepEqual(
      mine.flatMap(({ data }) => (typeof data === 'string' ? [] : [data])),
      message.content.filter(({ type }) => type !== 'text'),
    );
    t.deepEqual(
      mine.map((chunk) => chunk.message !== undefined),
      mine.map((_, index) => index === mine.length - 1),
    );
    t.is(mine.at(-1)?.data, '');
    t.true(mine.every(({ metadata }) => metadata.role === message.role));
  }
  t.is(
    chunksOf.length,
    chunksOf.filter(({ metadata }) => messages.some((each) => each.message_id === metadata.message_id)).length,
  );
}

/** Gates that nodes wait at until a test opens them: a node finds its gate by the text of the user's message. */
interface Gate {
  readonly name: string;
  readonly open: () => void;
  readonly opened: Promise<void>;
  /** Resolves when a node stands at the gate. */
  readonly entered: Promise<void>;
  readonly enter: () => void;
  /** Resolves when the signal of that node fires. */
  readonly fired: Promise<string>;
  readonly fire: () => void;
}

const allGates = new Map<string, Gate>();
export const gates = {
  next: (): Gate => {
    const opened = Promise.withResolvers<undefined>();
    const entered = Promise.withResolvers<undefined>();
    const fired = Promise.withResolvers<string>();
    const gate: Gate = {
      name: `gate ${String(allGates.size)}`,
      open: () => opened.resolve(undefined),
      opened: opened.promise,
      entered: entered.promise,
      enter: () => entered.resolve(undefined),
      fired: fired.promise,
      fire: () => fired.resolve('the signal fired'),
    };
    allGates.set(gate.name, gate);
    return gate;
  },
};

/** Waits at the gate that the last user message names; without one goes through. */
export async function passGate(context: readonly Message[], { signal }: NodeContext): Promise<void> {
  const gate = allGates.get(lastUser(context));
  if (!gate) return;
  signal.addEventListener('abort', gate.fire);
  gate.enter();
  await gate.opened;
}

const lastUser = (context: readonly Message[]): string =>
  textOf(context.findLast(({ role }) => role === 'user') ?? { content: [] });

const add = (current: number, update: number): number => current + update;
const turns = field<number>({ type: 'number', default: 0, reducer: add });

const echo = new StateGraph({ turns })
  .addNode('echo', (state, ctx) => {
    ctx.emit('you said ');
    ctx.emit(lastUser(state.context));
    return { turns: 1 };
  })
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();

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

const largeState = new StateGraph({ turns, ballast: field<string>({ type: 'string', default: '' }) })
  .addNode('grow', ({ turns: count }) => ({ turns: 1, ballast: String(count).repeat(300_000) }))
  .addEdge(START, 'grow')
  .compile();

const talkative = new StateGraph({ turns, topic: field<string>({ type: 'string', default: '' }) })
  .addNode('draft', (_state, ctx) => {
    for (const chunk of ['Gre', 'en "', 'tea"\n', '🫖']) ctx.emit(chunk);
    ctx.emit({ type: 'reasoning', text: 'why not' });
    ctx.emit({ type: 'text', text: ' and more' });
    return { topic: 'tea', turns: 1, messages: [{ role: 'assistant', content: 'A second message.' }] };
  })
  .addNode('polish', () => ({
    turns: 1,
    context_summary: 'in short',
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'polished' },
          { type: 'data', data: { n: 1 } },
          { type: 'text', text: '!' },
        ],
      },
    ],
  }))
  .addEdge(START, 'draft')
  .addEdge('draft', 'polish')
  .addEdge('polish', END)
  .compile();

function gated(): CompiledGraph {
  return new StateGraph({ turns })
    .addNode('gated', async (state, ctx) => {
      ctx.emit('one piece');
      await passGate(state.context, ctx);
      return { turns: 1 };
    })
    .addEdge(START, 'gated')
    .compile();
}

/** Like a node that heeds no signal: it goes on waiting when its run is stopped. */
const patient = gated();

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

const failing = new StateGraph({ topic: field<string>({ type: 'string', default: '' }) })
  .addNode('first', (_state, ctx) => {
    ctx.emit('first is done');
    return { topic: 'kept' };
  })
  .addNode('second', (_state, ctx) => {
    ctx.emit('lost words');
    throw new Error('no tea left');
  })
  .addEdge(START, 'first')
  .addEdge('first', 'second')
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

const adder = tool(
  {
    name: 'add',
    description: 'Adds',
    parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
  },
  ({ a }) => a + 3,
);
const locate = remoteTool({ name: 'locate', description: 'Where', parameters: { type: 'object', properties: {} } });

/** Calls the tools that the user names, then says what they gave. */
const withTools = new StateGraph({ turns })
  .addNode('agent', async (state, ctx) => {
    await passGate(state.context, ctx);
    const lastText = lastUser(state.context);
    const results = state.context
      .slice(state.context.findLastIndex(({ role }) => role === 'user'))
      .flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
    if (results.length > 0) ctx.emit(`result ${results.map((block) => String(block['output'])).join(' ')}`);
    else if (!lastText.startsWith('call ')) ctx.emit(`you said ${lastText}`);
    else {
      for (const [index, name] of lastText.split(' ').slice(1).entries())
        ctx.emit({ type: 'tool_call', id: `c${String(index + 1)}`, name, args: { a: 2 }, tool_type: 'function' });
    }
    return { turns: 1 };
  })
  .addNode('tools', toolNode([adder, locate]))
  .addEdge(START, 'agent')
  .addConditionalEdges(
    'agent',
    (state) => (state.context.at(-1)?.content.some(({ type }) => type.endsWith('tool_call')) ? 'tools' : END),
    ['tools', END],
  )
  .addEdge('tools', 'agent')
  .compile();

/** Reaches the limit of its tool node while a call is open. */
const toolsFirst = new StateGraph({})
  .addNode('tools', toolNode([adder]))
  .addNode('agent', (state, ctx) => {
    if (lastUser(state.context) === 'call') ctx.emit({ type: 'tool_call', id: 'c1', name: 'add', args: { a: 1 } });
    else ctx.emit('nothing to call');
  })
  .addEdge(START, 'tools')
  .addEdge('tools', 'agent')
  .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .compile();

const remembering = new StateGraph({})
  .addNode('memory', async (state, ctx) => {
    const [verb, ...words] = lastUser(state.context).split(' ');
    if (verb === 'remember') await ctx.memory.store({ content: words.join(' ') });
    const found = verb === 'recall' ? await ctx.memory.search(words.join(' ')) : [];
    ctx.emit(found.map(({ content }) => content).join() || 'nothing');
  })
  .addEdge(START, 'memory')
  .compile();

/** Says how many messages it saw, and keeps the newest two when there are more than four. */
export const shortening = new StateGraph({})
  .addNode('look', ({ context }, { emit }) => emit(`saw ${String(context.length)}`))
  .addNode(
    'shorten',
    summarizeNode({
      whenOver: { messages: 4 },
      keep: 2,
      summarize: (messages, previous) => [...(previous === '' ? [] : [previous]), ...messages.map(textOf)].join(', '),
    }),
  )
  .addEdge(START, 'look')
  .addEdge('look', 'shorten')
  .compile();

/** Says something that the model is never to see. */
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
