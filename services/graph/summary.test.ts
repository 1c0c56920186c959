import test from 'ava';
import fc from 'fast-check';
import { answeredCalls, callsOf, type Block, type Message } from '@agent-workflow/protos/message';
import { START } from './build/names.ts';
import { field } from './state/field.ts';
import { StateGraph } from './build/graph.ts';
import { contextExceeds, countTokensApproximately, splitContext, summarizeNode } from './summary.ts';
import { deepFreeze, type EngineState } from './state/state.ts';
import { runStep } from './run/step.ts';
import { nobody, walk } from './testing.ts';

let messages = 0;
const message = (role: Message['role'], ...content: Block[]): Message =>
  deepFreeze({ message_id: `m${String(++messages)}`, role, content, timestamp: '2026-01-01T00:00:00.000Z' });
const text = (words: string): Block => ({ type: 'text', text: words });
const userMessage = (words = 'words'): Message => message('user', text(words));
const calls = (...ids: string[]): Message =>
  message('assistant', ...ids.map((id) => ({ type: 'tool_call', id, name: 'look', args: {} })));
const results = (...ids: string[]): Message =>
  message('tool', ...ids.map((id) => ({ type: 'tool_result', call_id: id, output: 'seen', is_error: false })));

/** The indexes of the messages that are kept. */
const keptOf = (context: readonly Message[], keep: number): number[] =>
  splitContext(context, { keep }).kept.map((each) => context.indexOf(each));

test('the newest messages and the system messages at the start are kept', (t) => {
  const system = message('system', text('You are kind.'));
  t.deepEqual(keptOf([system, userMessage(), userMessage(), userMessage(), userMessage()], 2), [0, 3, 4]);
  t.deepEqual(keptOf([userMessage(), system, userMessage(), userMessage()], 2), [2, 3]);
  t.deepEqual(keptOf([system, message('system', text('You are brief.'))], 1), [0, 1]);
});

test('a context of no more messages than are kept is left whole', (t) => {
  const context = [message('system', text('hm')), userMessage(), userMessage()];
  t.deepEqual(splitContext(context, { keep: 2 }), { kept: context, removed: [] });
  t.deepEqual(splitContext([], { keep: 1 }), { kept: [], removed: [] });
});

test('a message with calls is kept or removed together with all results', (t) => {
  const context = [userMessage(), calls('a', 'b'), results('a'), results('b'), userMessage(), userMessage()];
  for (const [keep, kept] of [
    [1, [5]],
    [2, [4, 5]],
    [3, [1, 2, 3, 4, 5]],
    [4, [1, 2, 3, 4, 5]],
  ] as const)
    t.deepEqual(keptOf(context, keep), kept);
});

test('a message with an open call is kept, with the results of its other calls', (t) => {
  const context = [userMessage(), calls('a', 'b'), results('a'), userMessage(), userMessage(), userMessage()];
  t.deepEqual(keptOf(context, 1), [1, 2, 5]);
});

test('a call id that is used again does not connect two turns', (t) => {
  const turn = () => [userMessage(), calls('call_1'), results('call_1'), userMessage()];
  t.deepEqual(keptOf([...turn(), ...turn(), ...turn()], 3), [9, 10, 11]);
  t.deepEqual(keptOf([calls('call_1'), userMessage(), calls('call_1'), results('call_1'), userMessage()], 1), [0, 4]);
});

/** Conversations as they should be, and anything beside: results of nobody's calls, calls cut off, ids given out again. */
const contexts = fc
  .array(
    fc.oneof(
      fc.constant({ role: 'user' as const, ids: [] }),
      fc.record({
        role: fc.constantFrom('assistant' as const, 'tool' as const),
        ids: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 3 }),
      }),
      fc.constant({ role: 'system' as const, ids: [] }),
    ),
    { maxLength: 30 },
  )
  .map((drawn) =>
    drawn.map(({ role, ids }) => {
      if (role === 'assistant') return calls(...new Set(ids));
      return role === 'tool' ? results(...new Set(ids)) : message(role, text(role));
    }),
  );

/** Every call with the places of its message and of what answers it: up to the next message that makes a call of this id. */
function callsIn(context: readonly Message[]): { readonly at: number; readonly answers: readonly number[] }[] {
  return context.flatMap((caller, at) =>
    callsOf(caller).map((id) => {
      const rest = context.slice(at + 1);
      const again = rest.findIndex((other) => callsOf(other).includes(id));
      const mine = again === -1 ? rest : rest.slice(0, again);
      const answers = mine.flatMap((other, index) => (answeredCalls(other).includes(id) ? [at + 1 + index] : []));
      return { at, answers };
    }),
  );
}

test('kept and removed messages together are the context in order, and no call is separated from its results', (t) => {
  fc.assert(
    fc.property(contexts, fc.integer({ min: 1, max: 12 }), (context, keep) => {
      const { kept, removed } = splitContext(context, { keep });
      const stays = new Set(kept);
      t.deepEqual(
        context.filter((each) => stays.has(each)),
        kept,
      );
      t.deepEqual(
        context.filter((each) => !stays.has(each)),
        removed,
      );
      t.is(kept.length + removed.length, context.length);
      for (const each of context.slice(-keep)) t.true(stays.has(each));
      const isKept = (at: number): boolean => context[at] !== undefined && stays.has(context[at]);
      for (const { at, answers } of callsIn(context)) {
        if (answers.length === 0) t.true(isKept(at), 'an open call has left');
        for (const answer of answers) t.is(isKept(answer), isKept(at), 'a call is parted from its result');
      }
    }),
  );
});

test('a conversation without calls keeps exactly the newest messages', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 50 }), (length, keep) => {
      const context = Array.from({ length }, () => userMessage());
      t.deepEqual(splitContext(context, { keep }).kept, context.slice(-keep));
    }),
  );
});

test('tokens are counted as four bytes of UTF-8 each, rounded up for each message', (t) => {
  t.is(countTokensApproximately([userMessage('abcd')]), 1);
  t.is(countTokensApproximately([userMessage('abcde'), userMessage('x'), userMessage('')]), 3);
  t.is(countTokensApproximately([userMessage('🫖🫖')]), 2);
  const block = { type: 'tool_result', call_id: 'a', output: { tea: 'sencha' } };
  t.is(countTokensApproximately([message('tool', block)]), Math.ceil(JSON.stringify(block).length / 4));
});

test('a context is over its bounds with more messages or more tokens than a bound', (t) => {
  const state = { context: [userMessage('abcd'), userMessage('abcd')] };
  t.false(contextExceeds(state, { messages: 2, tokens: 2 }));
  t.true(contextExceeds(state, { messages: 1 }));
  t.true(contextExceeds(state, { messages: 2, tokens: 1 }));
  t.false(contextExceeds(state, {}));
});

type Summarized = (readonly [readonly string[], string])[];
const shortening = (whenOver: { readonly messages?: number; readonly tokens?: number }, inner: Summarized = []) =>
  new StateGraph({ n: field<number>({ type: 'integer', default: 0 }) })
    .addNode(
      'shorten',
      summarizeNode({
        whenOver,
        keep: 2,
        summarize: (removed, previous) => {
          inner.push([removed.map(({ message_id: id }) => id), previous]);
          return `${previous}${String(removed.length)} gone. `;
        },
      }),
    )
    .addEdge(START, 'shorten')
    .compile();

test('a summarising node changes nothing up to its bound, and over it keeps the newest messages and extends the summary', async (t) => {
  const inner: Summarized = [];
  const graph = shortening({ messages: 4 }, inner);
  const context = [userMessage(), userMessage(), userMessage(), userMessage()];
  const below = await walk(graph, { context });
  t.deepEqual(below.state.context, context);
  t.is(below.state.values['context_summary'], '');
  t.is(inner.length, 0);

  const fifth = userMessage();
  const over = await walk(graph, { context: [...context, fifth] });
  t.deepEqual(over.state.context, [context[3], fifth]);
  t.is(over.state.values['context_summary'], '3 gone. ');
  const more = [userMessage(), userMessage(), userMessage()];
  const again = await walk(graph, { from: { ...over, next: ['shorten'] }, context: more });
  t.deepEqual(again.state.context, more.slice(1));
  t.is(again.state.values['context_summary'], '3 gone. 3 gone. ');
  t.deepEqual(inner, [
    [context.slice(0, 3).map(({ message_id: id }) => id), ''],
    [[context[3], fifth, more[0]].map((each) => each?.message_id ?? ''), '3 gone. '],
  ]);
});

test('a bound of tokens alone works', async (t) => {
  const graph = shortening({ tokens: 10 });
  const long = userMessage('x'.repeat(50));
  t.is((await walk(graph, { context: [userMessage(), userMessage(), userMessage()] })).state.context.length, 3);
  t.is((await walk(graph, { context: [long, userMessage(), userMessage()] })).state.context.length, 2);
});

test('nothing is summarised when no message may be removed', async (t) => {
  const { state } = await walk(shortening({ messages: 2 }), {
    context: [calls('a'), calls('b'), userMessage(), userMessage()],
  });
  t.is(state.context.length, 4);
  t.is(state.values['context_summary'], '');
});

test('invalid bounds are refused when the node is made', (t) => {
  const summarize = () => '';
  for (const [whenOver, keep, fault] of [
    [{}, 1, 'whenOver of a summarising node names neither messages nor tokens'],
    [{ messages: 10 }, 11, 'keep of a summarising node is 11: it must be a whole number from 1 to 10'],
    [{ messages: 10 }, 0, 'keep of a summarising node is 0: it must be a whole number from 1 to 10'],
    [{ messages: 10 }, undefined, 'keep of a summarising node is undefined: it must be a whole number from 1 to 10'],
    [null, 1, 'whenOver of a summarising node must be an object, not null'],
    [{ messages: 1.5 }, 1, /^whenOver\.messages of a summarising node is 1\.5: it must be a whole number from 1 to /],
    [{ tokens: -1 }, 1, /^whenOver\.tokens of a summarising node is -1: /],
  ] as const)
    t.throws(() => summarizeNode({ whenOver, keep, summarize } as never), { message: fault });
  t.throws(() => summarizeNode(undefined as never), {
    message: 'what summarizeNode is given must be an object, not undefined',
  });
  t.throws(() => summarizeNode({ whenOver: { messages: 1 }, keep: 1 } as never), {
    message: 'summarize of a summarising node must be a function, not undefined',
  });
});

test('the log keeps every message of a shortened conversation, and context and removed messages together are the log', async (t) => {
  const chatter = new StateGraph({})
    .addNode('talk', ({ context }) => ({
      messages: Array.from({ length: context.length % 4 }, (_, index) => ({ content: `reply ${String(index)}` })),
    }))
    .addNode(
      'shorten',
      summarizeNode({
        whenOver: { messages: 5 },
        keep: 3,
        summarize: (removed, before) => before + String(removed.length),
      }),
    )
    .addEdge(START, 'talk')
    .addEdge('talk', 'shorten')
    .compile();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 8 }), async (turns) => {
      let state: EngineState = deepFreeze({ values: { context_summary: '' }, context: [] });
      const log: Message[] = [];
      const left = new Set<string>();
      for (const inner of turns) {
        const input = Array.from({ length: inner }, () => userMessage());
        log.push(...input);
        state = { ...state, context: [...state.context, ...input] };
        for (const [index, node] of ['talk', 'shorten'].entries()) {
          const place = { graph: chatter, nodes: [node], number: index + 1, state, run: nobody };
          const { delta, state: after } = await runStep({
            ...place,
            at: 0,
            now: Date.now,
            isRemote: () => false,
            onChunk: () => undefined,
          });
          log.push(...delta.messages);
          for (const id of delta.removed) {
            t.false(left.has(id), 'a message left twice');
            left.add(id);
          }
          state = after;
        }
        t.deepEqual(
          state.context,
          log.filter(({ message_id: id }) => !left.has(id)),
        );
        t.true(state.context.length <= 5);
      }
    }),
  );
});

test('what a provider needs back counts for no tokens', (t) => {
  const call = { type: 'tool_call', id: 'c', name: 'find', args: {} };
  const count = (block: Block): number => countTokensApproximately([message('assistant', block)]);
  t.is(count({ ...call, provider_data: { source: 's', members: { signature: 'x'.repeat(4000) } } }), count(call));
});

// gemini-cli#17923.
test('an image counts for no more tokens than a model takes for one, in a message and in the result of a tool', (t) => {
  const image = { type: 'image', data: 'A'.repeat(1_000_000), mimeType: 'image/png' };
  const output = { structuredContent: { url: `data:image/png;base64,${image.data}` }, content: [image] };
  t.true(countTokensApproximately([message('user', image)]) < 1100);
  t.true(countTokensApproximately([message('tool', { type: 'tool_result', call_id: 'c', output })]) < 2200);
  t.true(countTokensApproximately([message('user', { type: 'data', data: image.data })]) > 200_000);
});
