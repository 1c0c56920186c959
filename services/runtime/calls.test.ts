import test from 'ava';
import { createAround, surround } from './calls.ts';
import { ServiceError } from '@agent-workflow/kit/errors';
import { requestContext } from '@agent-workflow/kit/request-context';

interface Numbers {
  readonly double: (request: { readonly number: number }) => Promise<{ readonly number: number }>;
  readonly count: (request: { readonly runId: string }) => AsyncIterable<object>;
}

const numbers: Numbers = {
  double: async ({ number }) => {
    if (number < 0) throw new ServiceError('Invalid', 'too small');
    return Promise.resolve({ number: number * 2 });
  },
  async *count({ runId }) {
    for (let number = 1; number <= 3; number++) {
      await Promise.resolve();
      yield { number, runId: requestContext().runId };
    }
    throw new ServiceError('Unavailable', `${runId} is gone`);
  },
};

function observedNumbers(): { readonly service: Numbers; readonly ends: readonly string[] } {
  const ends: string[] = [];
  const around = createAround({
    kind: 'server',
    observe: (method) => (code, isStream) => void ends.push(`${method} ${code}${isStream ? ' stream' : ''}`),
  });
  return { service: surround('numbers', numbers, around), ends };
}

test('each call is observed once, with how it ended, and answers as it would have', async (t) => {
  const { service, ends } = observedNumbers();
  t.deepEqual(await service.double({ number: 2 }), { number: 4 });
  await t.throwsAsync(service.double({ number: -1 }), { code: 'Invalid' });
  t.deepEqual(ends, ['numbers.double ok', 'numbers.double Invalid']);
});

test('a stream that fails has its items first, each made in the context of its request', async (t) => {
  const { service, ends } = observedNumbers();
  const items: object[] = [];
  await t.throwsAsync(
    async () => {
      for await (const item of service.count({ runId: 'r' })) items.push(item);
    },
    { code: 'Unavailable' },
  );
  t.deepEqual(
    items,
    [1, 2, 3].map((number) => ({ number, runId: 'r' })),
  );
  t.deepEqual(ends, ['numbers.count Unavailable stream']);
});

test('a stream that its reader leaves has ended well, and ends the service’s own', async (t) => {
  const { service, ends } = observedNumbers();
  for await (const _item of service.count({ runId: 'r' })) break;
  t.deepEqual(ends, ['numbers.count ok stream']);
});
