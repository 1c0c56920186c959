import { createHmac } from 'node:crypto';
import test from 'ava';
import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import { serve } from './service.ts';

const { send, stream, thread, url } = serve(test);

/** What dialects add to runs, by the names of the code and as a body would spell them. */
const terms: Readonly<Record<string, unknown>> = {
  ...{ goes_on: true, goesOn: true },
  ...{ fails_at_limit: true, failsAtLimit: true },
  ...{ records_input: true, recordsInput: true },
  ...{ streams_subgraphs: true, streamsSubgraphs: true },
  ...{ kept_request: { ag_ui: { runId: 'taken' } }, keptRequest: { ag_ui: { runId: 'taken' } } },
  ...{ thread_marks: { marked: 1 }, threadMarks: { marked: 1 } },
  terms: { goesOn: true, failsAtLimit: true, keptRequest: { a: 1 }, threadMarks: { marked: 1 } },
};

type Body = Readonly<Record<string, unknown>>;
type Start = (body: Body) => Promise<unknown>;

const routes: Readonly<Record<string, Start>> = {
  'POST /v1/graph/invoke': (body) => send('POST', '/v1/graph/invoke', body),
  'POST /v1/graph/stream': (body) => Array.fromAsync(stream(body)),
  'POST /v1/runs': (body) => send('POST', '/v1/runs', body),
  'POST /v1/runs with start_at': (body) =>
    send('POST', '/v1/runs', { ...body, start_at: new Date(Date.now() + 500).toISOString() }),
  'POST /v1/runs/batch': ({ config, ...body }) =>
    send('POST', '/v1/runs/batch', { ...body, runs: [{ ...body, config }] }),
  'POST /v1/schedules': async ({ config, ...body }) => {
    const made = await send('POST', '/v1/schedules', { ...body, run: { ...body, config }, cron: '0 0 1 1 *' });
    const { schedule_id: id } = made.body.data as { readonly schedule_id: string };
    await send('POST', `/v1/schedules/${id}/run`, body);
  },
  'POST /v1/triggers': async ({ messages: _, ...body }) => {
    const made = await send('POST', '/v1/triggers', { ...body, format: 'github', message: 'second' });
    const { path, secret } = made.body.data as { readonly path: string; readonly secret: string };
    const event = JSON.stringify(body);
    const signature = createHmac('sha256', secret).update(event).digest('hex');
    await fetch(url() + path, {
      method: 'POST',
      body: event,
      headers: { 'x-hub-signature-256': `sha256=${signature}` },
    });
  },
};

interface Shown {
  readonly status: string;
  readonly metadata?: unknown;
}

/** What the second run of a thread has left. */
async function outcomeOf(threadId: string, start: Start, body: Body): Promise<unknown> {
  await thread(threadId, 'first');
  await start({ ...body, messages: [user('second')], config: { thread_id: threadId } });
  let runs: readonly Shown[] = [];
  await until(async () => {
    const { data } = (await send('GET', `/v1/threads/${threadId}/runs`)).body;
    ({ runs } = data);
    return runs.length === 2 && runs.every(({ status }) => status === 'completed' || status === 'failed');
  });
  const { metadata } = (await send('GET', `/v1/threads/${threadId}`)).body.data as Shown;
  const { data } = (await send('GET', `/v1/threads/${threadId}/messages`)).body;
  const { messages } = data as { readonly messages: readonly { readonly content: readonly { text?: string }[] }[] };
  const texts = messages.map(({ content }) => content[0]?.text);
  return { statuses: runs.map(({ status }) => status), metadata, texts };
}

for (const [route, start] of Object.entries(routes)) {
  test(`${route} sees no difference between a body with what dialects add and one without`, async (t) => {
    const name = route.replaceAll(/[^a-z]+/gi, '-');
    const plain = await outcomeOf(`${name}-plain`, start, {});
    t.like(plain, {
      statuses: ['completed', 'completed'],
      texts: ['first', 'you said first', 'second', 'you said second'],
    });
    await Promise.all(
      Object.entries(terms).map(async ([key, value]) => {
        t.deepEqual(await outcomeOf(`${name}-${key}`, start, { [key]: value }), plain, key);
      }),
    );
  });
}
