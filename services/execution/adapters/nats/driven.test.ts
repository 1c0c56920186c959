import test from 'ava';
import { hashOfAgent } from './client/pools.ts';
import { createShownDriven, toPayload } from './driven.ts';

const mostBytes = 64 * 1024;

test('a pool that makes up workers is forgotten itself, and not what the workers of others have shown', (t) => {
  const shown = createShownDriven(mostBytes);
  const show = (agent: string, workerId: string, runs = 1): void =>
    shown.receive({ hash: hashOfAgent(agent), workerId }, Buffer.from(toPayload({ agent, revisions: [{ runs }] })));
  const workersOf = (agent: string): readonly string[] =>
    shown.of(() => true).flatMap((each) => (each.agent === agent ? [each.workerId] : []));
  show('support', 'first');
  show('support', 'second');
  for (let index = 0; index < 1000; index++) show('flood', `made up ${String(index)}`);
  t.deepEqual(workersOf('support'), ['first', 'second']);
  const flood = workersOf('flood');
  t.true(flood.length > 50 && flood.length < 1000);
  t.is(flood.at(-1), 'made up 999');
  show('support', 'third');
  t.is(workersOf('support').length, 3);
});

test('what a worker shows of an agent takes the place of what it showed before, within the bound', (t) => {
  const shown = createShownDriven(mostBytes);
  const agent = 'support';
  for (let runs = 0; runs < 10_000; runs++)
    shown.receive(
      { hash: hashOfAgent(agent), workerId: 'w' },
      Buffer.from(toPayload({ agent, revisions: [{ revision: 'v1', runs }] })),
    );
  t.deepEqual(
    shown.of(() => true),
    [{ agent, workerId: 'w', revisions: [{ revision: 'v1', runs: 9999 }] }],
  );
  t.deepEqual(
    shown.of((workerId) => workerId !== 'w'),
    [],
  );
});
