import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient, user, type Client, type Reply } from '../servers/client.ts';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';
import { isLinear, measure } from './growth.ts';
import { texts } from './texts.ts';

const agent = `${fileURLToPath(new URL('../../services/command/init/template/agent.ts', import.meta.url))}:graph`;

let service: Embedded;
let send: Client['send'];

test.serial.before(async () => {
  service = await openEmbedded('', { RATE_LIMIT_REQUESTS: '0' }, { agent });
  ({ send } = createClient(service.url));
  const long = 'a'.repeat(1_000_000);
  await send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id: 'long' } });
  await send('POST', '/v1/threads/long/messages', { messages: [user(long)] });
});

test.after.always(async () => {
  await service[Symbol.asyncDispose]();
});

/** A request takes this long whatever it holds, on a machine that has other work to do. */
const noiseMs = 25;

type Send = (text: string) => Promise<Reply>;

/** Requests whose body may be large. */
const bodies: Readonly<Record<string, Send>> = {
  'a message to the default agent': (text) => send('POST', '/v1/graph/invoke', { messages: [user(text)] }),
  'a fact to remember': (text) => send('POST', '/v1/graph/invoke', { messages: [user(`remember that ${text}`)] }),
  'a memory to store': (text) => send('POST', '/v1/store/memories', { content: `a ${text}` }),
  'a search of memories': (text) =>
    send('POST', '/v1/store/search', { query: `a ${text}`, retrieval_strategy: 'hybrid' }),
  'filters of a search': (text) =>
    send('POST', '/v1/store/search', { query: 'a', filters: { [text]: { $in: Array.from(text) } } }),
  'an id in a body': (text) => send('POST', '/v1/graph/stop', { thread_id: text }),
};

const toQuery = (text: string): string => encodeURIComponent(text.toWellFormed());
/** What a header may carry. */
const toHeader = (text: string): string => text.replaceAll(/[^\u0020-\u007e]/g, 'u').trim();
const withHeader = (name: string) => (text: string) =>
  send('GET', '/v1/threads', undefined, { [name]: toHeader(text) });

/** Requests with a part that is bounded by what an address or a header may be long. */
const heads: Readonly<Record<string, Send>> = {
  'a search of messages': (text) => send('GET', `/v1/threads/long/messages?search=${toQuery(text)}`),
  'a search of threads': (text) => send('GET', `/v1/threads?search=${toQuery(text)}`),
  'a cursor': (text) => send('GET', `/v1/threads?cursor=${toQuery(text)}`),
  'a limit': (text) => send('GET', `/v1/threads?limit=${toQuery(text)}`),
  'filters of a list': (text) => send('GET', `/v1/store/memories?filters=${toQuery(JSON.stringify({ a: text }))}`),
  'an id in a path': (text) => send('GET', `/v1/threads/${toQuery(text)}`),
  'a path': (text) => send('GET', `/v1/${text.replaceAll(/[^\u0021-\u007e]|[?#]/g, '%20')}`),
  Accept: withHeader('accept'),
  Authorization: withHeader('authorization'),
  'Authorization: Bearer': (text) =>
    send('GET', '/v1/threads', undefined, { authorization: `Bearer ${toHeader(text)}` }),
  Cookie: withHeader('cookie'),
  'Idempotency-Key': withHeader('idempotency-key'),
  'Last-Event-ID': withHeader('last-event-id'),
  'X-Forwarded-For': withHeader('x-forwarded-for'),
  'X-Request-Id': withHeader('x-request-id'),
  traceparent: withHeader('traceparent'),
  'Content-Type': (text) => send('POST', '/v1/graph/invoke', {}, { 'content-type': toHeader(text) }),
};

for (const [name, sendText] of Object.entries(bodies)) {
  test.serial(`${name}: ten times as long takes about ten times as long`, async (t) => {
    for (const [kind, make] of Object.entries(texts)) {
      const refused = await sendText(make(1000));
      t.true(refused.status < 500 && refused.status !== 429, `${kind}: ${JSON.stringify(refused.body)}`);
      const growth = await measure(sendText, { short: make(10_000), long: make(100_000) }, noiseMs);
      t.true(isLinear(growth), `${kind}: ${JSON.stringify(growth)}`);
    }
  });
}

for (const [name, sendText] of Object.entries(heads)) {
  test.serial(`${name}: ten times as long takes about ten times as long`, async (t) => {
    for (const [kind, make] of Object.entries(texts)) {
      const growth = await measure(sendText, { short: make(700), long: make(7000) }, noiseMs);
      t.true(isLinear(growth), `${kind}: ${JSON.stringify(growth)}`);
    }
  });
}
