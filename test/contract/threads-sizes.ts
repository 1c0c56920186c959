import type { ExecutionContext, TestFn } from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { MessageEntry, Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  bytes,
  call,
  claim,
  commit,
  completed,
  finishedTurn,
  parse,
  refused,
  text,
  thread1,
  user,
} from './thread-calls.ts';
import type { OpenThreads } from './thread-stores/threads-open.ts';
import { byLoad } from '../by-load.ts';

/** What the record promises of sizes: what may grow to where, and what is refused by name beyond that. */
export function threadsSizesContract(test: TestFn, name: string, { open }: { readonly open: OpenThreads }): void {
  const check = (title: string, body: (t: ExecutionContext, threads: Threads) => Promise<void>): void => {
    // Before all others: what moves many megabytes would hold up those that run beside it.
    test.serial(`${name}: ${title}`, async (t) => {
      t.timeout(byLoad(180_000));
      await using threads = await open();
      await body(t, threads);
    });
  };

  check('messages fill a context up to its bound, and beyond it they are refused by name', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    await fill(threads, sizes.context - 1000);
    const error = await t.throwsAsync(add(threads, [sized('over', 2000)]));
    t.true(isServiceError(error, 'Invalid'));
    t.deepEqual(fieldOf(error), [['messages'], 'context_too_large']);
    t.regex(error.message, new RegExp(String(sizes.context)));
    await add(threads, [sized('fits', 900)]);
    t.false(await isInLog(threads, 'over'));
    const { contextJson } = await threads.getState(thread1, call());
    t.true(contextJson.byteLength > sizes.context - 200);
  });

  check('a state write whose messages overfill the context is refused and names it', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    await fill(threads, sizes.context - 1000);
    const { version: expectedVersion } = await threads.getState(thread1, call());
    const write = { ...thread1, expectedVersion, fields: {}, messages: [sized('over', 2000)] };
    const error = await t.throwsAsync(threads.writeState(write, call()));
    t.deepEqual(fieldOf(error), [['state', 'context'], 'context_too_large']);
  });

  check('fields written one after the other are bounded together', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    const write = async (field: string, size: number): Promise<unknown> => {
      const { version: expectedVersion } = await threads.getState(thread1, call());
      const fields = { [field]: bytes(`"${'x'.repeat(size)}"`) };
      return threads.writeState({ ...thread1, expectedVersion, fields, messages: [] }, call());
    };
    await write('a', sizes.state / 2);
    const error = await t.throwsAsync(write('b', sizes.state / 2));
    t.deepEqual(fieldOf(error), [['state'], 'state_too_large']);
    await write('a', 10);
    await write('b', sizes.state / 2);
  });

  check('a step that overfills the context is refused, and one that shortens it is taken', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    await fill(threads, sizes.context - 1000);
    const { epoch } = await acceptAndClaim(threads, 'r2');
    const over = commit(threads, 'r2', epoch, { messages: [sized('over', 3000)] });
    t.deepEqual(fieldOf(await t.throwsAsync(over)), [['messages'], 'context_too_large']);
    const parts = { messages: [sized('over', 3000)], removedFromContext: ['fill-0'], end: completed };
    await commit(threads, 'r2', epoch, parts);
    t.true(await isInLog(threads, 'over'));
  });

  check(
    'a step of as many messages as it may have is taken, undone and leaves the context, and one more is refused',
    async (t, threads) => {
      await finishedTurn(threads, 'r1', { messages: [] });
      const small = (text: string) => (_: unknown, index: number) => user(`small-${String(index)}`, text);
      const messages = Array.from({ length: sizes.stepMessages }, small('a'));
      const ids = messages.map(({ messageId }) => messageId);
      const countOf = async (text: string): Promise<number> =>
        textsIn((await threads.getState(thread1, call())).contextJson).filter((each) => each === text).length;

      const { epoch } = await acceptAndClaim(threads, 'r2');
      const many = await refused(t, commit(threads, 'r2', epoch, { messages: [...messages, user('over')] }), 'Invalid');
      t.is(many, `messages: has ${String(sizes.stepMessages + 1)} entries, more than ${String(sizes.stepMessages)}`);
      await commit(threads, 'r2', epoch, { messages, end: completed });
      t.is(await countOf('a'), sizes.stepMessages);

      const replacing = await acceptAndClaim(threads, 'r3');
      const replaced = { messages: messages.map(small('b')), replacesMessages: true };
      await commit(threads, 'r3', replacing.epoch, replaced);
      t.is(await countOf('b'), sizes.stepMessages);
      await accept(threads, 'r4', { messages: [], multitaskStrategy: 'rollback' });
      t.is(await countOf('a'), sizes.stepMessages);

      const removing = await claim(threads, 'r4');
      await commit(threads, 'r4', removing.epoch, { removedFromContext: ids, end: completed });
      t.is(await countOf('a'), 0);
      t.true(await isInLog(threads, 'small-0'));
    },
  );

  check('a step of as many fields as it may have is taken, and one more is refused', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    const names = Array.from({ length: sizes.stepFields }, (_, index) => `f${String(index)}`);
    const fields = Object.fromEntries(names.map((name) => [name, bytes('1')]));
    const { epoch } = await acceptAndClaim(threads, 'r2');
    const over = { ...fields, over: bytes('1') };
    const why = `has ${String(sizes.stepFields + 1)} entries, more than ${String(sizes.stepFields)}`;
    t.is(await refused(t, commit(threads, 'r2', epoch, { fields: over }), 'Invalid'), `fields: ${why}`);
    await commit(threads, 'r2', epoch, { fields, end: completed });
    const { version: expectedVersion, fields: found } = await threads.getState(thread1, call());
    t.is(Object.keys(found).length, sizes.stepFields);
    const write = { ...thread1, expectedVersion, fields: over, messages: [] };
    t.is(await refused(t, threads.writeState(write, call()), 'Invalid'), `state: ${why}`);
  });

  check('a step that only replaces a message by a smaller one is taken by a full context', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    await fill(threads, sizes.context - 100);
    const { epoch } = await acceptAndClaim(threads, 'r2');
    const smaller = { messages: [sized('fill-0', 300)], replacesMessages: true, end: completed };
    await commit(threads, 'r2', epoch, smaller);
    await add(threads, [sized('fits', 100_000)]);
    t.true(await isInLog(threads, 'fits'));
  });

  check('the input of a run exceeds the bound of a context by as much as one body', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    await fill(threads, sizes.context - 1000);
    const body = [sized('i1', sizes.message), sized('i2', sizes.message)];
    const { claimed } = await accept(threads, 'r2', { messages: body, claim: { workerId: 'w1' } });
    t.true((claimed?.state?.contextJson.byteLength ?? 0) > sizes.contextWithInput - 2000);
    const { epoch = 0 } = claimed ?? {};
    await commit(threads, 'r2', epoch, { end: completed });
    const error = await t.throwsAsync(accept(threads, 'r3', { messages: [sized('i3', 10_000)] }));
    t.deepEqual(fieldOf(error), [['messages'], 'context_too_large']);
    await refused(t, threads.getRun({ owner: thread1.owner, runId: 'r3' }, call()), 'NotFound');
    t.is((await threads.getThread(thread1, call())).activeRunId, undefined);
  });

  check('a run that waited fails at its claim with the sentence of the acceptance', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    await fill(threads, sizes.context - 1000);
    const { epoch } = await acceptAndClaim(threads, 'r2');
    await accept(threads, 'r3', { messages: [sized('i1', sizes.message), sized('i2', sizes.message)] });
    await accept(threads, 'r4', { messages: [sized('i3', 10_000)] });
    await accept(threads, 'r5', { messages: [] });
    await commit(threads, 'r2', epoch, { end: completed });
    const { epoch: third } = await claim(threads, 'r3');
    await commit(threads, 'r3', third, { end: completed });
    const failed = await claim(threads, 'r4');
    t.like(failed.givenUp, { code: 'Invalid' });
    t.regex(failed.givenUp?.message ?? '', /^messages: the context would have \d+ bytes, more than 12582912/);
    t.is(failed.nextRunId, 'r5');
    const run = await threads.getRun({ owner: thread1.owner, runId: 'r4' }, call());
    t.is(run.status, 'failed');
    t.false(await isInLog(threads, 'i3'));
    const accepted = await t.throwsAsync(
      accept(threads, 'r6', { messages: [sized('i3', 10_000)], multitaskStrategy: 'interrupt' }),
    );
    t.is<string | undefined, string | undefined>(accepted.message, failed.givenUp?.message);
    t.like(await threads.getRun({ owner: thread1.owner, runId: 'r5' }, call()), { status: 'queued' });
  });

  check('what replaces more than can be kept for an undo is refused, whoever writes it', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    // Out of the context, which has a bound of its own, messages stay in the log.
    const ids = Array.from({ length: 8 }, (_, index) => `large-${String(index)}`);
    for (const [index, id] of ids.entries()) {
      if (index === ids.length / 2) await threads.clearState(thread1, call());
      await add(threads, [sized(id, sizes.message - 1000)]);
    }
    await threads.clearState(thread1, call());
    const all = ids.map((id) => sized(id, 300));
    const refusedAs = async (work: Promise<unknown>): Promise<unknown> => {
      const error = await t.throwsAsync(work);
      t.regex(error.message, new RegExp(`replaced has \\d+ bytes, more than ${String(sizes.undo)}`));
      return fieldOf(error);
    };
    t.deepEqual(await refusedAs(add(threads, all)), [['messages'], 'too_large']);
    const { version: expectedVersion } = await threads.getState(thread1, call());
    const write = { ...thread1, expectedVersion, fields: {}, messages: all };
    t.deepEqual(await refusedAs(threads.writeState(write, call())), [['state', 'context'], 'too_large']);

    const { epoch } = await acceptAndClaim(threads, 'r2');
    const step = { messages: all, replacesMessages: true };
    t.deepEqual(await refusedAs(commit(threads, 'r2', epoch, step)), [['messages'], 'too_large']);
    await accept(threads, 'r3', { messages: all });
    await commit(threads, 'r2', epoch, { end: completed });
    const failed = await claim(threads, 'r3');
    t.like(failed.givenUp, { code: 'Invalid' });
    t.regex(failed.givenUp?.message ?? '', /what is replaced has \d+ bytes/);
    await refusedAs(accept(threads, 'r4', { messages: all, claim: { workerId: 'w1' } }));

    await add(threads, all.slice(0, 4));
    await add(threads, all.slice(4));
    const { contextJson } = await threads.getState(thread1, call());
    t.true(contextJson.byteLength < 10_000);
  });

  check('as much as an undo keeps is replaced by as much as a body holds, or refused by name', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [] });
    const ids = Array.from({ length: 6 }, (_, index) => `large-${String(index)}`);
    for (const [index, id] of ids.entries()) {
      if (index % 3 === 0) await threads.clearState(thread1, call());
      await add(threads, [sized(id, sizes.message - 5000)]);
    }
    await threads.clearState(thread1, call());
    const replaced = async (count: number, size: number): Promise<string> => {
      const messages = ids.slice(0, count).map((id) => sized(id, size));
      const error = await add(threads, messages).catch((thrown: unknown) => thrown as Error);
      return error instanceof Error ? `${String(isServiceError(error, 'Invalid'))} ${error.message}` : 'taken';
    };
    t.regex(await replaced(6, 750_000), /^true messages: what is replaced has \d+ bytes, more than \d+: replace fewer/);
    t.is(await replaced(5, 900_000), 'taken');
  });

  /** A thread in whose log are eight messages of almost the largest size, of which the run `r2` has replaced the last ones by small ones. */
  const replaceLarge = async (threads: Threads, count: number): Promise<void> => {
    await finishedTurn(threads, 'r1', { messages: [] });
    await fill(threads, sizes.context - 20_000, 'out');
    await threads.clearState(thread1, call());
    await fill(threads, sizes.context - 20_000, 'in');
    const ids = ['out-0', 'out-1', 'out-2', 'out-3', 'in-0', 'in-1', 'in-2', 'in-3'].slice(-count);
    const { epoch } = await acceptAndClaim(threads, 'r2');
    for (const [step, id] of ids.toReversed().entries())
      await commit(threads, 'r2', epoch, {
        ...{ step, messages: [sized(id, 300)], replacesMessages: true, next: ['more'] },
      });
  };

  check(
    'a rollback that is more than one change is refused with its bytes, and nothing of it is done',
    async (t, threads) => {
      await replaceLarge(threads, 8);
      const before = await threads.getState(thread1, call());
      const error = await t.throwsAsync(accept(threads, 'r3', { multitaskStrategy: 'rollback' }));
      t.true(isServiceError(error, 'Conflict'));
      t.regex(
        error.message,
        new RegExp(`run "r2" would write \\d+ bytes, more than ${String(sizes.change)}; interrupt it`),
      );
      t.deepEqual(await threads.getState(thread1, call()), before);
      t.like(await threads.getRun({ owner: thread1.owner, runId: 'r2' }, call()), { status: 'running' });
      await refused(t, threads.getRun({ owner: thread1.owner, runId: 'r3' }, call()), 'NotFound');
      t.like(await accept(threads, 'r4', { multitaskStrategy: 'interrupt' }), { stoppedRunId: 'r2' });
    },
  );

  check('a rollback puts back as much as one change can hold', async (t, threads) => {
    await replaceLarge(threads, 3);
    t.like(await accept(threads, 'r3', { multitaskStrategy: 'rollback' }), { stoppedRunId: 'r2' });
    const { contextJson } = await threads.getState(thread1, call());
    t.true(contextJson.byteLength > sizes.context - 30_000);
  });

  check('what a run asks is bounded in bytes, whatever its characters', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const interruptsJson = JSON.stringify(['語'.repeat(sizes.progress / 3)]);
    const asking = commit(threads, 'r1', epoch, { end: { ...completed, status: 'interrupted', interruptsJson } });
    t.deepEqual(fieldOf(await t.throwsAsync(asking)), [['interrupts'], 'too_large']);
  });

  check('a message of a step and the record of a tool call have bounds for every caller', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const big = commit(threads, 'r1', epoch, { messages: [user('small'), sized('big', sizes.message + 1)] });
    t.deepEqual(fieldOf(await t.throwsAsync(big)), [['messages', 1], 'too_large']);
    const fused = {
      at: Date.now(),
      nodes: ['b'],
      next: [],
      openCalls: [],
      messages: [sized('big', sizes.message + 1)],
    };
    const second = commit(threads, 'r1', epoch, { fused });
    t.deepEqual(fieldOf(await t.throwsAsync(second)), [['messages', 0], 'too_large']);
    const record = { ...thread1, runId: 'r1', epoch, step: 0, callKey: 'k' };
    const resultJson = bytes(`"${'x'.repeat(sizes.toolRecord)}"`);
    const noted = threads.noteToolResult({ ...record, resultJson }, call());
    t.deepEqual(fieldOf(await t.throwsAsync(noted)), [['resultJson'], 'too_large']);
    await commit(threads, 'r1', epoch, { messages: [sized('fits', sizes.message)] });
  });

  check('metadata, a summary and the input of one request have bounds that the refusal names', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const metadataJson = bytes(`{"m":"${'x'.repeat(sizes.metadata)}"}`);
    const parts = { threadId: 't2', metadataJson };
    t.deepEqual(fieldOf(await t.throwsAsync(accept(threads, 'r2', parts)))?.[0], ['config', 'metadata']);
    const adding = threads.addMessages({ ...thread1, messages: [user('u')], metadataJson }, call());
    t.deepEqual(fieldOf(await t.throwsAsync(adding))?.[0], ['metadata']);
    const { checkpoints } = await threads.listCheckpoints({ ...thread1, limit: 1, offset: 0 }, call());
    const { checkpointId = '' } = checkpoints[0] ?? {};
    const fork = threads.forkThread({ ...thread1, checkpointId, newThreadId: 't3', metadataJson }, call());
    t.deepEqual(fieldOf(await t.throwsAsync(fork))?.[0], ['config', 'metadata']);
    const { version: expectedVersion } = await threads.getState(thread1, call());
    const fields = { context_summary: bytes(`"${'x'.repeat(sizes.summary + 1)}"`) };
    const write = threads.writeState({ ...thread1, expectedVersion, fields, messages: [] }, call());
    t.deepEqual(fieldOf(await t.throwsAsync(write))?.[0], ['state', 'context_summary']);
    const large = [1, 2, 3].map((index) => sized(`h${String(index)}`, sizes.message - 1));
    t.deepEqual(fieldOf(await t.throwsAsync(accept(threads, 'r4', { messages: large })))?.[0], ['messages']);
    const alone = accept(threads, 'r5', { messages: [sized('big', sizes.message + 1)] });
    t.deepEqual(fieldOf(await t.throwsAsync(alone))?.[0], ['messages', 0]);
  });
}

const frame = text(user('', '').json)?.length ?? 0;

/** A message whose JSON has so many bytes. */
function sized(messageId: string, size: number): MessageEntry {
  return user(messageId, 'x'.repeat(Math.max(0, size - frame - messageId.length)));
}

const add = async (threads: Threads, messages: readonly MessageEntry[]): Promise<unknown> =>
  threads.addMessages({ ...thread1, messages }, call());

/** A log of large messages is more than one page: it is asked for the one message. */
const isInLog = async (threads: Threads, messageId: string): Promise<boolean> =>
  threads.getMessage({ ...thread1, messageId }, call()).then(
    () => true,
    (error: unknown) => {
      if (isServiceError(error, 'NotFound')) return false;
      throw error;
    },
  );

/** Fills the context up to a size, with messages of almost the largest size. */
async function fill(threads: Threads, size: number, name = 'fill'): Promise<void> {
  const each = sizes.message - 1000;
  for (let left = size, index = 0; left > 0; left -= each + 1, index += 1)
    await add(threads, [sized(`${name}-${String(index)}`, Math.min(each, left - 1))]);
}

/** The text of each message. */
const textsIn = (contextJson: Uint8Array): unknown[] =>
  (parse(contextJson) as { content: { text: string }[] }[]).map(({ content }) => content[0]?.text);

/** Which field is named, and as what. */
function fieldOf(error: Error | undefined): readonly [readonly (string | number)[], string] | undefined {
  const detail = isServiceError(error) ? error.details[0] : undefined;
  return detail && [detail.field, detail.type];
}
