import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import fc from 'fast-check';
import type { ClaimedRun, Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  assistant,
  bytes,
  call,
  calling,
  claim,
  commit,
  completed,
  fieldsOf,
  finishedTurn,
  interruptedTurn,
  logOf,
  messagesOf,
  owner,
  refused,
  text,
  thread1,
  twoCalls,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads, type Scale } from './thread-stores/threads-open.ts';
import { byLoad } from '../by-load.ts';

/** How a request names itself: by an attempt of its caller, or by the key of a request that is done once. */
interface Naming {
  readonly attemptId?: string;
  readonly onceKey?: string;
}

/** One method that changes a thread, ready to be called with a name. */
interface Repeat {
  readonly method: string;
  /** Brings the thread to where the call can be made; gives the call. */
  readonly prepare: (threads: Threads) => Promise<(naming: Naming) => Promise<unknown>>;
  /** Another write that the thread takes after it. */
  readonly meddle: (threads: Threads) => Promise<unknown>;
  /** Whether requests that are done once come this way. */
  readonly keyed?: true;
}

const addLater = (threads: Threads): Promise<unknown> =>
  threads.addMessages({ ...thread1, messages: [user('later')] }, call());
const acceptLater = (threads: Threads): Promise<unknown> => accept(threads, 'later');

async function writeLater(threads: Threads): Promise<unknown> {
  const { version } = await threads.getState(thread1, call());
  const fields = { topic: bytes('"later"') };
  return threads.writeState({ ...thread1, expectedVersion: version, fields, messages: [user('later')] }, call());
}

const repeats: readonly Repeat[] = [
  {
    method: 'acceptRun',
    prepare: async (threads) => {
      await finishedTurn(threads, 'r0');
      return (naming) => accept(threads, 'r1', { ...naming, claim: { workerId: 'w1' } });
    },
    meddle: acceptLater,
  },
  {
    method: 'claimRun',
    prepare: async (threads) => {
      await interruptedTurn(threads, 'r0');
      await accept(threads, 'r1', { messages: [user('a'), user('b')] });
      return (naming) => claim(threads, 'r1', naming);
    },
    meddle: acceptLater,
  },
  {
    method: 'releaseRun',
    prepare: async (threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      return (naming) => threads.releaseRun({ ...thread1, runId: 'r1', epoch, ...naming }, call());
    },
    meddle: (threads) => claim(threads, 'r1', { workerId: 'w2' }),
  },
  {
    method: 'commitStep',
    prepare: async (threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      const step = { messages: [assistant('a1')], fields: { topic: bytes('"tea"') }, next: ['b'] };
      return (naming) => commit(threads, 'r1', epoch, { ...step, ...naming });
    },
    meddle: (threads) => threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call()),
  },
  {
    method: 'commitStep, of two steps,',
    prepare: async (threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      const at = { at: 5, nodes: ['tools'], next: ['a'], openCalls: [] };
      const steps = { messages: [assistant('a1')], next: ['tools'], fused: { ...at, messages: [assistant('a2')] } };
      return (naming) => commit(threads, 'r1', epoch, { ...steps, ...naming });
    },
    meddle: (threads) => threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call()),
  },
  {
    method: 'commitStep, of the last step,',
    prepare: async (threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      await accept(threads, 'r2');
      return (naming) => commit(threads, 'r1', epoch, { end: completed, ...naming });
    },
    meddle: (threads) => claim(threads, 'r2'),
  },
  {
    method: 'endRun',
    prepare: async (threads) => {
      await acceptAndClaim(threads, 'r1');
      await accept(threads, 'r2');
      return (naming) => threads.endRun({ owner, runId: 'r1', status: 'stopped', ...naming }, call());
    },
    meddle: (threads) => claim(threads, 'r2'),
    keyed: true,
  },
  {
    method: 'noteToolStarted',
    prepare: async (threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      const place = { ...thread1, runId: 'r1', epoch, step: 0, callKey: 'r1/0/c1' };
      return (naming) => threads.noteToolStarted({ ...place, ...naming }, call());
    },
    meddle: acceptLater,
  },
  {
    method: 'writeState',
    prepare: async (threads) => {
      const { version } = await finishedTurn(threads, 'r0');
      const write = { ...thread1, expectedVersion: version, fields: { topic: bytes('"tea"') }, messages: [user('w')] };
      return (naming) => threads.writeState({ ...write, ...naming }, call());
    },
    meddle: addLater,
    keyed: true,
  },
  {
    method: 'clearState',
    prepare: async (threads) => {
      await finishedTurn(threads, 'r0');
      await writeLater(threads);
      return (naming) => threads.clearState({ ...thread1, ...naming }, call());
    },
    meddle: writeLater,
    keyed: true,
  },
  {
    method: 'addMessages',
    prepare: async (threads) => {
      await finishedTurn(threads, 'r0');
      return (naming) => threads.addMessages({ ...thread1, messages: [user('a'), user('b')], ...naming }, call());
    },
    meddle: (threads) => threads.deleteMessage({ ...thread1, messageId: 'a' }, call()),
    keyed: true,
  },
  {
    method: 'deleteMessage',
    prepare: async (threads) => {
      await finishedTurn(threads, 'r0');
      return (naming) => threads.deleteMessage({ ...thread1, messageId: 'm-r0', ...naming }, call());
    },
    meddle: (threads) => threads.addMessages({ ...thread1, messages: [user('m-r0', 'again')] }, call()),
    keyed: true,
  },
  {
    method: 'fixThread',
    prepare: async (threads) => {
      await interruptedTurn(threads, 'r0');
      return (naming) => threads.fixThread({ ...thread1, ...naming }, call());
    },
    meddle: (threads) => threads.addMessages({ ...thread1, messages: [calling] }, call()),
    keyed: true,
  },
];

/** All that a reader can see of the thread and its runs. */
async function seen(threads: Threads): Promise<unknown> {
  const [thread, state, messages, { runs }] = await Promise.all([
    threads.getThread(thread1, call()),
    threads.getState(thread1, call()),
    messagesOf(threads),
    threads.listRuns({ ...thread1, limit: 100, offset: 0 }, call()),
  ]);
  return plain({ thread, state, messages, runs });
}

/** Values as they compare, over a wire and without one: bytes as text, and no time of a reply. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, name === 'now' ? 0 : plain(each)]));
}

/** What the record promises to callers who do not know what became of their call, and make it again. */
export function threadsRepeatsContract(
  test: TestFn,
  name: string,
  { open, scale }: { readonly open: OpenThreads; readonly scale: Scale },
): void {
  const check = checkOn(test, name, open);

  for (const { method, prepare, meddle, keyed } of repeats) {
    const attempt = (): Naming => ({ attemptId: randomUUID() });

    check(`${method} sent twice as one attempt has its effect once and gives the same reply`, async (t, threads) => {
      const send = await prepare(threads);
      const naming = attempt();
      const first = await send(naming);
      const after = await seen(threads);
      t.deepEqual(plain(await send(naming)), plain(first));
      t.deepEqual(await seen(threads), after);
    });

    check(`${method} sent many times at once as one attempt has its effect once`, async (t, threads) => {
      const send = await prepare(threads);
      const naming = attempt();
      const replies = await Promise.all(Array.from({ length: 8 }, async () => plain(await send(naming))));
      const after = await seen(threads);
      for (const reply of replies) t.deepEqual(reply, replies[0]);
      t.deepEqual(plain(await send(naming)), replies[0]);
      t.deepEqual(await seen(threads), after);
    });

    check(`${method} sent again as one attempt after another write leaves that write alone`, async (t, threads) => {
      const send = await prepare(threads);
      const naming = attempt();
      const first = plain(await send(naming));
      await meddle(threads);
      const after = await seen(threads);
      t.deepEqual(plain(await send(naming)), first);
      t.deepEqual(await seen(threads), after);
    });

    if (keyed)
      check(`${method} of one key is done once, whatever its attempts are called`, async (t, threads) => {
        const send = await prepare(threads);
        const onceKey = randomUUID();
        const first = plain(await send({ onceKey, ...attempt() }));
        await meddle(threads);
        const after = await seen(threads);
        t.deepEqual(plain(await send({ onceKey, ...attempt() })), first);
        t.deepEqual(await seen(threads), after);
      });
  }

  check('a claim made again is told what its run begins with, and does not count', async (t, threads) => {
    await accept(threads, 'r1', { optionsJson: bytes('{"o":1}') });
    for (const worker of ['w1', 'w2', 'w3']) {
      const run = await threads.getRun({ owner, runId: 'r1' }, call());
      const takeover = run.epoch === undefined ? {} : { takeoverEpoch: run.epoch };
      const naming = { attemptId: randomUUID(), workerId: worker, ...takeover };
      const first = await claim(threads, 'r1', naming);
      const again = await claim(threads, 'r1', naming);
      t.is(text(again.optionsJson), '{"o":1}');
      t.deepEqual([again.epoch, again.attempt, again.givenUp], [first.epoch, first.attempt, undefined]);
      t.deepEqual(fieldsOf(again.state), fieldsOf(first.state));
      t.is(text(again.state?.contextJson), text(first.state?.contextJson));
    }
    const run = await threads.getRun({ owner, runId: 'r1' }, call());
    await commit(threads, 'r1', run.epoch ?? 0, { end: completed });
  });

  check('a note of a call made again by another attempt is known as begun', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const note = { ...thread1, runId: 'r1', epoch, step: 0, callKey: 'c' };
    const mine = { ...note, attemptId: randomUUID() };
    t.true((await threads.noteToolStarted(mine, call())).isNew);
    t.false((await threads.noteToolStarted({ ...note, attemptId: randomUUID() }, call())).isNew);
    await threads.noteToolResult({ ...note, resultJson: bytes('1') }, call());
    await threads.noteToolResult({ ...note, resultJson: bytes('1') }, call());
    t.true((await threads.noteToolStarted(mine, call())).isNew);
    t.is(text((await threads.noteToolStarted(note, call())).resultJson), '1');
  });

  check('a noted result counts as progress: claims without a commit are counted anew', async (t, threads) => {
    await accept(threads, 'r1');
    const takeOver = async (): Promise<ClaimedRun> => {
      const { epoch } = await threads.getRun({ owner, runId: 'r1' }, call());
      return claim(threads, 'r1', epoch === undefined ? {} : { takeoverEpoch: epoch });
    };
    for (const callKey of ['a', 'b', 'c', 'd', 'e']) {
      const { epoch, givenUp } = await takeOver();
      t.is(givenUp, undefined);
      await threads.noteToolResult(
        { ...thread1, runId: 'r1', epoch, step: 0, callKey, resultJson: bytes('1') },
        call(),
      );
    }
    for (const attempt of [1, 2, 3]) t.is((await takeOver()).attempt, attempt);
    t.like((await takeOver()).givenUp, { code: 'Internal' });
  });

  check('a deletion made again says the same while the thread goes and after it', async (t, threads) => {
    await acceptAndClaim(threads, 'r1');
    await accept(threads, 'r2');
    const naming = { attemptId: randomUUID() };
    const replies = await Promise.all([1, 2, 3].map(() => threads.beginDelete({ ...thread1, ...naming }, call())));
    for (const { stoppedRunIds } of replies) t.deepEqual(stoppedRunIds, ['r1', 'r2']);
    await threads.finishDelete(thread1, call());
    t.deepEqual((await threads.beginDelete({ ...thread1, ...naming }, call())).stoppedRunIds, ['r1', 'r2']);
    await refused(t, threads.beginDelete({ ...thread1, attemptId: randomUUID() }, call()), 'NotFound');
  });

  check('a deletion made again leaves a thread alone that was made since', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const naming = { onceKey: randomUUID() };
    await threads.beginDelete({ ...thread1, ...naming }, call());
    await threads.finishDelete(thread1, call());
    await finishedTurn(threads, 'r2');
    await threads.beginDelete({ ...thread1, ...naming }, call());
    await threads.finishDelete(thread1, call());
    t.deepEqual(await logOf(threads), ['m-r2']);
  });

  check('a refusal is not kept: the same attempt may succeed later', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const clear = { ...thread1, attemptId: randomUUID() };
    await refused(t, threads.clearState(clear, call()), 'Conflict');
    await commit(threads, 'r1', epoch, { end: completed, fields: { topic: bytes('"tea"') } });
    await threads.clearState(clear, call());
    t.deepEqual(fieldsOf(await threads.getState(thread1, call())), {});
  });

  check('a fix that finds nothing stays one that found nothing', async (t, threads) => {
    await finishedTurn(threads, 'r0');
    const fix = { ...thread1, onceKey: randomUUID() };
    t.is((await threads.fixThread(fix, call())).removedCount, 0);
    await threads.addMessages({ ...thread1, messages: [calling] }, call());
    t.is((await threads.fixThread(fix, call())).removedCount, 0);
    t.true((await logOf(threads)).includes('calling'));
  });

  check('a state write made again gives the state as it left it', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r0');
    const write = { ...thread1, expectedVersion: version, messages: [], onceKey: randomUUID() };
    const first = await threads.writeState({ ...write, fields: { topic: bytes('"tea"') } }, call());
    await writeLater(threads);
    const again = await threads.writeState({ ...write, fields: { topic: bytes('"tea"') } }, call());
    t.deepEqual([again.version, fieldsOf(again)], [first.version, { topic: '"tea"' }]);
    t.is(text(again.contextJson), text(first.contextJson));
  });

  check('an answer that arrives twice as one attempt answers once', async (t, threads) => {
    await interruptedTurn(threads, 'r0');
    const accepted = { attemptId: randomUUID(), answers: twoCalls.map(({ callId }) => callId), hasNewInput: false };
    const send = (): Promise<unknown> =>
      accept(threads, 'r1', { ...accepted, messages: [user('ok')], claim: { workerId: 'w1' } });
    t.deepEqual(plain(await send()), plain(await send()));
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'running');
  });

  check('a request that begins twice as one attempt is the first both times', async (t, threads) => {
    const begin = { owner, onceKey: randomUUID(), bodyHash: 'h' };
    const mine = { ...begin, attemptId: randomUUID() };
    const first = await threads.beginOnce(mine, call());
    t.true(first.isNew);
    t.true((await threads.beginOnce(mine, call())).isNew);
    t.deepEqual(await threads.beginOnce(begin, call()), { isNew: false, at: first.at });
  });

  check('a request that was refused leaves its key to the next one', async (t, threads) => {
    const begin = { owner, onceKey: randomUUID(), bodyHash: 'h' };
    t.true((await threads.beginOnce(begin, call())).isNew);
    await threads.endOnce({ owner, onceKey: begin.onceKey }, call());
    await refused(t, threads.beginOnce({ ...begin, bodyHash: 'other' }, call()), 'Invalid');
    t.true((await threads.beginOnce(begin, call())).isNew);
    t.false((await threads.beginOnce(begin, call())).isNew);
  });

  test(`${name}: whatever direct writes are sent again, and whenever, the thread is as if each had come once`, async (t) => {
    t.timeout(byLoad(120_000));
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 24 }),
        async (writes, again) => {
          await using repeated = await open();
          await using plainly = await open();
          for (const threads of [repeated, plainly]) await finishedTurn(threads, 'r0');
          const sent: { readonly send: () => Promise<unknown>; readonly reply: unknown }[] = [];
          for (const [index, each] of writes.entries()) {
            const naming = { attemptId: randomUUID() };
            const send = async (): Promise<unknown> => outcomeOf(each(repeated, naming));
            const reply = await send();
            await outcomeOf(each(plainly, { attemptId: randomUUID() }));
            if (reply !== 'refused') sent.push({ send, reply });
            for (const nth of again.slice(index * 3, index * 3 + 3)) {
              const one = sent[nth % sent.length];
              if (one) t.deepEqual(await one.send(), one.reply);
            }
          }
          t.deepEqual(await shape(repeated), await shape(plainly));
        },
      ),
      { numRuns: scale.stories },
    );
    t.pass();
  });
}

/** A direct write; whether the thread takes it depends on what came before. */
const write: fc.Arbitrary<(threads: Threads, naming: Naming) => Promise<unknown>> = fc.oneof(
  fc
    .constantFrom('x', 'y', 'z')
    .map(
      (id) => (threads: Threads, naming: Naming) =>
        threads.addMessages({ ...thread1, messages: [user(id, randomless(id))], ...naming }, call()),
    ),
  fc
    .constantFrom('x', 'y', 'z')
    .map(
      (messageId) => (threads: Threads, naming: Naming) =>
        threads.deleteMessage({ ...thread1, messageId, ...naming }, call()),
    ),
  fc.constant((threads: Threads, naming: Naming) => threads.clearState({ ...thread1, ...naming }, call())),
  fc.nat(9).map((value) => async (threads: Threads, naming: Naming) => {
    const { version } = await threads.getState(thread1, call());
    const fields = { n: bytes(String(value)) };
    await threads.writeState({ ...thread1, expectedVersion: version, fields, messages: [], ...naming }, call());
  }),
  fc.constant((threads: Threads, naming: Naming) =>
    threads.addMessages({ ...thread1, messages: [calling], ...naming }, call()),
  ),
  fc.constant((threads: Threads, naming: Naming) => threads.fixThread({ ...thread1, ...naming }, call())),
);

const randomless = (id: string): string => `says ${id}`;

const outcomeOf = async (work: Promise<unknown>): Promise<unknown> => work.then(withoutVersion, () => 'refused');

/** Versions begin from the clock. */
const withoutVersion = (reply: unknown): unknown => {
  const { version: _, ...rest } = (reply ?? {}) as Record<string, unknown>;
  return plain(rest);
};

const shape = async (threads: Threads): Promise<unknown> => {
  const state = await threads.getState(thread1, call());
  // Versions begin with the clock, and so do the checkpoints of messages.
  const messages = (await messagesOf(threads)).map(({ checkpoint_id: _, ...message }) => message);
  return { messages, fields: fieldsOf(state), context: text(state.contextJson) };
};
