import test from 'ava';
import { createClient } from './client.ts';
import { answerCall } from './remote-tools.ts';
import type { RunRequest } from './shapes.ts';

const call = { id: 'c', name: 'locate', args: {} };
const request: RunRequest = { messages: [{ role: 'user', content: 'Where am I?' }] };

const circle: Record<string, unknown> = {};
circle['self'] = circle;

for (const [title, output] of [
  ['a circular object', circle],
  ['a BigInt', { metres: 1n }],
  ['a function', () => 1],
] as const) {
  test(`a result that JSON cannot hold is the tool's error, in one line: ${title}`, async (t) => {
    const answer = await answerCall(call, { name: 'locate', run: () => output });
    t.like(answer, { type: 'tool_result', call_id: 'c', status: 'failed', is_error: true });
    t.regex(String(answer['output']), /^the tool gave a result that JSON cannot hold: .+$/);
  });
}

test('a run continues after a tool whose result JSON cannot hold', async (t) => {
  const asked: string[] = [];
  const open = {
    messages: [{ role: 'assistant', content: [{ type: 'remote_tool_call', ...call }] }],
    meta: { status: 'interrupted', thread_id: 't' },
  };
  const ended = { messages: [], meta: { status: 'completed', thread_id: 't' } };
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      asked.push(init?.body as string);
      return Promise.resolve(new Response(JSON.stringify({ data: asked.length === 1 ? open : ended })));
    },
  });
  const { meta } = await client.invoke(request, { tools: [{ name: 'locate', run: () => circle }] });
  t.is(meta.status, 'completed');
  t.like(JSON.parse(asked[1] ?? ''), { messages: [{ role: 'tool', content: [{ call_id: 'c', is_error: true }] }] });
});

test('a tool without a function to run is refused by its name, before anything is sent', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(new Response('{}'));
    },
  });
  const tool = { name: 'locate' } as Parameters<typeof answerCall>[1];
  const refusal = { instanceOf: TypeError, message: 'the tool "locate" must have a function `run`' };
  await t.throwsAsync(client.invoke(request, { tools: [tool] }), refusal);
  await t.throwsAsync(client.stream(request, { tools: [tool] }).next(), refusal);
  await t.throwsAsync(answerCall(call, tool), refusal);
  t.is(requests, 0);
});
