import test from 'ava';
import { createClient, type ClientOptions } from './client.ts';
import { RequestError } from './errors.ts';

const silenceMs = 20;

/** Never answers, not even to the signal. */
const silent = (): Promise<Response> => new Promise(() => undefined);

/** A reply whose connection stays open and brings nothing after this text. */
const halfOpen = (text: string): Response =>
  new Response(
    new ReadableStream({
      start: (body) => {
        body.enqueue(new TextEncoder().encode(text));
      },
      cancel: () => new Promise(() => undefined),
    }),
  );

/** A client of a service whose replies are these; later ones never come. */
function clientOf(replies: readonly Response[], options: Partial<ClientOptions> = {}) {
  const rest = [...replies];
  const asked: (string | null)[] = [];
  const signals: (AbortSignal | null | undefined)[] = [];
  const client = createClient({
    ...{ url: 'http://service.test', silenceMs, ...options },
    fetch: (_address, init) => {
      const headers = new Headers(init?.headers);
      asked.push(headers.get('last-event-id') ?? headers.get('idempotency-key'));
      signals.push(init?.signal);
      const next = rest.shift();
      return next ? Promise.resolve(next) : silent();
    },
  });
  return { client, asked, signals };
}

const event = (number: number, kind: string): string =>
  `id: r:${String(number)}\ndata: {"event":"${kind}","run_id":"r"}\n\n`;
const last = (): Response => new Response(event(2, 'on_chain_end'));
const unreachable = { instanceOf: RequestError, code: 'UNREACHABLE' } as const;

test('a stream whose connection is silent is lost, and is made again after its last event', async (t) => {
  const { client, asked } = clientOf([halfOpen(event(1, 'metadata')), last()]);
  const seen: string[] = [];
  const onConnection = (change: string): number => seen.push(change);
  for await (const { event: kind } of client.runs.follow('r', { onConnection })) seen.push(kind);
  t.deepEqual(seen, ['metadata', 'lost', 'resumed', 'on_chain_end']);
  t.deepEqual(asked, [null, 'r:1']);
});

test('a stream with comments is not silent, and one that is not read is not either', async (t) => {
  const comments = new Response(
    new ReadableStream({
      start: async (body) => {
        const encoder = new TextEncoder();
        body.enqueue(encoder.encode(event(1, 'metadata')));
        for (let comment = 0; comment < 6; comment++) {
          await passed(silenceMs / 2);
          body.enqueue(encoder.encode(': \n\n'));
        }
        body.enqueue(encoder.encode(event(2, 'on_chain_end')));
        body.close();
      },
    }),
  );
  const { client, asked } = clientOf([comments]);
  const kinds: string[] = [];
  for await (const { event: kind } of client.runs.follow('r')) {
    kinds.push(kind);
    await passed(2 * silenceMs);
  }
  t.deepEqual(kinds, ['metadata', 'on_chain_end']);
  t.is(asked.length, 1);
});

const passed = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

test('a stream whose connections stay silent is given up as one whose service stays away', async (t) => {
  const { client, asked } = clientOf([halfOpen(event(1, 'metadata')), halfOpen('')], { maxAttempts: 3 });
  const message = 'the service cannot be reached: nothing came for 0.02 seconds';
  const read = async (): Promise<void> => {
    for await (const _ of client.stream({ messages: [] }));
  };
  await t.throwsAsync(read(), { ...unreachable, message });
  t.is(asked.length, 3);
});

test('a request that gets no reply is sent again under its key, and its connection ends', async (t) => {
  const { client, asked, signals } = clientOf([], { maxAttempts: 2 });
  const message = 'the service cannot be reached: nothing came for 0.02 seconds';
  await t.throwsAsync(client.threads.delete('t'), { ...unreachable, message });
  t.is(asked.length, 2);
  t.truthy(asked[0]);
  t.is(asked[0], asked[1]);
  t.true(signals.every((signal) => signal?.aborted));
});

test('a reply that does not go on is cut, also a refusal', async (t) => {
  const message = 'the service answered, but its reply cannot be read to the end: nothing came for 0.02 seconds';
  await t.throwsAsync(clientOf([halfOpen('{"da')], { maxAttempts: 1 }).client.ping(), { ...unreachable, message });
  await t.throwsAsync(clientOf([halfOpen('half')], { maxAttempts: 1 }).client.files.get('f'), unreachable);
  const refused = new Response(halfOpen('{"err').body, { status: 404 });
  await t.throwsAsync(clientOf([refused]).client.ping(), { instanceOf: RequestError, code: 'UNKNOWN' });
});

test('a request that is answered when its work is done is awaited for as long as its signal says', async (t) => {
  const { client, asked } = clientOf([], { retryMs: 0 });
  const signal = AbortSignal.timeout(5 * silenceMs);
  const requests = [
    client.invoke({ messages: [] }, { signal }),
    client.runs.wait('r', { signal }),
    client.files.upload(new Blob(['x']), { signal }),
  ];
  for (const request of requests) await t.throwsAsync(request, { name: 'TimeoutError', message: /timeout/ });
  t.is(asked.length, 3);
});

test('silence can be allowed without end', async (t) => {
  const { client } = clientOf([], { silenceMs: Infinity });
  const signal = AbortSignal.timeout(5 * silenceMs);
  await t.throwsAsync(client.ping({ signal }), { name: 'TimeoutError', message: /timeout/ });
});

test('a time of silence that is none is refused when the client is made, by its name', (t) => {
  for (const given of [0, -1, NaN, '60s' as unknown as number])
    t.throws(() => createClient({ url: 'http://service.test', silenceMs: given }), {
      ...{ instanceOf: RangeError, message: `silenceMs must be a number of milliseconds above 0, and is ${given}` },
    });
});

test('a request ends with its signal while its token is made, and nothing is sent', async (t) => {
  for (const makesToken of [() => new Promise<string>(() => undefined), () => 'token']) {
    const controller = new AbortController();
    const { client, asked } = clientOf([], { token: makesToken });
    if (makesToken() === 'token') controller.abort(new Error('enough'));
    else queueMicrotask(() => controller.abort(new Error('enough')));
    await t.throwsAsync(client.ping({ signal: controller.signal }), { message: 'enough' });
    t.deepEqual(asked, []);
  }
});

test('a reply may come later by the time that the body of the request takes on its way up', async (t) => {
  const client = createClient({
    url: 'http://service.test',
    silenceMs: 20,
    maxAttempts: 1,
    fetch: () => new Promise((resolve) => setTimeout(() => resolve(Response.json({ data: { run_id: 'r' } })), 300)),
  });
  const content = 'x'.repeat(20_000);
  t.is((await client.runs.start({ messages: [{ role: 'user', content }] })).run_id, 'r');
  await t.throwsAsync(client.runs.start({ messages: [{ role: 'user', content: 'x' }] }), { message: /nothing came/ });
});
