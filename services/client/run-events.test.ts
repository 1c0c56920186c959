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
  t.is(requests, 3);
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
