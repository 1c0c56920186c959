import test from 'ava';
import { openRegistry } from './metrics.ts';
import { observeRequests, requestMetrics, type SentRequest } from './requests.ts';

const silent = { fails: () => undefined, works: () => undefined };

test('a server is reported as unavailable when a request fails, and as available again once none has failed for a while', async (t) => {
  t.plan(1);
  const reports: string[] = [];
  const health = { fails: (reason: string) => reports.push(reason), works: () => reports.push('works') };
  let now = 0;
  const watch = observeRequests({ health, meters: undefined, clock: () => now });
  const answer = async (outcome: 'ok' | 'lost' | 'failed', at: number): Promise<void> => {
    now = at;
    watch({ kind: 'read', answered: Promise.resolve(outcome) });
    await Promise.resolve();
  };
  await answer('ok', 0);
  await answer('failed', 10_000);
  await answer('ok', 10_001);
  await answer('lost', 14_000);
  await answer('lost', 15_001);
  t.deepEqual(reports, ['works', 'it is unavailable, or too slow', 'works']);
});

test('each request is counted when it ends, by its kind and how it ended', async (t) => {
  using registry = await openRegistry();
  const meters = registry.make(
    requestMetrics({
      requests: ['tea_requests_total', 'Requests'],
      seconds: ['tea_request_seconds', 'How long they took'],
      kinds: ['read', 'serial_read'],
    }),
  );
  const observe = observeRequests({ health: silent, meters });
  const send = (kind: string, outcome: 'ok' | 'lost' | 'failed'): SentRequest => ({
    kind,
    answered: Promise.resolve(outcome),
  });
  const sent = [send('read', 'ok'), send('serial read', 'lost'), send('serial read', 'lost'), send('read', 'failed')];
  for (const request of sent) observe(request);
  await Promise.all(sent.map(({ answered }) => answered));
  const { text } = await registry.read();
  t.regex(text, /^tea_requests_total\{kind="read",outcome="ok"\} 1$/m);
  t.regex(text, /^tea_requests_total\{kind="read",outcome="failed"\} 1$/m);
  t.regex(text, /^tea_requests_total\{kind="serial_read",outcome="lost"\} 2$/m);
  t.regex(text, /^tea_request_seconds_count\{kind="serial_read"\} 2$/m);
});
