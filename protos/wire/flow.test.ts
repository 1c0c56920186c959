import test from 'ava';
import { ServiceError } from '@agent-workflow/kit/errors';
import { within } from '../call.ts';
import type { Execution, RunEvents } from '../execution.ts';
import { connect } from './connect.ts';
import { serve } from './serve.ts';

const notUsed = (): Promise<never> => Promise.reject(new ServiceError('BadRequest', 'not used here'));

const megabyte = Buffer.alloc(1024 * 1024, 'x');
const messages = 40;

interface Service {
  /** How many messages were asked of it. */
  readonly made: () => number;
  /** Resolves once it is asked for no more: calls beside the stream, over the same connection, are answered and nothing was made. */
  readonly stopped: () => Promise<void>;
}

/** Answers in a row between which nothing is made, so that what was on its way has arrived. */
const quietAnswers = 50;

/** Follows a run of forty events of a megabyte, and counts how many were asked of the service. */
async function withStream(use: (events: AsyncIterator<RunEvents>, service: Service) => Promise<void>): Promise<void> {
  let made = 0;
  const execution: Execution = {
    start: notUsed,
    answerQuestion: notUsed,
    wait: notUsed,
    async *follow() {
      for (; made < messages; made++) {
        yield await Promise.resolve({ events: [{ seq: made + 1, kind: 'state_chunk', at: 1, data: megabyte }] });
      }
    },
    getGraph: () => Promise.resolve({ graphJson: Buffer.alloc(0), fieldsJson: Buffer.alloc(0) }),
    listAgents: notUsed,
    getAgent: notUsed,
    getHealth: notUsed,
    countOpenRuns: notUsed,
    stopRun: notUsed,
    checkTools: notUsed,
    updateState: notUsed,
    deleteThread: notUsed,
  };
  const options = { host: '127.0.0.1', port: 0, drainMs: 100, onFailure: () => undefined };
  await using server = await serve({ execution }, options);
  await using client = connect('execution', server.address);
  const stream = client.follow({ owner: 'anon', runId: 'r', after: 0 }, within(20_000));
  const stopped = async (): Promise<void> => {
    for (let [quiet, before] = [0, -1]; quiet < quietAnswers; quiet = made === before ? quiet + 1 : 0) {
      before = made;
      await client.getGraph({}, within(20_000));
    }
  };
  await use(stream[Symbol.asyncIterator](), { made: () => made, stopped });
}

test('a reader that stops reading has a bounded number of bytes waiting for it on both sides of the wire', async (t) => {
  await withStream(async (events, { made, stopped }) => {
    await events.next();
    await stopped();
    t.true(made() <= 6, `${String(made())} messages of a megabyte for one that was read`);
    t.log(`${String(made())} messages of a megabyte are on their way`);
    await events.return?.();
  });
});

test('a reader that stops and reads on later has every item, in order', async (t) => {
  await withStream(async (events, { stopped }) => {
    const seqs: number[] = [];
    for (let item = await events.next(); item.done !== true; item = await events.next()) {
      for (const { seq } of item.value.events) seqs.push(seq);
      if (seqs.length === 5) await stopped();
    }
    t.deepEqual(
      seqs,
      Array.from({ length: messages }, (_, index) => index + 1),
    );
  });
});
