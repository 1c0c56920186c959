import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';
import { until } from '../../until.ts';
import { taskCaller } from './task-caller.ts';

const service = serve(test, 'giving');

const openai = (): OpenAI => new OpenAI({ baseURL: `${service.url()}/openai/v1`, apiKey: 'none', maxRetries: 0 });

/** The text of an answer links to the file, whose bytes need no credentials, and holds the data. */
async function links(t: ExecutionContext, text: string | null | undefined): Promise<void> {
  const [, before, address = '', json] =
    /^(Here it is\.)\n\n\[cabbage\.txt\]\((\S+)\)\n\n```json\n(.+)\n```$/.exec(text ?? '') ?? [];
  t.is(before, 'Here it is.', text ?? '');
  t.is(json, '{"answer":42}');
  t.regex(new URL(address).pathname, /^\/files\//);
  t.is(await (await fetch(address)).text(), 'a cabbage');
}

test("OpenAI's clients read a file of the agent as a link, and data as code", async (t) => {
  const given = { model: testedAgent, messages: [{ role: 'user' as const, content: 'hello' }] };
  const { choices } = await openai().chat.completions.create({ ...given, metadata: { thread_id: 'giving' } });
  await links(t, choices[0]?.message.content);
  const chunks = await openai().chat.completions.create({
    ...given,
    metadata: { thread_id: 'giving-2' },
    stream: true,
  });
  let streamed = '';
  for await (const chunk of chunks) streamed += chunk.choices[0]?.delta.content ?? '';
  await links(t, streamed);
  const response = await openai().responses.create({ model: testedAgent, input: 'hello' });
  await links(t, response.output_text);
  await links(t, (await openai().responses.retrieve(response.id)).output_text);
});

test('clients of MCP read a file of the agent as a link, and data as text', async (t) => {
  const call = taskCaller(service.url());
  const started = await call('tools/call', { name: testedAgent, arguments: { message: 'hello' } });
  const { taskId } = started;
  if (taskId !== undefined) await until(async () => (await call('tasks/get', { taskId }))['status'] === 'completed');
  const { result = started } = taskId === undefined ? {} : await call('tasks/get', { taskId });
  const { content } = result as { readonly content: readonly Readonly<Record<string, string>>[] };
  t.like(content, [
    { type: 'text', text: 'Here it is.' },
    { type: 'resource_link', name: 'cabbage.txt', mimeType: 'text/plain' },
    { type: 'text', text: '{"answer":42}' },
  ]);
  t.is(await (await fetch(content[1]?.['uri'] ?? '')).text(), 'a cabbage');
});
