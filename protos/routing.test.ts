import test from 'ava';
import fc from 'fast-check';
import type { AgentRouting } from './threads.ts';
import { revisionFor } from './routing.ts';

const ramping = (percent: number): AgentRouting => ({
  ...{ version: 1, current: 'a' },
  ramping: { revision: 'b', percent },
});

const threads = Array.from({ length: 10_000 }, (_, index) => ({ owner: `u:${index % 7}`, threadId: `t${index}` }));

const shareOf = (percent: number): number =>
  threads.filter((thread) => revisionFor(ramping(percent), thread, 'support') === 'b').length / threads.length;

test('a share of ten thousand threads is what the routing says, within two percent', (t) => {
  for (const percent of [0, 0.01, 1, 12.25, 50, 99, 100])
    t.true(Math.abs(shareOf(percent) * 100 - percent) < 2, `${percent} percent: ${shareOf(percent)}`);
  t.deepEqual([shareOf(0), shareOf(100)], [0, 1]);
});

test('a thread that is in a share stays in every larger one', (t) => {
  const percents = fc.integer({ min: 0, max: 10_000 }).map((part) => part / 100);
  fc.assert(
    fc.property(fc.string(), fc.string(), percents, percents, (owner, threadId, one, other) => {
      const [small, large] = [Math.min(one, other), Math.max(one, other)];
      const at = (percent: number): string | undefined => revisionFor(ramping(percent), { owner, threadId }, 'support');
      return at(small) !== 'b' || at(large) === 'b';
    }),
  );
  t.pass();
});

test('a thread changes its revision at most once while one ramps up to be current', (t) => {
  const steps: readonly AgentRouting[] = [
    { version: 1, current: 'a' },
    ...[1, 5, 25, 50, 75, 100].map(ramping),
    { version: 9, current: 'b' },
  ];
  for (const thread of threads.slice(0, 1000)) {
    const seen = steps.map((routing) => revisionFor(routing, thread, 'support'));
    t.deepEqual(seen, seen.toSorted());
  }
});

test('agents are ramped apart: the share of one says nothing of that of another', (t) => {
  const both = threads.filter((thread) =>
    ['support', 'billing'].every((agent) => revisionFor(ramping(50), thread, agent) === 'b'),
  );
  t.true(Math.abs(both.length / threads.length - 0.25) < 0.02);
});

test('an agent without a routing has no revision', (t) => {
  const thread = { owner: 'u:ada', threadId: 't1' };
  t.is(revisionFor(undefined, thread, 'support'), undefined);
  t.is(revisionFor({}, thread, 'support'), undefined);
});
