import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { createClient } from './client.ts';
import { RequestError } from './errors.ts';

test('a reply that is cut is asked for again, under the same idempotency key', async (t) => {
  const keys: (string | null)[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      keys.push(new Headers(init?.headers).get('idempotency-key'));
      return Promise.resolve(new Response(keys.length === 1 ? '{"data":{"memo' : '{"data":{"memory_id":"m"}}'));
    },
  });
  const stored = await client.memories.store({ content: 'tea', memory_type: 'semantic', category: 'drinks' });
  t.is(stored.memory_id, 'm');
  t.is(keys.length, 2);
  t.truthy(keys[0]);
  t.is(keys[0], keys[1]);
});

test('a pause of more than a minute is left to the caller', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(new Response('{}', { status: 429, headers: { 'retry-after': '3600' } }));
    },
  });
  const error = await t.throwsAsync(client.threads.get('t'), { instanceOf: RequestError });
  t.is(error.retryAfterMs, 3_600_000);
  t.is(requests, 1);
});

test('runs are listed of one status, of several, or of any', async (t) => {
  const asked: string[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (address) => {
      asked.push((address as URL).href);
      return Promise.resolve(new Response('{"data":{"runs":[],"has_more":false}}'));
    },
  });
  await client.runs.list({ status: [] });
  await client.runs.list({ status: ['queued', 'running'] });
  await client.runs.list({ status: 'interrupted' });
  t.deepEqual(asked, [
    'http://service.test/v1/runs',
    'http://service.test/v1/runs?status=queued%2Crunning',
    'http://service.test/v1/runs?status=interrupted',
  ]);
});

test('a fork is given the name of its thread', async (t) => {
  const sent: unknown[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      sent.push(JSON.parse(init?.body as string));
      return Promise.resolve(new Response('{"data":{"thread_id":"new"}}'));
    },
  });
  await client.threads.fork('t', 'c');
  await client.threads.fork('t', 'c', { config: { thread_name: 'Another trip' } });
  t.deepEqual(sent, [{ checkpoint_id: 'c' }, { checkpoint_id: 'c', config: { thread_name: 'Another trip' } }]);
});

test('a file is read from a whole position on, and nothing is asked for another', async (t) => {
  let isPart = true;
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(new Response('there', { status: isPart ? 206 : 200 }));
    },
  });
  for (const start of [-1, 1.5, NaN, Infinity, 2 ** 53])
    await t.throwsAsync(client.files.get('f', { start }), {
      instanceOf: RangeError,
      message: /^start must be a whole/,
    });
  t.is(requests, 0);
  t.is(await (await client.files.get('f', { start: 6 })).text(), 'there');
  // A proxy may drop what asks for the part.
  isPart = false;
  await t.throwsAsync(client.files.get('f', { start: 6 }), { instanceOf: RequestError, message: /only the part/ });
  t.is(await (await client.files.get('f')).text(), 'there');
});

test('an id that a path cannot hold is refused by every method, of a path or a body, before anything is sent', async (t) => {
  const sent: string[] = [];
  const { agents, files, memories, runs, stop, threads } = createClient({
    url: 'http://service.test',
    fetch: (address) => {
      sent.push((address as URL).href);
      return Promise.resolve(new Response('{"data":{}}'));
    },
  });
  const change = { content: 'tea' };
  const unfit = {
    instanceOf: RangeError,
    message: /^(name|revision|\w+Id) must not be empty, "\." or "\.\.", and is "\.*"$/,
  };
  const noText = { instanceOf: TypeError, message: /^(name|revision|\w+Id) must be a text, and is of the type \w+$/ };
  for (const id of ['', '.', '..', undefined, null, 5] as string[]) {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => agents.get(id),
      () => agents.route(id, { version: 1, current: 'v1', ramping: null }),
      () => agents.retire(id, 'v1'),
      () => agents.retire('pay', id),
      () => runs.get(id),
      () => runs.wait(id),
      () => runs.cancel(id),
      () => runs.follow(id).next(),
      () => threads.get(id),
      () => threads.delete(id),
      () => threads.state(id),
      () => threads.writeState(id, {}),
      () => threads.clearState(id),
      () => threads.messages(id),
      () => threads.message(id, 'm'),
      () => threads.message('t', id),
      () => threads.addMessages(id, []),
      () => threads.deleteMessage(id, 'm'),
      () => threads.deleteMessage('t', id),
      () => threads.runs(id),
      () => threads.checkpoints(id),
      () => threads.checkpoint(id, 'c'),
      () => threads.checkpoint('t', id),
      () => threads.fork(id, 'c'),
      () => threads.fork('t', id),
      () => stop(id),
      () => memories.get(id),
      () => memories.update(id, change),
      () => memories.delete(id),
      () => files.get(id),
      () => files.info(id),
      () => files.url(id),
      () => files.delete(id),
    ];
    for (const call of calls) await t.throwsAsync(call(), typeof id === 'string' ? unfit : noText, String(call));
  }
  t.deepEqual(sent, []);
  await t.throwsAsync(threads.checkpoint('t', ''), { message: /^checkpointId must/ });
  await t.throwsAsync(threads.checkpoint('', 'c'), { message: /^threadId must/ });
  await threads.get('...');
  await threads.checkpoint('a/{checkpointId}', '$&');
  t.deepEqual(sent, [
    'http://service.test/v1/threads/...',
    'http://service.test/v1/threads/a%2F%7BcheckpointId%7D/checkpoints/%24%26',
  ]);
});

test('an address that is none is refused when the client is made, by its name', (t) => {
  for (const url of [
    '',
    '/v1',
    'agents.example.com',
    'localhost:8000',
    'ftp://x/',
    'http://h ',
    'http://h/?k=x',
    'http://h/#k',
    new URL('http://h') as unknown as string,
  ])
    t.throws(() => createClient({ url }), { instanceOf: TypeError, message: mustBeAddress });
});

test('a time of repetition that is none is refused when the client is made, by its name', (t) => {
  for (const retryMs of [-1, NaN, '15s' as unknown as number])
    t.throws(() => createClient({ url: 'http://service.test', retryMs }), {
      ...{ instanceOf: RangeError, message: `retryMs must be a number of milliseconds from 0 on, and is ${retryMs}` },
    });
  for (const maxAttempts of [NaN, 0, '5' as unknown as number])
    t.throws(() => createClient({ url: 'http://service.test', maxAttempts }), {
      ...{ instanceOf: RangeError, message: `maxAttempts must be a number from 1 on, and is ${maxAttempts}` },
    });
  for (const retryMs of [0, 0.5, Infinity]) t.notThrows(() => createClient({ url: 'http://service.test', retryMs }));
});

test('a request that is repeated ends with its signal, whatever the time that is left', async (t) => {
  const controller = new AbortController();
  const client = createClient({
    url: 'http://service.test',
    retryMs: Infinity,
    fetch: () => {
      queueMicrotask(() => controller.abort(new Error('enough')));
      return Promise.reject(new TypeError('fetch failed'));
    },
  });
  await t.throwsAsync(client.ping({ signal: controller.signal }), { message: 'enough' });
});

test('an error says whether the service was not reached, or its reply was cut', async (t) => {
  const failing = (fetched: typeof fetch) => createClient({ url: 'http://service.test', retryMs: 0, fetch: fetched });
  const away = failing(() => Promise.reject(new TypeError('fetch failed')));
  await t.throwsAsync(away.ping(), { ...unreachable, message: 'the service cannot be reached: fetch failed' });
  const cutting = failing(() => Promise.resolve(new Response('{"da')));
  await t.throwsAsync(cutting.ping(), {
    ...unreachable,
    message: /^the service answered, but its reply is no JSON, or is cut$/,
  });
});

test('a file whose download is cut was answered', async (t) => {
  const { files } = createClient({
    url: 'http://service.test',
    retryMs: 0,
    fetch: () => {
      const parts = [() => new TextEncoder().encode('half'), () => Promise.reject(new TypeError('terminated'))];
      const pull = async (body: ReadableStreamDefaultController) => {
        body.enqueue(await parts.shift()?.());
      };
      return Promise.resolve(new Response(new ReadableStream({ pull })));
    },
  });
  const message = 'the service answered, but its file cannot be read to the end: terminated';
  await t.throwsAsync(files.get('f'), { ...unreachable, message });
});

test('a success without the envelope of the service is refused, and not sent again', async (t) => {
  for (const json of ['{"ok":true}', '[]', 'null', '"pong"']) {
    let requests = 0;
    const client = createClient({
      url: 'http://service.test',
      fetch: () => {
        requests += 1;
        return Promise.resolve(new Response(json, { headers: { 'x-request-id': '7' } }));
      },
    });
    for (const send of [client.ping, () => client.invoke({ messages: [] })]) {
      const error = await t.throwsAsync(send(), { instanceOf: RequestError });
      t.like(error, { status: 200, code: 'UNKNOWN', requestId: '7' });
      t.regex(error.message, /^the answer 200 is not of the service: /);
    }
    t.is(requests, 2);
  }
});

test('a page in place of a reply is refused, and not asked for again', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(new Response('<p>Sign in', { headers: { 'content-type': 'text/html' } }));
    },
  });
  const body = { messages: [] };
  for (const send of [
    client.ping,
    () => client.invoke(body),
    () => client.stream(body).next(),
    () => client.files.get('a'),
  ])
    await t.throwsAsync(send(), {
      instanceOf: RequestError,
      message: /^the answer 200 is not of the service: it is a page\./,
    });
  t.is(requests, 4);
});

test('JSON in place of a stream, and a success without content, are refused, and not asked for again', async (t) => {
  const json = (): Response => Response.json({ ok: true });
  const empty = (): Response => new Response(null, { status: 204 });
  for (const [reply, message] of [
    [json, 'the answer 200 is not of the service: it is JSON, and no stream. Is `url` the address of a gateway?'],
    [empty, 'the answer 204 is not of the service: it has no content. Is `url` the address of a gateway?'],
  ] as const) {
    let requests = 0;
    const client = createClient({
      url: 'http://service.test',
      fetch: () => {
        requests += 1;
        return Promise.resolve(reply());
      },
    });
    const refused = { instanceOf: RequestError, message };
    await t.throwsAsync(client.stream({ messages: [] }).next(), refused);
    await t.throwsAsync(client.runs.follow('r').next(), refused);
    t.is(requests, 2);
    if (reply === json) continue;
    await t.throwsAsync(client.ping(), refused);
    await t.throwsAsync(client.files.get('a'), refused);
    t.is(requests, 4);
  }
});

test('data that are no result of a run are refused', async (t) => {
  for (const data of ['{}', 'null', '{"messages":[]}', '{"messages":[],"all_messages":{},"meta":{}}']) {
    const client = createClient({
      url: 'http://service.test',
      fetch: () => Promise.resolve(new Response(`{"data":${data}}`)),
    });
    const error = await t.throwsAsync(client.invoke({ messages: [] }), { instanceOf: RequestError });
    t.like(error, { status: 200, code: 'UNKNOWN' });
  }
});

test('a redirect is not followed, so that no other server gets the token', async (t) => {
  const targets: string[] = [];
  const target = createServer((request, response) => {
    targets.push(request.url ?? '');
    response.end('{"data":"pong"}');
  }).listen(0, '127.0.0.1');
  await once(target, 'listening');
  const gateway = createServer((_request, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${(target.address() as AddressInfo).port}/` }).end();
  }).listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  t.teardown(() => {
    gateway.close();
    target.close();
  });
  const client = createClient({ url: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`, token: 'secret' });
  for (const send of [client.ping, () => client.invoke({ messages: [] })])
    await t.throwsAsync(send(), {
      ...{ instanceOf: RequestError, code: 'REDIRECTED' },
      message: /must be the address/,
    });
  t.deepEqual(targets, []);
});

test('a redirect whose status a browser hides is not taken for an outage', async (t) => {
  let requests = 0;
  const hidden = Object.defineProperties(Response.error(), { type: { value: 'opaqueredirect' } });
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(hidden);
    },
  });
  await t.throwsAsync(client.ping(), { instanceOf: RequestError, code: 'REDIRECTED' });
  t.is(requests, 1);
});

test('the time after which to try again is read in seconds and as a date, and is never below 0', async (t) => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  const read = async (text: string): Promise<number | undefined> => {
    const headers = { 'retry-after': text };
    const client = createClient({
      url: 'http://service.test',
      maxAttempts: 1,
      fetch: () => Promise.resolve(new Response('{}', { status: 503, headers })),
    });
    return (await t.throwsAsync(client.ping(), { instanceOf: RequestError })).retryAfterMs;
  };
  t.is(await read('90'), 90_000);
  const ms = (await read(inAnHour)) ?? 0;
  t.true(ms > 3_500_000 && ms <= 3_600_000, String(ms));
  t.is(await read('Thu, 01 Jan 1970 00:00:00 GMT'), 0);
  t.is(await read('-5'), 0);
  t.is(await read('soon'), undefined);
});

const unreachable = { instanceOf: RequestError, code: 'UNREACHABLE' } as const;

test('a client without options is refused as one without an address', (t) => {
  const withoutTypes = createClient as (given?: unknown) => unknown;
  for (const given of [undefined, null, 'http://service.test'])
    t.throws(() => withoutTypes(given), { instanceOf: TypeError, message: mustBeAddress });
});

test('what is no file is refused before anything is sent', async (t) => {
  const names: string[] = [];
  const { files } = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      names.push(((init?.body as FormData).get('file') as File).name);
      return Promise.resolve(new Response('{"data":{}}'));
    },
  });
  const upload = files.upload as (file: unknown) => Promise<unknown>;
  for (const file of ['text', undefined, null, {}, { data: 'text', filename: 'a.txt' }])
    await t.throwsAsync(upload(file), { instanceOf: TypeError, message: /^a file must be a Blob, or [^\n]*$/ });
  t.deepEqual(names, []);
  const data = new Blob(['text']);
  await files.upload(data);
  await files.upload(new File([data], 'b.txt'));
  await files.upload({ data, filename: 'a.txt' });
  t.deepEqual(names, ['file', 'b.txt', 'a.txt']);
});

const mustBeAddress = 'url must be the address of a gateway, as https://agents.example.com, without a query';
