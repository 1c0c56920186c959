import { sizes } from '@agent-workflow/kit/sizes';
import test from 'ava';
import { serve } from './service.ts';
import { byLoad } from '../by-load.ts';

const { send, url } = serve(test, 'silent');

interface Result {
  readonly context: readonly { readonly message_id: string; readonly content: readonly { readonly text: string }[] }[];
  readonly state: Readonly<Record<string, unknown>>;
  readonly all_messages: readonly unknown[];
  readonly iterations: number;
  readonly meta: { readonly run_id: string; readonly status: string };
}

const messageOf = (id: string, bytes: number): Readonly<Record<string, unknown>> => ({
  role: 'user',
  message_id: id,
  content: `${id} ${'€'.repeat(bytes / 3)}`,
});

/** Two messages, nearly as large together as a request may be. */
const twoOf = (id: string): readonly unknown[] =>
  [1, 2].map((n) => messageOf(`${id}${String(n)}`, sizes.body / 2 - 2000));

/** A thread whose context is at its bound. */
async function makeFull(threadId: string): Promise<void> {
  const config = { thread_id: threadId };
  await send('POST', '/v1/graph/invoke', { messages: twoOf('a'), config, response_granularity: 'low' });
  await send('POST', `/v1/threads/${threadId}/messages`, { messages: twoOf('b') });
}

const ids = ['a1', 'a2', 'b1', 'b2', 'c1', 'c2'];

for (const how of ['invoke', 'wait', 'stream', 'ndjson'] as const) {
  test.serial(`a run whose context is as large as it may be ends whole: ${how}`, async (t) => {
    t.timeout(byLoad(120_000));
    const threadId = `full-${how}`;
    await makeFull(threadId);
    const body = { messages: twoOf('c'), config: { thread_id: threadId }, response_granularity: 'full' };
    const result = await resultBy(how, body);
    const bytes = Buffer.byteLength(JSON.stringify(result.context));
    t.log(`a context of ${(bytes / 2 ** 20).toFixed(1)} MiB`);
    t.true(bytes > sizes.context + 3 * 2 ** 20);
    t.deepEqual(
      result.context.map(({ message_id: id, content }) => [id, content[0]?.text.slice(0, 3)]),
      ids.map((id) => [id, `${id} `]),
    );
    t.true(JSON.stringify(result.state['context']) === JSON.stringify(result.context));
    t.deepEqual([result.state['turns'], result.iterations, result.meta.status], [2, 1, 'completed']);
    t.deepEqual(result.all_messages, []);
  });
}

async function resultBy(how: 'invoke' | 'wait' | 'stream' | 'ndjson', body: object): Promise<Result> {
  if (how === 'invoke') return (await send('POST', '/v1/graph/invoke', body)).body.data;
  if (how === 'wait') {
    const started = await send('POST', '/v1/runs', body);
    const { run_id: runId } = started.body.data as { readonly run_id: string };
    return (await send('GET', `/v1/runs/${runId}/wait`)).body.data;
  }
  const headers = { 'content-type': 'application/json', ...(how === 'ndjson' && { accept: 'application/x-ndjson' }) };
  const response = await fetch(`${url()}/v1/graph/stream`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = (await response.text()).trimEnd();
  const last = text.slice(text.lastIndexOf('\n') + 1);
  return (JSON.parse(how === 'ndjson' ? last : last.slice('data: '.length)) as { readonly data: Result }).data;
}
