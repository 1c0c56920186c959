import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { startCounted, type Counted, type Counts } from '../servers/counted.ts';
import { makeWorkspace } from '../servers/standalone.ts';

/** What one request may cost. A bound has about 4 % of room above what was counted. */
interface Bounds {
  /** SQL texts that are run, transactions aside. */
  readonly statements: number;
  readonly transactions: number;
  /** Rows that are read one by one. */
  readonly rows: number;
  readonly kilobytes: number;
  readonly promises: number;
  /** Calls of our functions. */
  readonly calls: number;
}

/** How often bytes, promises and calls are counted: timers, and functions that are not compiled yet on a busy machine, add to each count. */
const rounds = 3;

/** Enough for the functions of a request to be compiled, and for what they hold to be made. */
const warmUp = 400;
const counted = 200;

const isFrame = /^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)/;

function perRequest({ statements = {}, rows = 0, bytes = 0, promises = 0, calls = 0 }: Counts): Bounds {
  const texts = Object.entries(statements).filter(([sql]) => !isFrame.test(sql));
  return {
    // What timers run is less than half of a statement a request.
    statements: texts.reduce((sum, [, count]) => sum + Math.round(count / counted), 0),
    transactions: (statements['BEGIN IMMEDIATE'] ?? 0) / counted,
    rows: rows / counted,
    kilobytes: bytes / 1000 / counted,
    promises: promises / counted,
    calls: calls / counted,
  };
}

type Request = readonly [method: string, path: string, body?: (index: number) => unknown];

const invoke: Request = [
  'POST',
  '/v1/graph/invoke',
  () => ({ messages: [user('hello there')], response_granularity: 'low' }),
];

const memory: Request = [
  'POST',
  '/v1/store/memories',
  (index) => ({ content: `the boat ${String(index)} is blue`, memory_type: 'semantic', category: 'notes' }),
];

/** A thread of more than 100 messages. */
const turnOfLong: Request = [
  'POST',
  '/v1/graph/invoke',
  () => ({ messages: [user('hello')], config: { thread_id: 'long' } }),
];

interface Kind {
  readonly title: string;
  readonly request: Request;
  /** What is there before. */
  readonly given?: readonly (readonly [count: number, request: Request])[];
  readonly bounds: Bounds;
}

const kinds: readonly Kind[] = [
  {
    title: 'an invoke on a new thread',
    request: invoke,
    bounds: { statements: 12, transactions: 3.1, rows: 1, kilobytes: 250, promises: 196, calls: 1460 },
  },
  {
    title: 'a list of 100 threads',
    request: ['GET', '/v1/threads?limit=100'],
    given: [[100, invoke]],
    bounds: { statements: 1, transactions: 0.1, rows: 2, kilobytes: 328, promises: 19, calls: 2940 },
  },
  {
    title: 'a list of 100 messages',
    request: ['GET', '/v1/threads/long/messages?limit=100'],
    given: [[60, turnOfLong]],
    bounds: { statements: 2, transactions: 0.1, rows: 2, kilobytes: 274, promises: 29, calls: 1415 },
  },
  {
    title: 'the store of a memory',
    request: memory,
    bounds: { statements: 3, transactions: 1.1, rows: 1, kilobytes: 106, promises: 53, calls: 965 },
  },
];

for (const { title, request, given = [], bounds } of kinds) {
  test(`${title} costs no more than it did`, async (t) => {
    await using workspace = await makeWorkspace('echo');
    await using service = await startCounted({ ...workspace.env, LOG_LEVEL: 'warn', RATE_LIMIT_REQUESTS: '0' });
    const { send } = createClient(service.url);
    const sendMany = async (count: number, [method, path, bodyOf]: Request): Promise<void> => {
      for (let index = 0; index < count; index++) {
        const { status } = await send(method, path, bodyOf?.(index));
        if (status >= 300) throw new Error(`${method} ${path} was answered ${String(status)}`);
      }
    };
    for (const before of given) await sendMany(...before);
    await sendMany(warmUp, request);
    const count = (what: Counted): Promise<Counts> => service.count(what, () => sendMany(counted, request));
    const { statements = {}, rows = 0 } = await count('statements');
    const least = async (what: 'bytes' | 'promises' | 'calls'): Promise<number> => {
      let fewest = Infinity;
      for (let round = 0; round < rounds; round++) fewest = Math.min(fewest, (await count(what))[what] ?? Infinity);
      return fewest;
    };
    const cost = perRequest({
      ...{ statements, rows },
      ...{ bytes: await least('bytes'), promises: await least('promises'), calls: await least('calls') },
    });
    t.log(JSON.stringify(cost), statements);
    for (const [name, bound] of Object.entries(bounds) as [keyof Bounds, number][])
      t.true(cost[name] <= bound, `${name}: ${String(cost[name])}, at most ${String(bound)}`);
  });
}
