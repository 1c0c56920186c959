import type { ExecutionContext, TestFn } from 'ava';
import { badRequest, invalid, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { within, type Call } from '@agent-workflow/protos/call';
import type { Execution, RunEvents, StartRequest } from '@agent-workflow/protos/execution';
import { connect } from '@agent-workflow/protos/wire/connect';
import { serve } from '@agent-workflow/protos/wire/serve';
import { byLoad } from '../by-load.ts';

/** One transport: gives the service back as its caller would see it. */
type OpenWire = (service: Execution) => Promise<Execution & AsyncDisposable>;

/** What every transport of a service promises, so that nobody can tell from above which one it is. */
export function wireContract(test: TestFn, name: string, open: OpenWire): void {
  const check = (title: string, body: (t: ExecutionContext, wire: Wire) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      const service = createEcho();
      await using client = await open(service);
      await body(t, { client, service });
    });
  };

  check('bytes arrive as they were sent, every value of them', async (t, { client }) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const state = await client.updateState({ owner: 'anon', threadId: 't', stateJson: bytes }, within(wholeTestMs));
    t.deepEqual([...state.contextJson], [...bytes]);
    t.deepEqual([...(state.fields['again'] ?? [])], [...bytes]);
  });

  check('a payload of 3 MiB passes both ways', async (t, { client }) => {
    const bytes = new Uint8Array(3 * 1024 * 1024).fill(97);
    const state = await client.updateState({ owner: 'anon', threadId: 't', stateJson: bytes }, within(byLoad(10_000)));
    t.is(Buffer.compare(state.contextJson, bytes), 0);
  });

  check('an absent field stays absent, an empty one stays empty', async (t, { client, service }) => {
    await client.start(startRequest, within(wholeTestMs));
    await client.start({ ...startRequest, threadName: '', configJson: new Uint8Array(0) }, within(wholeTestMs));
    const [bare, empty] = service.starts;
    for (const field of ['threadId', 'threadName', 'configJson', 'userJson']) t.false(field in (bare ?? {}), field);
    t.is(empty?.threadName, '');
    t.is(empty?.configJson?.length, 0);
    t.is(bare?.recursionLimit, 25);
  });

  check('a call without a deadline is refused before it reaches the service', async (t, { client, service }) => {
    const call = { deadline: Number.NaN, signal: new AbortController().signal };
    t.is((await failureOf(client.start(startRequest, call))).code, 'BadRequest');
    t.is((await failureOf(collect(client.follow(followRequest, call)))).code, 'BadRequest');
    t.is(service.starts.length, 0);
  });

  check('a call whose deadline is over is Timeout and never reaches the service', async (t, { client, service }) => {
    t.is((await failureOf(client.start(startRequest, within(-1)))).code, 'Timeout');
    t.is((await failureOf(collect(client.follow(followRequest, within(-1))))).code, 'Timeout');
    t.is(service.starts.length, 0);
  });

  check(
    'past the deadline the caller has Timeout and the signal of the handler fires',
    async (t, { client, service }) => {
      await client.getGraph({}, within(wholeTestMs));
      t.is((await failureOf(client.wait({ owner: 'anon', runId: 'stuck' }, within(200)))).code, 'Timeout');
      t.is(await service.fired, 'wait');
    },
  );

  check('past the deadline a stream ends with Timeout and so does its generator', async (t, { client, service }) => {
    await client.getGraph({}, within(wholeTestMs));
    const stream = client.follow({ ...followRequest, runId: 'endless' }, within(200));
    t.is((await failureOf(collect(stream))).code, 'Timeout');
    t.is(await service.fired, 'follow');
  });

  check('a caller that aborts has Cancelled and the signal of the handler fires', async (t, { client, service }) => {
    const caller = new AbortController();
    const waiting = failureOf(client.wait({ owner: 'anon', runId: 'stuck' }, within(wholeTestMs, caller.signal)));
    await service.entered;
    caller.abort();
    t.is((await waiting).code, 'Cancelled');
    t.is(await service.fired, 'wait');
  });

  check('a caller that has aborted already never reaches the service', async (t, { client, service }) => {
    t.is((await failureOf(client.start(startRequest, within(5000, AbortSignal.abort())))).code, 'Cancelled');
    t.is(service.starts.length, 0);
  });

  check('aborting a stream ends it with Cancelled, and its generator too', async (t, { client, service }) => {
    const caller = new AbortController();
    const following = failureOf(
      (async () => {
        for await (const { events } of client.follow(
          { ...followRequest, runId: 'endless' },
          within(wholeTestMs, caller.signal),
        )) {
          if (events[0]?.seq === 3) caller.abort();
        }
      })(),
    );
    t.is((await following).code, 'Cancelled');
    t.is(await service.fired, 'follow');
  });

  check('leaving a stream early ends the generator of the service', async (t, { client, service }) => {
    for await (const { events } of client.follow({ ...followRequest, runId: 'endless' }, within(wholeTestMs))) {
      if (events[0]?.seq === 2) break;
    }
    t.is(await service.fired, 'follow');
  });

  check('a stream gives every item in order, and goes on after a number', async (t, { client }) => {
    const seqs = async (after: number): Promise<number[]> => {
      const items = await collect(client.follow({ ...followRequest, after }, within(wholeTestMs)));
      return items.flatMap(({ events }) => events.map(({ seq }) => seq));
    };
    t.deepEqual(await seqs(0), [1, 2, 3, 4, 5]);
    t.deepEqual(await seqs(3), [4, 5]);
    t.deepEqual(await seqs(5), []);
  });

  check('a reader that is slow makes the service wait', async (t, { client, service }) => {
    const stream = client.follow({ ...followRequest, runId: 'heavy' }, within(byLoad(10_000)))[Symbol.asyncIterator]();
    await stream.next();
    const sent = await settledCount(() => service.yielded);
    t.true(sent < largeItems, `${String(sent)} of ${String(largeItems)} were made for a reader that took one`);
    await stream.return?.();
  });

  check('an error keeps its code, message, details and delay', async (t, { client }) => {
    const sent = invalid(['messages', 0, 'role'], 'must be a röle', 'enum');
    t.like(await failOver(client, sent), { code: 'Invalid', message: sent.message, details: [...sent.details] });
    t.like(await failOver(client, unavailable('the store is unavailable', undefined, 2500)), {
      code: 'Unavailable',
      retryAfterMs: 2500,
    });
    t.like(await failOver(client, new ServiceError('Stale', 'lost the lease')), {
      code: 'Stale',
      details: [],
      retryAfterMs: undefined,
    });
  });

  check('an error in the middle of a stream comes after the items before it', async (t, { client }) => {
    const seen: number[] = [];
    const failure = await failureOf(
      (async () => {
        for await (const { events } of client.follow({ ...followRequest, runId: 'breaks' }, within(wholeTestMs)))
          seen.push(events.length);
      })(),
    );
    t.deepEqual(seen, [1, 1]);
    t.like(failure, { code: 'BadRequest', message: 'no further' });
  });

  check('what is not one of our errors arrives as Internal, without its text', async (t, { client }) => {
    const failure = await failOver(client, new TypeError('password=hunter2 at 10.0.0.7'));
    t.is(failure.code, 'Internal');
    t.notRegex(failure.message, /hunter2|10\.0\.0\.7/);
  });
}

interface Wire {
  readonly client: Execution;
  readonly service: Echo;
}

const startRequest: StartRequest = {
  owner: 'anon',
  requestId: 'q',
  runId: 'r',
  messages: [],
  tools: [],
  recursionLimit: 25,
  granularity: 'low',
  multitaskStrategy: 'enqueue',
};
const followRequest = { owner: 'anon', runId: 'five', after: 0 };
const largeItems = 200;
/** Longer than a test may take: what ends in time was not ended by its deadline. */
const wholeTestMs = 120_000;

/** A service that shows what reached it. */
interface Echo extends Execution {
  readonly starts: StartRequest[];
  /** How many items the stream has made. */
  readonly yielded: number;
  /** Resolves when a handler that waits has begun. */
  readonly entered: Promise<void>;
  /** Resolves with the name of the method whose signal fired, or whose generator was ended. */
  readonly fired: Promise<string>;
}

const errorsByRun = new Map<string, unknown>();

function createEcho(): Echo {
  const starts: StartRequest[] = [];
  const entered = Promise.withResolvers<undefined>();
  const fired = Promise.withResolvers<string>();
  let yielded = 0;

  async function* follow({ runId, after }: { runId: string; after: number }, call: Call): AsyncGenerator<RunEvents> {
    const last = runId === 'five' ? 5 : runId === 'heavy' ? largeItems : Number.POSITIVE_INFINITY;
    const data = runId === 'heavy' ? Buffer.alloc(256 * 1024, 97) : Buffer.from('{}');
    try {
      for (let seq = after + 1; seq <= last; seq += 1) {
        if (runId === 'breaks' && seq === 3) throw badRequest('no further');
        yielded += 1;
        yield { events: [{ seq, kind: 'messages_chunk', at: 1, data }] };
        if (runId === 'endless') await turn(call.signal);
      }
    } finally {
      fired.resolve('follow');
    }
  }

  return {
    starts,
    get yielded() {
      return yielded;
    },
    entered: entered.promise,
    fired: fired.promise,
    start: async (request) => {
      starts.push(request);
      return Promise.resolve({ runId: request.runId, threadId: 't', isNewThread: true, status: 'queued' });
    },
    answerQuestion: () => {
      throw new ServiceError('Conflict', 'is not open');
    },
    wait: (_request, { signal }) => {
      signal.addEventListener('abort', () => {
        fired.resolve('wait');
      });
      entered.resolve(undefined);
      return new Promise(() => undefined);
    },
    follow,
    getGraph: () => Promise.resolve({ graphJson: new Uint8Array(0), fieldsJson: new Uint8Array(0) }),
    listAgents: () => Promise.resolve({ agents: [] }),
    getAgent: () => Promise.reject(new Error('not used')),
    getHealth: () => Promise.resolve({ degraded: [] }),
    countOpenRuns: () => Promise.resolve({ counts: [], workers: [] }),
    checkTools: () => Promise.resolve({}),
    stopRun: () => Promise.resolve({ status: 'stopped', stoppedNow: true }),
    updateState: ({ stateJson }) =>
      Promise.resolve({ version: 1, fields: { again: stateJson }, contextJson: stateJson }),
    deleteThread: ({ threadId }) => {
      throw errorsByRun.get(threadId);
    },
  };
}

/** Lets other work go first; a fired signal ends the waiting with an error, as it would in a store. */
const turn = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    setImmediate(() => {
      if (signal.aborted) reject(new Error('aborted'));
      else resolve();
    });
  });

/** The error that the caller gets when the service throws `error`. */
async function failOver(client: Execution, error: Error): Promise<ServiceError> {
  errorsByRun.set(error.message, error);
  return failureOf(client.deleteThread({ owner: 'anon', threadId: error.message }, within(wholeTestMs)));
}

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw new Error(`not a ServiceError: ${String(error)}`, { cause: error });
  }
  throw new Error('it did not fail');
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** The count once it has not changed for a while. */
async function settledCount(read: () => number): Promise<number> {
  for (let still = 0, last = read(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    still = read() === last ? still + 1 : 0;
    last = read();
    if (still === 10) return last;
  }
}

/** A service behind gRPC, in the same process. */
export async function overGrpc(execution: Execution): Promise<Execution & AsyncDisposable> {
  const server = await serve({ execution }, { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined });
  const client = connect('execution', `127.0.0.1:${String(server.port)}`);
  return {
    ...client,
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
