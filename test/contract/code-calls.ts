import type { ExecutionContext, TestFn } from 'ava';
import { maxReduceBytes } from '@agent-workflow/execution/adapters/code-call-errors';
import type { Reduce, ReduceRequest } from '@agent-workflow/execution/ports/code-calls';
import type { HeldAgents } from '@agent-workflow/execution/ports/queue';
import { invalid, isServiceError } from '@agent-workflow/kit/errors';
import { never, within } from '@agent-workflow/protos/call';
import type { CodeGround } from '../servers/code-ground.ts';

const held: HeldAgents = { agents: ['support'], revision: 'v1' };
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const parse = (bytes: Uint8Array | undefined): unknown => JSON.parse(Buffer.from(bytes ?? []).toString());
const longMs = 60_000;

const requestOf = (given: Readonly<Record<string, unknown>>, more: Partial<ReduceRequest> = {}): ReduceRequest => ({
  ...{ agent: 'support', revision: 'v1', current: {} },
  given,
  ...more,
});

/** Adds what is given to what there is, field by field. */
const adding: Reduce = async ({ current, given }) =>
  Promise.resolve(
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        json([...((current[name] ? parse(current[name]) : []) as unknown[]), value]),
      ]),
    ),
  );

/** A reducer that ends only with its signal, and when it began and ended. */
function hanging(): {
  readonly reduce: Reduce;
  readonly begun: Promise<undefined>;
  readonly ended: Promise<undefined>;
} {
  const begun = Promise.withResolvers<undefined>();
  const ended = Promise.withResolvers<undefined>();
  const reduce: Reduce = async (_request, signal) => {
    begun.resolve(undefined);
    signal.addEventListener('abort', () => ended.resolve(undefined));
    return new Promise(() => undefined);
  };
  return { reduce, begun: begun.promise, ended: ended.promise };
}

/** What calls of the code of an agent must promise. `open` gives a caller of its own each time, without workers. */
export function codeCallsContract(test: TestFn, name: string, open: () => Promise<CodeGround>): void {
  const check = (title: string, body: (t: ExecutionContext, ground: CodeGround) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using ground = await open();
      await body(t, ground);
    });
  };

  check('a call is answered by a worker that holds the agent at the revision', async (t, { calls, openWorker }) => {
    await openWorker({ agents: ['support', 'sales'], revision: 'v2' }, () => Promise.reject(new Error('not this one')));
    await openWorker(held, adding);
    const request = requestOf({ notes: 'b', 'ü "x"': null }, { current: { notes: json(['a']) } });
    const fields = await calls.reduce(request, within(longMs));
    t.deepEqual(Object.fromEntries(Object.entries(fields ?? {}).map(([field, value]) => [field, parse(value)])), {
      notes: ['a', 'b'],
      'ü "x"': [null],
    });
    const { revision: _, ...unrevised } = requestOf({ notes: 'c' }, { agent: 'sales' });
    await t.throwsAsync(calls.reduce(unrevised, within(longMs)), { code: 'Internal' });
  });

  check(
    'without a live worker of that revision a call fails at once, and says so',
    async (t, { calls, openWorker }) => {
      await openWorker(held, adding);
      for (const [more, message] of [
        [{ agent: 'sales' }, /^no worker of agent "sales" at revision "v1" is there/],
        [{ revision: 'v2' }, /^no worker of agent "support" at revision "v2" is there/],
      ] as const)
        await t.throwsAsync(calls.reduce(requestOf({ notes: 'a' }, more), within(longMs)), {
          code: 'Unavailable',
          message,
        });
    },
  );

  check('large values come whole, both ways', async (t, { calls, openWorker }) => {
    await openWorker(held, adding);
    const [before, more] = ['ä'.repeat(500_000), '"\\\n'.repeat(300_000)];
    const request = requestOf({ notes: more }, { current: { notes: json([before]) } });
    t.deepEqual(parse((await calls.reduce(request, within(longMs)))?.['notes']), [before, more]);
  });

  check('beyond the bound of bytes a call is refused, and a reply is', async (t, { calls, openWorker }) => {
    let count = 0;
    await openWorker(held, async () => {
      count++;
      return Promise.resolve({ notes: json('x'.repeat(maxReduceBytes)) });
    });
    const refused = { code: 'Invalid', message: /^state: has \d+ bytes .*, more than 4259840$/ };
    await t.throwsAsync(calls.reduce(requestOf({ notes: 'x'.repeat(maxReduceBytes) }), within(longMs)), refused);
    t.is(count, 0);
    await t.throwsAsync(calls.reduce(requestOf({ notes: 'x' }), within(longMs)), refused);
    t.is(count, 1);
  });

  check('what the code refuses is refused by its field; of any other error no text comes', async (t, ground) => {
    await ground.openWorker(held, async ({ given }) => {
      if ('notes' in given) throw invalid(['state', 'notes'], 'are no notes');
      await Promise.reject(new Error('secret of the worker'));
      return {};
    });
    const refusal = await t.throwsAsync(ground.calls.reduce(requestOf({ notes: 1 }), within(longMs)), {
      code: 'Invalid',
      message: 'state.notes: are no notes',
    });
    t.deepEqual(isServiceError(refusal) && refusal.details, [
      { field: ['state', 'notes'], msg: 'are no notes', type: 'value_error' },
    ]);
    const failure = await t.throwsAsync(ground.calls.reduce(requestOf({ other: 1 }), within(longMs)), {
      code: 'Internal',
    });
    t.notRegex(failure.message, /secret/);
  });

  check('a caller that goes away ends its call, and the work', async (t, { calls, openWorker }) => {
    const { reduce, begun, ended } = hanging();
    await openWorker(held, reduce);
    const leaving = new AbortController();
    const call = calls.reduce(requestOf({ notes: 'a' }), within(longMs, leaving.signal));
    await begun;
    leaving.abort(new Error('the caller went away'));
    await t.throwsAsync(call, { message: 'the caller went away' });
    await ended;
    await t.throwsAsync(calls.reduce(requestOf({ notes: 'a' }), within(longMs, leaving.signal)), {
      message: 'the caller went away',
    });
  });

  check('a reducer that does not end is given up at the deadline', async (t, { calls, openWorker }) => {
    const { reduce, ended } = hanging();
    await openWorker(held, reduce);
    const begun = Date.now();
    await t.throwsAsync(calls.reduce(requestOf({ notes: 'a' }), { deadline: begun + 500, signal: never }), {
      code: 'Timeout',
    });
    t.true(Date.now() - begun >= 500);
    await ended;
  });

  check('a worker that dies during a call fails it, and another takes the next', async (t, { calls, openWorker }) => {
    const { reduce, begun } = hanging();
    const dying = await openWorker(held, reduce);
    const call = calls.reduce(requestOf({ notes: 'a' }), within(longMs));
    await begun;
    await Promise.all([
      t.throwsAsync(call, { code: 'Unavailable', message: /was lost while it reduced the state/ }),
      dying.die(),
    ]);
    await openWorker(held, adding);
    t.deepEqual(parse((await calls.reduce(requestOf({ notes: 'a' }), within(longMs)))?.['notes']), ['a']);
  });

  check('calls that hang or fail disturb no other', async (t, { calls, openWorker }) => {
    await openWorker(held, async (request, signal) => {
      if ('hangs' in request.given) return hanging().reduce(request, signal);
      if ('fails' in request.given) throw new Error('poisoned');
      return adding(request, signal);
    });
    const leaving = new AbortController();
    const bad = Array.from({ length: 6 }, async (_, index) =>
      calls.reduce(requestOf(index % 2 === 0 ? { hangs: 1 } : { fails: 1 }), within(longMs, leaving.signal)),
    );
    const settled = Promise.allSettled(bad);
    const good = Array.from({ length: 30 }, async (_, index) =>
      calls.reduce(requestOf({ notes: index }), within(longMs)),
    );
    t.deepEqual(
      (await Promise.all(good)).map((fields) => parse(fields?.['notes'])),
      good.map((_, index) => [index]),
    );
    leaving.abort(new Error('enough'));
    t.true((await settled).every(({ status }) => status === 'rejected'));
  });

  check('a worker that leaves ends what is under way and takes no more', async (t, { calls, openWorker }) => {
    const gate = Promise.withResolvers<undefined>();
    const begun = Promise.withResolvers<undefined>();
    const { service } = await openWorker(held, async (request, signal) => {
      begun.resolve(undefined);
      await gate.promise;
      return adding(request, signal);
    });
    const call = calls.reduce(requestOf({ notes: 'a' }), within(longMs));
    await begun.promise;
    const left = service.leave();
    await t.throwsAsync(
      async () => {
        // It has left at the latest when a call finds nobody.
        for (;;) await calls.reduce(requestOf({ notes: 'b' }), within(100)).catch(rethrow('Timeout'));
      },
      { code: 'Unavailable', message: /is there to reduce/ },
    );
    gate.resolve(undefined);
    t.deepEqual(parse((await call)?.['notes']), ['a']);
    await left;
  });
}

/** Lets errors of this code pass. */
const rethrow =
  (code: 'Timeout') =>
  (error: unknown): void => {
    if (!isServiceError(error, code)) throw error;
  };
