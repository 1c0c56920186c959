import fc from 'fast-check';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { mutated } from '../mutated.ts';
import { serveOpenai } from './service.ts';

const service = serveOpenai(test);

/** Bodies that are taken as they are. */
const good: Readonly<Record<string, readonly object[]>> = {
  '/chat/completions': [
    {
      model: 'obedient',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'hello' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'a cat' },
      ],
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
      },
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
      metadata: { team: 'blue' },
      stream: true,
      stream_options: { include_usage: true },
      temperature: 1,
      stop: ['x'],
    },
  ],
  '/responses': [
    {
      model: 'obedient',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'a cat' },
      ],
      instructions: 'Be brief.',
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }],
      text: { format: { type: 'text' } },
      reasoning: { effort: 'low' },
      store: false,
    },
  ],
  '/conversations': [{ metadata: { team: 'blue' }, items: [{ type: 'message', role: 'user', content: 'hello' }] }],
};

/** Values that mean something to this API. */
const odd: readonly unknown[] = [
  ...['resp_', `conv_=${'x'.repeat(250)}`, `${'0'.repeat(32)}_c`],
  ...[{ type: 'text' }, { type: 'function' }, { role: 'tool', tool_call_id: `${'a'.repeat(32)}_x/1/` }],
];

for (const [path, bodies] of Object.entries(good))
  test(`whatever stands anywhere in a body of ${path}, it is taken or refused, and never breaks`, async (t) => {
    t.timeout(byLoad(120_000));
    await fc.assert(
      fc.asyncProperty(mutated(bodies, odd), async (body) => {
        const reply = await fetch(`${service.url()}/openai/v1${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        const text = await reply.text();
        if (reply.status >= 500) throw new Error(`${String(reply.status)} ${text}`);
      }),
      { numRuns: 150 },
    );
    t.pass();
  });

test('whatever stands in a path or a query, it is absent or refused', async (t) => {
  t.timeout(byLoad(120_000));
  const part = fc.oneof(
    fc.string({ minLength: 1, maxLength: 40 }),
    fc.constantFrom('resp_', 'conv_=', `msg_${'0'.repeat(32)}`, `resp_${'f'.repeat(32)}`),
  );
  const path = fc.tuple(
    fc.constantFrom('responses', 'conversations', 'models'),
    part,
    fc.constantFrom('', '/items', '/input_items'),
  );
  await fc.assert(
    fc.asyncProperty(path, part, async ([noun, id, rest], value) => {
      const query = new URLSearchParams({ stream: value, starting_after: value, limit: value, after: value });
      const url = `${service.url()}/openai/v1/${noun}/${encodeURIComponent(id)}${rest}?${query.toString()}`;
      const { status } = await fetch(url);
      return status < 500 && status >= 400;
    }),
    { numRuns: 100 },
  );
  t.pass();
});
