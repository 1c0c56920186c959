import test from 'ava';
import { createClient } from './client.ts';
import { RequestError } from './errors.ts';

test('a stream that keeps ending without its last event and brings nothing is given up after the attempts', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    maxAttempts: 3,
    fetch: () => Promise.resolve(new Response(requests++ < 50 ? '' : 'data: {"event":"error"}\n\n')),
  });
  const read = async (): Promise<void> => {
    for await (const _ of client.runs.follow('r')) t.fail('there is no event');
  };
  const error = await t.throwsAsync(read(), { instanceOf: RequestError });
  t.is(error.code, 'UNREACHABLE');
  t.is(error.message, 'the service answered, but the stream of the run ended before its last event');
  t.is(requests, 3);
});

test('a service that stays unavailable is tried as long by a stream as by a request', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    maxAttempts: 3,
    fetch: () => {
      requests += 1;
      return Promise.reject(new TypeError('fetch failed'));
    },
  });
  const message = 'the service cannot be reached: fetch failed';
  await t.throwsAsync(client.stream({ messages: [] }).next(), { instanceOf: RequestError, message });
  t.is(requests, 3);
  await t.throwsAsync(client.ping(), { instanceOf: RequestError, message });
  t.is(requests, 6);
});

test('a cut is announced once, and its end with the next event', async (t) => {
  const last = 'data: {"event":"on_chain_end","run_id":"r"}\n\n';
  const replies = ['id: r:1\ndata: {"event":"metadata","run_id":"r"}\n\n', '', '', last];
  const client = createClient({
    url: 'http://service.test',
    fetch: () => Promise.resolve(new Response(replies.shift())),
  });
  const seen: string[] = [];
  const onConnection = (change: string): number => seen.push(change);
  for await (const { event } of client.runs.follow('r', { onConnection })) seen.push(event);
  t.deepEqual(seen, ['metadata', 'lost', 'resumed', 'on_chain_end']);
});

test('what a mode adds has the id of the event before it, and a connection that is made again asks for it, too', async (t) => {
  const frames = [
    'id: r:1\ndata: {"event":"metadata","run_id":"r"}\n\n',
    'data: {"event":"values","run_id":"r","data":{"step":0}}\n\n',
    'id: r:2\ndata: {"event":"on_chain_end","run_id":"r"}\n\n',
  ];
  const replies = [frames.slice(0, 2).join(''), frames[1], frames.slice(1).join('')];
  const asked: string[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (url) => {
      asked.push((url as URL).href.replace('http://service.test', ''));
      return Promise.resolve(new Response(replies.shift()));
    },
  });
  const seen: string[] = [];
  for await (const { id, event } of client.runs.follow('r', { modes: ['values'] })) seen.push(`${id} ${event}`);
  t.deepEqual(seen, ['r:1 metadata', 'r:1 values', 'r:1 values', 'r:1 values', 'r:2 on_chain_end']);
  t.deepEqual(asked, [
    '/v1/runs/r/stream?stream_modes=values',
    '/v1/runs/r/stream?after=1&stream_modes=values',
    '/v1/runs/r/stream?after=1&stream_modes=values',
  ]);
});

test('a cut of a run that is started here is announced, too', async (t) => {
  const replies = [
    'id: r:1\ndata: {"event":"metadata","run_id":"r"}\n\n',
    'id: r:2\ndata: {"event":"on_chain_end","run_id":"r","data":{"messages":[],"meta":{"status":"completed"}}}\n\n',
  ];
  const client = createClient({
    url: 'http://service.test',
    fetch: () => Promise.resolve(new Response(replies.shift())),
  });
  const seen: string[] = [];
  const onConnection = (change: string): number => seen.push(change);
  const body = { messages: [{ role: 'user', content: 'Hello' }] } as const;
  for await (const { event } of client.stream(body, { onConnection })) seen.push(event);
  t.deepEqual(seen, ['metadata', 'lost', 'resumed', 'on_chain_end']);
});

/** The stream of a run whose log holds events of these numbers, the last of them its end. Some of the first replies are replaced. */
function serviceOf(log: readonly number[], replies: readonly Reply[] = []) {
  const asked: (string | undefined)[] = [];
  const lost: string[] = [];
  const rest = [...replies];
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      const after = new Headers(init?.headers).get('last-event-id') ?? undefined;
      asked.push(after);
      const events = log.filter((number) => number > Number(after?.split(':')[1] ?? 0)).map(toEvent);
      return Promise.resolve(rest.shift()?.() ?? new Response(events.join('')));
    },
  });
  const toEvent = (number: number): string => {
    const event = number === log.at(-1) ? 'on_chain_end' : 'messages_chunk';
    return `id: r:${String(number)}\ndata: {"event":"${event}","run_id":"r"}\n\n`;
  };
  const followed = async (after: string): Promise<readonly string[]> => {
    const ids: string[] = [];
    const onConnection = (change: string): number => lost.push(change);
    for await (const { id } of client.runs.follow('r', { after, onConnection })) ids.push(id);
    return ids;
  };
  return { followed, asked, lost };
}

test('each event comes once behind a proxy that takes the header of the last one out', async (t) => {
  const addresses: string[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (address) => {
      const { search, searchParams } = new URL(address instanceof Request ? address.url : address);
      addresses.push(search);
      const number = Number(searchParams.get('after') ?? 0) + 1;
      const event = number === 3 ? 'on_chain_end' : 'messages_chunk';
      return Promise.resolve(new Response(`id: r:${String(number)}\ndata: {"event":"${event}","run_id":"r"}\n\n`));
    },
  });
  const ids: string[] = [];
  for await (const { id } of client.stream({ messages: [{ role: 'user', content: 'Hello' }] })) {
    ids.push(id);
    if (ids.length > 3) break;
  }
  t.deepEqual(ids, ['r:1', 'r:2', 'r:3']);
  t.deepEqual(addresses, ['', '?after=1', '?after=2']);
});

type Reply = () => Response;
const drained: Reply = () => new Response('');
const deleted: Reply = () =>
  new Response('{"error":{"code":"RESOURCE_NOT_FOUND","message":"there is no run \\"r\\""}}', { status: 404 });
const cut: Reply = () =>
  new Response(
    new ReadableStream({
      start: (controller) => {
        controller.error(new TypeError('terminated'));
      },
    }),
  );

test('after the last event of a run there is none, and no connection is lost', async (t) => {
  const { followed, asked, lost } = serviceOf([1, 2, 3]);
  t.deepEqual(await followed('r:3'), []);
  t.deepEqual(asked, ['r:3', 'r:2'], 'the event itself is looked at');
  t.deepEqual(lost, []);
});

test('after the last event of a run, a connection that was cut is made again and ends', async (t) => {
  const { followed, lost } = serviceOf([1, 2, 3], [cut]);
  t.deepEqual(await followed('r:3'), []);
  t.deepEqual(lost, ['lost', 'resumed']);
});

test('after a number beyond the end of a run there is no event', async (t) => {
  for (const after of ['r:4', 'r:5', 'r:999']) t.deepEqual(await serviceOf([1, 2, 3]).followed(after), [], after);
  t.deepEqual(await serviceOf([1]).followed('r:1'), []);
});

test('a stream that is cut before its first event is resumed, however it was cut', async (t) => {
  for (const replies of [
    [drained],
    [cut],
    [drained, drained],
    [drained, cut],
    [drained, drained, drained],
    [cut, drained],
  ]) {
    const { followed, lost } = serviceOf([1, 2, 3, 4], replies);
    t.deepEqual(await followed('r:2'), ['r:3', 'r:4']);
    t.deepEqual(lost, ['lost', 'resumed']);
  }
});

test('a log that was rebuilt comes whole, also when its stream was cut before the first event', async (t) => {
  const rebuilt = [2 ** 48 + 1, 2 ** 48 + 2];
  const ids = rebuilt.map((number) => `r:${String(number)}`);
  t.deepEqual(await serviceOf(rebuilt).followed('r:3'), ids);
  t.deepEqual(await serviceOf(rebuilt, [drained]).followed('r:3'), ids);
  t.deepEqual(await serviceOf(rebuilt).followed(ids[1] ?? ''), []);
});

test('a run that is deleted while it is followed is not found', async (t) => {
  for (const replies of [[deleted], [drained, deleted], [cut, deleted]])
    await t.throwsAsync(serviceOf([1, 2], replies).followed('r:2'), {
      instanceOf: RequestError,
      code: 'RESOURCE_NOT_FOUND',
    });
});

test('what is no id of an event is refused by its name before anything is sent', async (t) => {
  const { followed, asked } = serviceOf([1]);
  for (const after of [7, null, {}] as unknown as string[])
    await t.throwsAsync(followed(after), {
      ...{
        instanceOf: TypeError,
        message: /^after must be the id of an event, as "\{run_id\}:7", and is of the type \w+$/,
      },
    });
  t.deepEqual(asked, []);
});
