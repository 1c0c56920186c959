import { ResumingAgent } from '@agent-workflow/client/ag-ui';
import test from 'ava';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';

const service = serve(test, 'typing', { DIALECTS: 'agui' });

const url = (): string => `${service.url()}/agui/${testedAgent}`;

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

/** A `fetch` whose streams break after so many bytes, and the URLs that it was given. */
function breaking(bytes: number): { readonly send: typeof fetch; readonly urls: string[] } {
  const urls: string[] = [];
  const send: typeof fetch = async (input, init) => {
    urls.push(typeof input === 'string' ? input : '');
    const reply = await fetch(input, init);
    let left = bytes;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        controller.enqueue(chunk.subarray(0, left));
        left -= chunk.byteLength;
        if (left <= 0) controller.error(new Error('cut'));
      },
    });
    return new Response(reply.body?.pipeThrough(cut), { status: reply.status, headers: reply.headers });
  };
  return { send, urls };
}

const shown = (agent: ResumingAgent): unknown[] => agent.messages.map(({ role, content }) => [role, content]);

test('a stream that is cut again and again is one run to the agent, also where it connects', async (t) => {
  const threadId = crypto.randomUUID();
  const { send, urls } = breaking(1500);
  const agent = new ResumingAgent({ url: url(), threadId, fetch: send });
  agent.addMessage({ id: 'asked', role: 'user', content: 'hello' });
  const types: string[] = [];
  await agent.runAgent({}, { onEvent: ({ event }) => void types.push(event.type) });
  const whole = [
    ['user', 'hello'],
    ['assistant', answer],
  ];
  t.deepEqual(shown(agent), whole);
  t.is(types.filter((type) => type === 'RUN_STARTED').length, 1);
  t.true(urls.length > 3);
  // A cluster has several addresses.
  t.true(urls.slice(1).every((to) => to.endsWith('/connect')));

  const again = breaking(1500);
  const page = new ResumingAgent({ url: url(), threadId, fetch: again.send });
  await page.connectAgent();
  t.deepEqual(shown(page), whole);
  t.deepEqual(page.state, { turns: 1 });
  t.true(again.urls.length > 1 && again.urls.every((to) => to.endsWith('/connect')));
  page.addMessage({ id: 'more', role: 'user', content: 'again' });
  await page.runAgent();
  t.deepEqual(page.state, { turns: 2 });
});

test('a page that connects is stopped as a run is', async (t) => {
  const threadId = crypto.randomUUID();
  const agent = new ResumingAgent({ url: url(), threadId });
  agent.addMessage({ id: 'asked', role: 'user', content: 'hello' });
  await agent.runAgent();
  const page = new ResumingAgent({ url: url(), threadId });
  await page.connectAgent({}, { onRunStartedEvent: () => page.abortRun() }).catch(() => undefined);
  t.false(page.isRunning);
});

test('a page whose service is away as it connects connects when that is back, and a run that does not reach it is not sent again', async (t) => {
  const threadId = crypto.randomUUID();
  const agent = new ResumingAgent({ url: url(), threadId });
  agent.addMessage({ id: 'asked', role: 'user', content: 'hello' });
  await agent.runAgent();
  let sent = 0;
  const away: typeof fetch = (input, init) => {
    sent += 1;
    if (sent === 1) return Promise.reject(new TypeError('fetch failed'));
    return sent === 2 ? Promise.resolve(new Response(null, { status: 503 })) : fetch(input, init);
  };
  const page = new ResumingAgent({ url: url(), threadId, fetch: away });
  await page.connectAgent();
  t.deepEqual(shown(page), shown(agent));
  t.is(sent, 3);
  sent = 0;
  page.addMessage({ id: 'more', role: 'user', content: 'again' });
  await t.throwsAsync(page.runAgent(), { message: 'fetch failed' });
  t.is(sent, 1);
});
