import test from 'ava';
import fc from 'fast-check';
import { readMessage, type Block, type Message } from '@agent-workflow/protos/message';
import { fromLangChain } from './from-langchain.ts';
import { toLangChain } from './to-langchain.ts';

const timestamp = '2026-01-02T03:04:05.000Z';
const name = fc.string({ minLength: 1, maxLength: 12 });
const json = fc.jsonValue({ maxDepth: 3 });
const object = fc.dictionary(name, json, { maxKeys: 4 });

const text = name.map((value): Block => ({ type: 'text', text: value }));
const thought = fc.oneof(
  name.map((value): Block => ({ type: 'reasoning', text: value })),
  fc.record({ type: fc.constant('reasoning'), summary: name }),
);
const call = fc.oneof(
  fc.record({
    type: fc.constant('tool_call'),
    id: fc.uuid(),
    name,
    args: object,
    tool_type: fc.constant('function'),
  }),
  fc.record({ type: fc.constant('remote_tool_call'), id: fc.uuid(), name, args: object }),
);
const medium = fc.oneof(
  fc.record({ type: fc.constant('image'), url: fc.webUrl() }),
  fc.record({ type: fc.constant('image'), file_id: name, detail: name }),
  fc.record({ type: fc.constant('document'), url: fc.webUrl(), title: name }),
  fc.record({ type: fc.constant('data'), data: json }),
  fc.record({ type: fc.constant('error'), message: name }),
);

const metadata = fc.record(
  {
    name,
    finish_reason: name,
    usage_metadata: fc.constant({ input_tokens: 3, output_tokens: 4, total_tokens: 7 }),
    note: json,
  },
  { requiredKeys: [] },
);
const plain = fc.record({ name, note: json }, { requiredKeys: [] });

const common = { message_id: fc.uuid(), timestamp: fc.constant(timestamp) };
const ofModel = fc.record({
  ...common,
  role: fc.constant('assistant' as const),
  content: fc.array(fc.oneof(text, thought, call, medium), { maxLength: 6 }),
  metadata,
});
const ofOthers = fc.record({
  ...common,
  role: fc.constantFrom('user' as const, 'system' as const),
  content: fc.array(fc.oneof(text, medium), { maxLength: 6 }),
  metadata: plain,
});
const ofTool = fc.record({
  ...common,
  role: fc.constant('tool' as const),
  content: fc
    .tuple(
      fc.record({
        type: fc.constant('tool_result'),
        call_id: name,
        output: fc.oneof(
          name,
          json.filter((value) => value !== null),
        ),
        status: fc.constantFrom('completed', 'error', 'odd'),
        is_error: fc.boolean(),
      }),
      fc.array(text, { maxLength: 2 }),
    )
    .map(([result, beside]): Block[] => [result, ...beside]),
  metadata: plain,
});
const messages: fc.Arbitrary<Message> = fc.oneof(ofModel, ofOthers, ofTool);

/** As JSON carries it. */
const sent = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

type ReadMessage = Extract<ReturnType<typeof fromLangChain>, { readonly message: unknown }>['message'];

function back(given: unknown): ReadMessage {
  const read = fromLangChain(sent(given), ['messages', 0]);
  if ('removed' in read) throw new Error('it is a removal');
  return read.message;
}

test('a message of the service is the same after it went to a client of LangChain and back', (t) => {
  fc.assert(
    fc.property(messages, (message) => {
      const [made, ...more] = toLangChain(message);
      t.is(more.length, 0);
      const { metadata: noted = {}, ...read } = back(made);
      const { metadata: given = {}, timestamp: _, ...rest } = message;
      t.deepEqual(sent({ ...read, metadata: noted }), sent({ ...rest, metadata: given }));
      t.notThrows(() => readMessage(read, [], { newId: () => 'new', now: new Date(0) }));
    }),
    { numRuns: 500 },
  );
});

const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: name }),
  fc.record({ type: fc.constant('text'), text: name, index: fc.nat() }),
  fc.record({ type: fc.constant('reasoning'), reasoning: name }),
  fc.record({ type: fc.constant('thinking'), thinking: name, signature: name }),
  fc.record({ type: fc.constant('image_url'), image_url: fc.oneof(fc.webUrl(), fc.record({ url: fc.webUrl() })) }),
  fc.record({ type: fc.constantFrom('image', 'file', 'tool_use', 'error', 'tool_result'), value: json }),
);
const anyMessage = fc.record(
  {
    type: fc.constantFrom('human', 'ai', 'system', 'AIMessageChunk'),
    content: fc.oneof(fc.string(), fc.array(part, { maxLength: 5 })),
    id: fc.oneof(fc.uuid(), fc.constant(null)),
    name: fc.oneof(name, fc.constant(null)),
    additional_kwargs: fc.dictionary(fc.constantFrom('a', 'blocks', 'metadata', 'reasoning_content'), json),
    response_metadata: fc.dictionary(fc.constantFrom('model_name', 'finish_reason'), name),
    tool_calls: fc.array(fc.record({ name, args: object, id: fc.uuid(), type: fc.constant('tool_call') }), {
      maxLength: 2,
    }),
  },
  { requiredKeys: ['type', 'content'] },
);

test('what a client of LangChain sent is written back as it was read, however often it goes there and back', (t) => {
  const asMessage = (read: ReadMessage): Message => ({ message_id: 'made', timestamp, ...read });
  fc.assert(
    fc.property(anyMessage, (given) => {
      const [first] = toLangChain(asMessage(back(given)));
      const [second] = toLangChain(asMessage(back(first)));
      t.deepEqual(sent(second), sent(first));
    }),
    { numRuns: 500 },
  );
});
