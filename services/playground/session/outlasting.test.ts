import { RequestError, type RunEvent } from '@agent-workflow/client';
import test from 'ava';
import { outlasting } from './outlasting.ts';

const event = (seq: number): RunEvent => ({
  ...{ id: `r:${String(seq)}`, event: 'messages_chunk', data: 'a', thread_id: 't', run_id: 'r' },
  ...{ metadata: {}, timestamp: '2026-01-01T00:00:00Z' },
});
const failure = (code: string): RequestError => new RequestError('away', { status: 0, code });

test('a service that is given up is asked again behind the last event, and each change is announced', async (t) => {
  const asked: (string | undefined)[] = [];
  const changes: string[] = [];
  const answers = [[event(1), failure('UNREACHABLE')], [failure('UNREACHABLE')], [event(2), event(3)]];
  const events = outlasting(
    async function* ({ after }) {
      asked.push(after);
      for (const each of answers[asked.length - 1] ?? []) {
        if (each instanceof Error) throw each;
        yield each;
      }
    },
    { onConnection: (change) => changes.push(change) },
  );
  t.deepEqual(
    (await Array.fromAsync(events)).map(({ id }) => id),
    ['r:1', 'r:2', 'r:3'],
  );
  t.deepEqual(asked, [undefined, 'r:1', 'r:1']);
  t.deepEqual(changes, ['lost', 'lost', 'resumed']);
});

test('what the client itself resumes is announced once, and an end without an event too', async (t) => {
  const changes: string[] = [];
  const events = outlasting(
    async function* ({ onConnection }) {
      onConnection('lost');
      onConnection('resumed');
      yield event(1);
      onConnection('lost');
    },
    { onConnection: (change) => changes.push(change) },
  );
  t.is((await Array.fromAsync(events)).length, 1);
  t.deepEqual(changes, ['lost', 'resumed', 'lost', 'resumed']);
});

test('a refusal ends it', async (t) => {
  const events = outlasting(
    async function* () {
      throw failure('REDIRECTED');
    },
    { onConnection: () => t.fail() },
  );
  await t.throwsAsync(Array.fromAsync(events), { message: 'away' });
});
