import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { createFollow } from './follow.ts';
import type { Reader } from './reader.ts';
import type { LogSync } from './sync.ts';
import { createTail, type Tail } from './tail.ts';

const end: RunEvent = { seq: 9, kind: 'end', at: 1, data: Buffer.from('{}') };

/** Each time that the tail is refreshed, it has what comes next. The stream holds nothing. */
function followerOf(tail: Tail, readings: readonly Partial<Tail>[]) {
  const left = [...readings];
  const reader: Reader = {
    last: () => Promise.resolve(undefined),
    next: () => Promise.resolve(undefined),
    page: () => Promise.resolve([]),
  };
  const sync: LogSync = {
    readPosition: () => Promise.reject(new Error('nobody writes')),
    trust: () => undefined,
    isLive: false,
    isFresh: () => tail.syncedAtGap >= 0,
    invalidate: () => void (tail.syncedAtGap = -1),
    refresh: () => {
      Object.assign(tail, { syncedAtGap: 0 }, left.shift());
      return Promise.resolve();
    },
    repeat: (work) => work(),
  };
  const closing = new AbortController().signal;
  return createFollow({ reader, sync, isQueued: () => false, onPassedOver: () => undefined, closing });
}

const wasRead = { streamSeq: 5, last: 9, ended: true };
const lost = { streamSeq: 0, last: 0, ended: false, streamLosses: 1, syncedAtGap: -1 };

test('the end of a log that is lost before it is read is the one that is published again', async (t) => {
  const tail = createTail('r', 'subject');
  const again = { ...wasRead, streamSeq: 2, end };
  const follow = followerOf(tail, [wasRead, lost, again]);
  t.is(await follow.end(tail, new AbortController().signal), end);
});

test('the end of a log that is there and cannot be read is not found', async (t) => {
  const tail = createTail('r', 'subject');
  const error = await t.throwsAsync(followerOf(tail, [wasRead]).end(tail, new AbortController().signal));
  t.true(isServiceError(error, 'NotFound'));
});
