import test from 'ava';
import { createWorkEnds } from './work-ends.ts';

test('the work of a call ends when the service has answered or failed, and at once where it was not called', async (t) => {
  const ended: string[] = [];
  const ends = createWorkEnds();
  const works = [Promise.withResolvers<object>(), Promise.withResolvers<object>()];
  const service = ends.watch({
    work: async ({ index }: { readonly index: number }) => works[index]?.promise,
    refuse: () => {
      throw new Error('refused');
    },
  }) as Readonly<Record<'work' | 'refuse', (request: object) => Promise<object>>>;
  const begin = (index: number): Promise<object> => {
    const request = { index };
    return ends.during(
      request,
      () => ended.push(`work ${String(index)}`),
      () => service.work(request),
    );
  };
  const calls = [begin(0), begin(1)];
  t.deepEqual(ended, []);
  works[1]?.reject(new Error('failed'));
  await t.throwsAsync(async () => calls[1]);
  t.deepEqual(ended, ['work 1']);
  works[0]?.resolve({});
  await calls[0];
  t.deepEqual(ended, ['work 1', 'work 0']);

  const refused = {};
  t.throws(() =>
    ends.during(
      refused,
      () => ended.push('refused'),
      () => service.refuse(refused),
    ),
  );
  ends.during(
    {},
    () => ended.push('not begun'),
    () => undefined,
  );
  t.deepEqual(ended.slice(2), ['refused', 'not begun']);
});
