import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Execution, FollowRequest, RunEvent } from '@agent-workflow/protos/execution';
import test from 'ava';
import { retryingExecution } from './retrying-execution.ts';

const event = (seq: number): RunEvent => ({ seq, kind: 'messages_chunk', at: 1, data: Buffer.from('{}') });
const request = { owner: 'anon', runId: 'r' };

/** Of an execution service, what is asked here. */
const serviceOf = (methods: Pick<Execution, 'wait'> | Pick<Execution, 'follow'>): Execution =>
  retryingExecution(methods as Execution);

async function numbersOf(service: Execution, after = 0, signal?: AbortSignal): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { events } of service.follow({ ...request, after }, within(5000, signal)))
    numbers.push(...events.map(({ seq }) => seq));
  return numbers;
}

test('whoever waits for a run hears of its end although the replicas that were asked went away', async (t) => {
  const failures = [
    unavailable('a needed service is unavailable'),
    new ServiceError('Cancelled', 'the server ended the call'),
  ];
  const service = serviceOf({
    wait: async () => {
      const failure = failures.shift();
      if (failure) throw failure;
      return event(7);
    },
  });
  t.is((await service.wait(request, within(5000))).seq, 7);
});

test('a run is followed on after the last event that a replica gave before it went away', async (t) => {
  const asked: FollowRequest[] = [];
  const service = serviceOf({
    async *follow(given) {
      asked.push(given);
      yield { events: [event(given.after + 1), event(given.after + 2)] };
      if (asked.length < 3) throw unavailable('a needed service is unavailable');
    },
  });
  t.deepEqual(await numbersOf(service, 4), [5, 6, 7, 8, 9, 10]);
  t.deepEqual(
    asked.map(({ after }) => after),
    [4, 6, 8],
  );
});

test('what another replica would say as well is said at once', async (t) => {
  let asked = 0;
  const service = serviceOf({
    wait: async () => {
      asked++;
      throw new ServiceError('NotFound', 'run "r" not found');
    },
  });
  await t.throwsAsync(service.wait(request, within(5000)), { code: 'NotFound' });
  t.is(asked, 1);
});

test('nobody is asked again for a caller who went away, or whose time is over', async (t) => {
  let asked = 0;
  const service = serviceOf({
    async *follow() {
      asked++;
      yield { events: [event(asked)] };
      caller.abort();
      throw new ServiceError('Cancelled', 'the caller went away');
    },
  });
  const caller = new AbortController();
  await t.throwsAsync(numbersOf(service, 0, caller.signal), { code: 'Cancelled' });
  t.is(asked, 1);

  const away = serviceOf({ wait: () => Promise.reject(unavailable('a needed service is unavailable')) });
  await t.throwsAsync(away.wait(request, within(300)), { code: 'Unavailable' });
});
