import { isServiceError } from '@agent-workflow/kit/errors';
import type { RunEvent } from '@agent-workflow/protos/execution';
import test from 'ava';
import type { Msg } from 'nats';
import { createChain } from './chain.ts';
import { toDrafts, type Draft } from './drafts.ts';
import { fromPayload, toBatch, type StoredFrame } from './frame.ts';
import { emptyAt, positionAt } from './position.ts';

const frameBytes = 10_000;
const subject = 'events.agent.r';
const scope = { runId: 'r', threadId: 't', requestId: 'q', isNewThread: false };

const chunk = (seq: number): RunEvent => ({
  seq,
  kind: 'messages_chunk',
  at: 1,
  data: Buffer.from(`{"text":"${seq}"}`),
});
const end = (seq: number): RunEvent => ({ seq, kind: 'on_chain_end', at: 1, data: Buffer.from('{}') });

const draftsOf = (after: number, events: readonly RunEvent[]): readonly Draft[] =>
  toDrafts([{ scope, events, after, bytes: 0, done: () => undefined }], frameBytes);

/** The log's subject of a stream: it stores a message that names the last one, and refuses others. */
function openSubject() {
  let frames: StoredFrame[] = [];
  let next = 1;
  /** Runs once, before the next message is looked at. */
  let before: (() => Promise<void>) | undefined;
  return {
    events: () => frames.flatMap((frame) => toBatch(frame)?.events ?? []).map(({ seq }) => seq),
    lose: () => {
      frames = [];
    },
    beforeNext: (work: () => Promise<void>) => {
      before = work;
    },
    last: () => frames.at(-1),
    store: async (payload: Uint8Array, expected: number): Promise<object> => {
      const work = before;
      before = undefined;
      await work?.();
      if (expected !== (frames.at(-1)?.streamSeq ?? 0))
        return { error: { code: 400, err_code: 10_071, description: '' } };
      const frame = fromPayload(payload);
      if (!frame) return { error: { code: 400, err_code: 1, description: '' } };
      frames.push({ ...frame, subject, streamSeq: next++, at: 1 });
      return { seq: frames.at(-1)?.streamSeq };
    },
  };
}

/** A writer of the log that keeps what it has written, and what it found. */
function openChain(stored: ReturnType<typeof openSubject>, writer: string) {
  const kept: StoredFrame[] = [];
  return createChain(
    {
      client: {
        request: async (_, payload, { headers } = {}) => {
          const reply = await stored.store(payload, Number(headers?.get('Nats-Expected-Last-Subject-Sequence')));
          return { json: () => reply } as unknown as Msg;
        },
        connected: () => Promise.resolve(),
      },
      runId: 'r',
      writer,
      beginSubject: () => subject,
      readPosition: () => {
        const last = stored.last();
        return Promise.resolve(last ? positionAt(last, last.streamSeq, Infinity) : emptyAt(0));
      },
      recreateStream: () => Promise.resolve(),
      keepEarlier: ({ frame }) => {
        if (frame) kept.push(frame);
        return Promise.resolve();
      },
      keptFrames: (last) => kept.filter((frame) => frame.last > last),
      onStored: (frame) => void kept.push(frame),
      onConflicts: () => undefined,
      closing: new AbortController().signal,
    },
    frameBytes,
  );
}

/** Events 1 to 3 of one writer, and 4 and 5 of another one that took the log over, of which the first does not know; then all is lost. */
async function openLost() {
  const stored = openSubject();
  const replaced = openChain(stored, 'replaced');
  const chain = openChain(stored, 'new');
  await replaced.canFollow(0);
  await replaced.put(draftsOf(0, [chunk(1), chunk(2), chunk(3)]));
  await chain.canFollow(3);
  await chain.put(draftsOf(3, [chunk(4), chunk(5)]));
  stored.lose();
  return { stored, replaced, chain };
}

const all = [1, 2, 3, 4, 5, 6];

test('a log is whole where the writer before puts back its part while the new one appends', async (t) => {
  const { stored, replaced, chain } = await openLost();
  // The first message that is refused shows the loss. The second has all that was lost, and comes after the other writer.
  stored.beforeNext(async () => stored.beforeNext(replaced.putBack));
  await chain.put(draftsOf(5, [end(6)]));
  t.deepEqual(stored.events(), all);
});

test('a log is whole where both writers put it back at once', async (t) => {
  const { stored, replaced, chain } = await openLost();
  stored.beforeNext(replaced.putBack);
  await chain.putBack();
  t.deepEqual(stored.events(), all.slice(0, 5));
  await chain.put(draftsOf(5, [end(6)]));
  t.deepEqual(stored.events(), all);
});

test('a writer that was replaced puts nothing back after the new one, and its next append is stale', async (t) => {
  const { stored, replaced, chain } = await openLost();
  stored.beforeNext(async () => {
    await chain.putBack();
  });
  await replaced.putBack().catch(() => undefined);
  t.deepEqual(stored.events(), all.slice(0, 5));
  t.false(await replaced.canFollow(3));
  await chain.put(draftsOf(5, [end(6)]));
  t.deepEqual(stored.events(), all);
});

test('an event of the writer before that the new one does not expect makes it stale', async (t) => {
  const { stored, replaced, chain } = await openLost();
  await replaced.canFollow(3);
  await replaced.put(draftsOf(3, [chunk(4), chunk(5), chunk(6)]));
  t.true(isServiceError(await t.throwsAsync(chain.put(draftsOf(5, [end(6)]))), 'Stale'));
  t.deepEqual(stored.events(), all);
});
