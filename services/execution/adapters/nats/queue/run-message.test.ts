import test from 'ava';
import fc from 'fast-check';
import type { Msg } from 'nats';
import { isSubject } from '../client/subject-text.ts';
import { readRun } from './run-message.ts';

const run = {
  owner: 'u:ada',
  threadId: 'Thread 1',
  runId: '0199-a_b',
  agent: 'support',
  revision: 'v1.2@x',
  takeoverEpoch: 3,
  priority: 9,
};

const messageOf = (value: unknown): Msg => ({ json: () => JSON.parse(JSON.stringify(value)) as unknown }) as Msg;

test('a run is read as it was sent', (t) => {
  t.deepEqual(readRun(messageOf(run)), run);
  const { owner, threadId, runId } = run;
  t.deepEqual(readRun(messageOf({ owner, threadId, runId })), { owner, threadId, runId });
});

test('a message with a field that no run of the service has is no run', (t) => {
  const faults: readonly object[] = [
    ...['', 'a\r\nPUB x 0', 'p q', 'a.b', '*', '>', 'x'.repeat(257), 7, null].map((runId) => ({ runId })),
    ...['', 'a/b', 'a\nb', '..', 'x'.repeat(257), 7].map((threadId) => ({ threadId })),
    ...['', 'x'.repeat(50_000), 'é'.repeat(600), 7].map((owner) => ({ owner })),
    ...['', 'A', 'a b', 'x'.repeat(64), 7, null].map((agent) => ({ agent })),
    ...['', '..', 'a b', 'x'.repeat(129), 7, null].map((revision) => ({ revision })),
    ...[-1, 1.5, '1 2', 'new', null].map((takeoverEpoch) => ({ takeoverEpoch })),
    ...[-1, 1.5, 10, '9', null].map((priority) => ({ priority })),
  ];
  for (const fault of faults)
    t.is(readRun(messageOf({ ...run, ...fault })), undefined, JSON.stringify(fault).slice(0, 60));
  for (const value of [null, 7, 'run', []]) t.is(readRun(messageOf(value)), undefined);
});

test('the id and the epoch of any run that is read are words of a subject', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.jsonValue()), fc.jsonValue(), (runId, takeoverEpoch) => {
        const read = readRun(messageOf({ ...run, runId, takeoverEpoch }));
        return !read || isSubject(`queue.${read.runId}.${String(read.takeoverEpoch)}`);
      }),
    ),
  );
});
