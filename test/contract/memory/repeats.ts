import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import fc from 'fast-check';
import type { Memory } from '@agent-workflow/protos/memory';
import { call, fromJson, owner, toJson, type MemoryCalls } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { byLoad } from '../../by-load.ts';

/** Requests that are sent again, because their outcome is not known. */
export function repeatTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  for (const { method, prepare, meddle } of repeats) {
    withMemory(`${method} sent many times as one attempt has its effect once`, async (t, memory, calls) => {
      const send = await prepare(memory, calls);
      const naming = { attemptId: randomUUID() };
      const replies = await Promise.all(Array.from({ length: 5 }, async () => plain(await send(naming))));
      const after = await seen(memory);
      for (const reply of [...replies, plain(await send(naming))]) t.deepEqual(reply, replies[0]);
      t.deepEqual(await seen(memory), after);
    });

    withMemory(`${method} sent again after another write leaves that write alone`, async (t, memory, calls) => {
      const send = await prepare(memory, calls);
      const naming = { attemptId: randomUUID() };
      const first = plain(await send(naming));
      await meddle(memory, calls);
      const after = await seen(memory);
      for (const _ of [1, 2]) t.deepEqual(plain(await send(naming)), first);
      t.deepEqual(await seen(memory), after);
    });

    withMemory(`${method} of one key is done once, whatever its attempts are called`, async (t, memory, calls) => {
      const send = await prepare(memory, calls);
      const onceKey = randomUUID();
      const first = plain(await send({ onceKey, attemptId: randomUUID() }));
      await meddle(memory, calls);
      const after = await seen(memory);
      t.deepEqual(plain(await send({ onceKey, attemptId: randomUUID() })), first);
      t.deepEqual(await seen(memory), after);
    });
  }

  test(`${name}: whatever changes are sent again, and whenever, the memories are as if each had come once`, async (t) => {
    t.timeout(byLoad(120_000));
    const id = fc.constantFrom('x', 'y', 'z');
    const change = fc.oneof(
      fc.record({ kind: fc.constant('store'), id }),
      fc.record({ kind: fc.constant('update'), id }),
      fc.record({ kind: fc.constant('delete'), id }),
      fc.record({ kind: fc.constant('forget'), id }),
    );
    const send = async (
      memory: Memory,
      { kind, id: memoryId }: { readonly kind: string; readonly id: string },
      naming: { readonly attemptId: string; readonly nth: number },
    ): Promise<unknown> => {
      const { attemptId, nth } = naming;
      const metadataJson = toJson({ [`n${nth}`]: memoryId });
      const key = { owner, memoryId, attemptId };
      if (kind === 'update') return memory.update({ ...key, content: `update ${nth}`, metadataJson }, call);
      if (kind === 'delete') return memory.delete(key, call);
      if (kind === 'forget')
        return memory.forget({ owner, selection: { category: memoryId }, all: false, attemptId }, call);
      const note = { owner, memoryId, content: 'stored', memoryType: 'semantic', category: memoryId } as const;
      return memory.store({ ...note, metadataJson: toJson({}) }, call);
    };
    const outcomeOf = async (work: Promise<unknown>): Promise<unknown> => work.then(plain, () => 'refused');
    const shape = async (memory: Memory): Promise<unknown> => {
      const { memories } = await memory.list({ owner, selection: {}, limit: 100, offset: 0 }, call);
      const items = memories.map(({ memoryId, content, metadataJson }) => [memoryId, content, fromJson(metadataJson)]);
      return items.sort(([a], [b]) => String(a).localeCompare(String(b)));
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 16 }),
        async (changes, again) => {
          await using repeated = await open();
          await using plainly = await open();
          const sent: { readonly resend: () => Promise<unknown>; readonly reply: unknown }[] = [];
          for (const [nth, each] of changes.entries()) {
            const naming = { attemptId: randomUUID(), nth };
            const resend = async (): Promise<unknown> => outcomeOf(send(repeated.memory, each, naming));
            const reply = await resend();
            await outcomeOf(send(plainly.memory, each, naming));
            if (each.kind !== 'store' && reply !== 'refused') sent.push({ resend, reply });
            for (const one of again.slice(nth * 2, nth * 2 + 2).map((place) => sent[place % sent.length]))
              if (one) t.deepEqual(await one.resend(), one.reply);
          }
          t.deepEqual(await shape(repeated.memory), await shape(plainly.memory));
        },
      ),
      { numRuns: 15 },
    );
    t.pass();
  });
}

/** A request whose outcome its caller may not know, sent as often as a test asks. */
interface Repeat {
  readonly method: string;
  readonly prepare: (memory: Memory, calls: MemoryCalls) => Promise<Send>;
  /** What somebody else does meanwhile: undone, or seen in a reply, if the request were done again. */
  readonly meddle: (memory: Memory, calls: MemoryCalls) => Promise<unknown>;
}
type Send = (naming: { readonly attemptId?: string; readonly onceKey?: string }) => Promise<unknown>;

const storeNamed = async ({ store }: MemoryCalls, memoryId: string): Promise<unknown> =>
  store('again', { memoryId, category: 'going', metadata: { from: 'store' } });
const repeats: readonly Repeat[] = [
  {
    method: 'update',
    prepare: async (memory, calls) => {
      await storeNamed(calls, 'one');
      const update = { owner, memoryId: 'one', content: 'first', metadataJson: toJson({ by: 'first' }) };
      return async (naming) => memory.update({ ...update, ...naming }, call);
    },
    meddle: async (memory) =>
      memory.update({ owner, memoryId: 'one', content: 'second', metadataJson: toJson({ by: 'second' }) }, call),
  },
  {
    method: 'update of what is removed meanwhile',
    prepare: async (memory, calls) => {
      await storeNamed(calls, 'one');
      return async (naming) => memory.update({ owner, memoryId: 'one', content: 'first', ...naming }, call);
    },
    meddle: async (memory) => memory.delete({ owner, memoryId: 'one' }, call),
  },
  {
    method: 'delete',
    prepare: async (memory, calls) => {
      await storeNamed(calls, 'one');
      return async (naming) => memory.delete({ owner, memoryId: 'one', ...naming }, call);
    },
    meddle: async (_, calls) => storeNamed(calls, 'one'),
  },
  {
    method: 'forget',
    prepare: async (memory, calls) => {
      for (const id of ['one', 'two']) await storeNamed(calls, id);
      const selection = { category: 'going' };
      return async (naming) => memory.forget({ owner, selection, all: false, ...naming }, call);
    },
    meddle: async (_, calls) => {
      for (const id of ['two', 'three']) await storeNamed(calls, id);
    },
  },
  {
    method: 'forget of nothing',
    prepare: async (memory) => {
      const selection = { category: 'going' };
      return async (naming) => memory.forget({ owner, selection, all: false, ...naming }, call);
    },
    meddle: async (_, calls) => storeNamed(calls, 'one'),
  },
];

const plain = (value: unknown): unknown =>
  value instanceof Uint8Array
    ? Buffer.from(value).toString()
    : typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]))
      : value;
const seen = async (memory: Memory): Promise<unknown> => {
  const { memories, total } = await memory.list({ owner, selection: {}, limit: 100, offset: 0 }, call);
  return { memories: memories.map(plain), total };
};
