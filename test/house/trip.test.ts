import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { openGate } from '../servers/gate.ts';
import { startStandalone, makeWorkspace, type StandaloneProcess } from '../servers/standalone.ts';
import type { Trip } from './trip/trip.ts';

const main = fileURLToPath(new URL('./trip/main.ts', import.meta.url));
const agent = fileURLToPath(new URL('./trip/agent.ts', import.meta.url));

interface Bounds {
  readonly files: number;
  readonly changes: number;
}

/** What nothing may exceed. They only fall. */
const bounds = {
  invoke: { files: 157, changes: 234 },
  event: { files: 28, changes: 20 },
  search: { files: 66, changes: 34 },
  ping: { files: 26, changes: 5 },
} as const satisfies Readonly<Record<string, Bounds>>;

test('one invoke, one streamed event, one search and one ping pass no more files and workspaces than is said here', async (t) => {
  t.timeout(byLoad(60_000));
  await using workspace = await makeWorkspace(null, { agent: `${agent}:graph` });
  await using service = await startStandalone({ ...workspace.env, NODE_DISABLE_COMPILE_CACHE: '1' }, main);
  const post = async (path: string, body: object): Promise<Response> => posted(service, path, body);
  const messages = [{ role: 'user', content: 'go' }];
  const invoke = async (): Promise<void> => drained(await post('/v1/graph/invoke', { messages }));
  const search = async (): Promise<void> => drained(await post('/v1/store/search', { query: 'harbour' }));
  const ping = async (): Promise<void> => drained(await fetch(`${service.url}/v1/ping`));
  await drained(
    await post('/v1/store/memories', { content: 'the harbour opens at six', memory_type: 'semantic', category: 'a' }),
  );

  for (const [name, work] of Object.entries({ invoke, search, ping })) {
    const trips: Trip[] = [];
    for (let turn = 0; turn < 20; turn += 1) trips.push(await tripDuring(service, work));
    holds(t, name as keyof typeof bounds, shortest(trips));
  }
  await using gates = new AsyncDisposableStack();
  const each = await Promise.all(Array.from({ length: 5 }, async () => gates.use(await openGate())));
  const reply = await post('/v1/graph/stream', { messages, config: { gates: each.map(({ url }) => url) } });
  const untilText = textsOf(reply);
  const events: Trip[] = [];
  for (const [index, gate] of each.entries()) {
    await gate.visited(1);
    const event = async (): Promise<void> => {
      gate.open();
      await untilText(`text ${String(index)}.`);
    };
    events.push(await tripDuring(service, event));
  }
  holds(t, 'event', shortest(events));
});

/** Reads a stream until a text was in it. */
function textsOf(reply: Response): (wanted: string) => Promise<void> {
  const text = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  let read = '';
  return async (wanted) => {
    while (!read.includes(wanted)) {
      const { value, done } = (await text?.read()) ?? { done: true, value: '' };
      if (done) throw new Error(`the stream ended before "${wanted}"`);
      read += value;
    }
  };
}

function holds(t: ExecutionContext, name: keyof typeof bounds, { files, functions, calls, changes }: Trip): void {
  t.log(`${name}: ${files.length} files, ${functions} functions, ${calls} calls, ${changes} changes of workspace`);
  t.true(files.length <= bounds[name].files, `${name}: ${files.length} files:\n${files.join('\n')}`);
  t.true(changes <= bounds[name].changes, `${name}: ${changes} changes of workspace`);
}

/** What is made once, and what a timer does meanwhile, is no part of it. */
const shortest = (trips: readonly Trip[]): Trip =>
  trips.reduce((least, trip) => (trip.calls < least.calls ? trip : least));

async function tripDuring(service: StandaloneProcess, work: () => Promise<void>): Promise<Trip> {
  service.child.send('begin');
  await work();
  const ended = once(service.child, 'message');
  service.child.send('end');
  const [trip] = (await ended) as [Trip];
  return trip;
}

const posted = async ({ url }: StandaloneProcess, path: string, body: object): Promise<Response> =>
  fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** @throws Error unless it is a success. */
async function drained(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
}
