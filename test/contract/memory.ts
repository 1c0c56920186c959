import { randomUUID } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { errorCodes, isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import { distanceMetrics, retrievalStrategies, type DistanceMetric } from '@agent-workflow/protos/lists';
import type { Memory, SearchRequest, Selection, StoreRequest } from '@agent-workflow/protos/memory';

const owner = 'u:ada';
const call = within(120_000);

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const fromJson = (json: Uint8Array): unknown => JSON.parse(Buffer.from(json).toString());

interface Note extends Partial<Omit<StoreRequest, 'metadataJson'>> {
  readonly metadata?: Readonly<Record<string, unknown>>;
}

interface Query
  extends Partial<Omit<SearchRequest, 'selection' | 'optionsJson'>>, Pick<Selection, 'memoryType' | 'category'> {
  readonly filters?: unknown;
  readonly options?: unknown;
}

let made = 0;

/** Speaks to a memory as the gateway does, with defaults for what a test is not about. */
function speakTo(memory: Memory) {
  const store = async (content: string, { metadata = {}, ...note }: Note = {}): Promise<string> => {
    made += 1;
    const memoryId = `m${String(made).padStart(6, '0')}`;
    const request = {
      owner,
      memoryId,
      content,
      memoryType: 'semantic' as const,
      category: 'notes',
      metadataJson: toJson(metadata),
      ...note,
    };
    return (await memory.store(Object.freeze(request), call)).memoryId;
  };
  const search = async (query: string, { filters, options, memoryType, category, ...rest }: Query = {}) => {
    const request: SearchRequest = Object.freeze({
      owner,
      query,
      selection: Object.freeze({
        ...(memoryType !== undefined && { memoryType }),
        ...(category !== undefined && { category }),
        ...(filters !== undefined && { filtersJson: toJson(filters) }),
      }),
      limit: 10,
      scoreThreshold: 0,
      retrievalStrategy: 'similarity',
      distanceMetric: 'cosine',
      maxTokens: 4000,
      ...(options !== undefined && { optionsJson: toJson(options) }),
      ...rest,
    });
    return (await memory.search(request, call)).results;
  };
  const find = async (query: string, rest: Query = {}): Promise<string[]> =>
    (await search(query, rest)).map(({ content }) => content);
  const vectorOf = async (text: string): Promise<number[]> => {
    const memoryId = await store(text, { owner: 'u:oracle' });
    return fromJson((await memory.get({ owner: 'u:oracle', memoryId }, call)).vectorJson) as number[];
  };
  return { store, search, find, vectorOf };
}

/** Each metric's score by its definition, from the vectors that replies carry. */
const oracle: Readonly<Record<DistanceMetric, (a: readonly number[], b: readonly number[]) => number>> = {
  cosine: (a, b) => (1 + dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))) / 2,
  dot_product: (a, b) => (1 + dot(a, b)) / 2,
  euclidean: (a, b) => 1 / (1 + Math.sqrt(a.reduce((sum, value, i) => sum + (value - (b[i] ?? 0)) ** 2, 0))),
  manhattan: (a, b) => 1 / (1 + a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? 0)), 0)),
};
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

/** What any memory service must do, in process and over the wire. `open` gives an empty one of its own each time. */
export function memoryContract(
  test: TestFn,
  name: string,
  open: () => Promise<AsyncDisposable & { readonly memory: Memory }>,
): void {
  type Run = (t: ExecutionContext, memory: Memory, speak: ReturnType<typeof speakTo>) => Promise<void>;
  const withMemory = (title: string, run: Run): void => {
    test(`${name}: ${title}`, async (t) => {
      await using opened = await open();
      await run(t, opened.memory, speakTo(opened.memory));
    });
  };
  const refuses = async (
    t: ExecutionContext,
    work: Promise<unknown>,
    code: ErrorCode,
    loc?: readonly (string | number)[],
  ) => {
    const error = await t.throwsAsync(work);
    if (!isServiceError(error)) return t.fail(`not one of ${errorCodes.join(', ')}: ${String(error)}`);
    t.is(error.code, code);
    if (loc) t.deepEqual(error.details[0]?.field, loc);
    return undefined;
  };

  withMemory('what is stored comes back whole', async (t, memory, { store }) => {
    const metadata = { tags: ['a', 'b'], deep: { x: null }, constructor: 'kept' };
    const before = Date.now();
    const memoryId = await store('Ada likes ristretto ☕', {
      metadata,
      threadId: 't1',
      category: 'taste',
      memoryType: 'episodic',
    });
    const item = await memory.get({ owner, memoryId }, call);
    t.is(item.content, 'Ada likes ristretto ☕');
    t.deepEqual(
      [item.memoryId, item.memoryType, item.category, item.threadId, item.score],
      [memoryId, 'episodic', 'taste', 't1', 1],
    );
    t.deepEqual(fromJson(item.metadataJson), metadata);
    t.true(item.timestamp >= before && item.timestamp <= Date.now());
    const vector = fromJson(item.vectorJson) as number[];
    t.true(Math.abs(dot(vector, vector) - 1) < 1e-4);
  });

  withMemory('storing the same id again is answered alike and changes nothing', async (t, memory, { store }) => {
    t.is(await store('first', { memoryId: 'same' }), 'same');
    t.is(await store('second', { memoryId: 'same' }), 'same');
    t.is((await memory.get({ owner, memoryId: 'same' }, call)).content, 'first');
  });

  withMemory('what is stored with dedupe is stored once, until it is changed', async (t, memory, { store }) => {
    const first = await store('tea at four', { dedupe: true });
    t.is(await store('tea at four', { dedupe: true }), first);
    t.deepEqual(
      await Promise.all(Array.from({ length: 8 }, async () => store('tea at four', { dedupe: true }))),
      Array.from({ length: 8 }, () => first),
    );
    const others = [
      await store('tea at five', { dedupe: true }),
      await store('tea at four', { dedupe: true, category: 'x' }),
      await store('tea at four', { dedupe: true, threadId: 't1' }),
      await store('tea at four', { dedupe: true, memoryType: 'episodic' }),
      await store('tea at four'),
    ];
    t.is(new Set([first, ...others]).size, 6);
    const foreign = await store('tea at four', { dedupe: true, owner: 'u:bob' });
    t.is((await memory.get({ owner: 'u:bob', memoryId: foreign }, call)).content, 'tea at four');
    await memory.update({ owner, memoryId: first, content: 'no tea' }, call);
    const again = await store('tea at four', { dedupe: true });
    t.not(again, first);
    t.is((await memory.list({ owner, selection: {}, limit: 1, offset: 0 }, call)).total, 7);
    await memory.delete({ owner, memoryId: first }, call);
    t.is(await store('tea at four', { dedupe: true }), first);
  });

  withMemory('a foreign id and an absent one are refused alike', async (t, memory, { store }) => {
    await store('hers', { memoryId: 'one' });
    const messageOf = async (who: string, memoryId: string): Promise<string> => {
      const error = await t.throwsAsync(memory.get({ owner: who, memoryId }, call));
      return error.message.replace(memoryId, '…');
    };
    t.is(await messageOf('u:bob', 'one'), await messageOf(owner, 'two'));
    const key = { owner: 'u:bob', memoryId: 'one' };
    await refuses(t, memory.get(key, call), 'NotFound');
    await refuses(t, memory.update({ ...key, content: 'his' }, call), 'NotFound');
    await refuses(t, memory.delete(key, call), 'NotFound');
    t.is((await memory.get({ owner, memoryId: 'one' }, call)).content, 'hers');
  });

  withMemory('an update embeds anew and merges the metadata', async (t, memory, { store, find }) => {
    const memoryId = await store('drinks tea', { metadata: { kept: 1, changed: 1 } });
    const before = await memory.get({ owner, memoryId }, call);
    const updated = await memory.update(
      { owner, memoryId, content: 'plays chess', metadataJson: toJson({ changed: 2, __proto__x: 3 }) },
      call,
    );
    t.deepEqual(fromJson(updated.metadataJson), { kept: 1, changed: 2, __proto__x: 3 });
    t.notDeepEqual(fromJson(updated.vectorJson), fromJson(before.vectorJson));
    t.deepEqual(await find('chess', { scoreThreshold: 0.6 }), ['plays chess']);
    const again = await memory.update({ owner, memoryId, content: 'plays go' }, call);
    t.deepEqual(fromJson(again.metadataJson), { kept: 1, changed: 2, __proto__x: 3 });
    t.is(again.memoryType, 'semantic');
  });

  withMemory('a deleted memory is gone, and deleting it again is refused', async (t, memory, { store, find }) => {
    const memoryId = await store('to be gone');
    t.deepEqual(await memory.delete({ owner, memoryId }, call), {});
    t.deepEqual(await find('to be gone'), []);
    await refuses(t, memory.delete({ owner, memoryId }, call), 'NotFound');
  });

  /** A request whose outcome its caller may not know, sent as often as a test asks. */
  interface Repeat {
    readonly method: string;
    readonly prepare: (memory: Memory, speak: ReturnType<typeof speakTo>) => Promise<Send>;
    /** What somebody else does meanwhile: undone, or seen in a reply, if the request were done again. */
    readonly meddle: (memory: Memory, speak: ReturnType<typeof speakTo>) => Promise<unknown>;
  }
  type Send = (naming: { readonly attemptId?: string; readonly onceKey?: string }) => Promise<unknown>;
  const storeNamed = async ({ store }: ReturnType<typeof speakTo>, memoryId: string): Promise<unknown> =>
    store('again', { memoryId, category: 'going', metadata: { from: 'store' } });
  const repeats: readonly Repeat[] = [
    {
      method: 'update',
      prepare: async (memory, speak) => {
        await storeNamed(speak, 'one');
        const update = { owner, memoryId: 'one', content: 'first', metadataJson: toJson({ by: 'first' }) };
        return async (naming) => memory.update({ ...update, ...naming }, call);
      },
      meddle: async (memory) =>
        memory.update({ owner, memoryId: 'one', content: 'second', metadataJson: toJson({ by: 'second' }) }, call),
    },
    {
      method: 'update of what is removed meanwhile',
      prepare: async (memory, speak) => {
        await storeNamed(speak, 'one');
        return async (naming) => memory.update({ owner, memoryId: 'one', content: 'first', ...naming }, call);
      },
      meddle: async (memory) => memory.delete({ owner, memoryId: 'one' }, call),
    },
    {
      method: 'delete',
      prepare: async (memory, speak) => {
        await storeNamed(speak, 'one');
        return async (naming) => memory.delete({ owner, memoryId: 'one', ...naming }, call);
      },
      meddle: async (_, speak) => storeNamed(speak, 'one'),
    },
    {
      method: 'forget',
      prepare: async (memory, speak) => {
        for (const id of ['one', 'two']) await storeNamed(speak, id);
        const selection = { category: 'going' };
        return async (naming) => memory.forget({ owner, selection, all: false, ...naming }, call);
      },
      meddle: async (_, speak) => {
        for (const id of ['two', 'three']) await storeNamed(speak, id);
      },
    },
    {
      method: 'forget of nothing',
      prepare: async (memory) => {
        const selection = { category: 'going' };
        return async (naming) => memory.forget({ owner, selection, all: false, ...naming }, call);
      },
      meddle: async (_, speak) => storeNamed(speak, 'one'),
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

  for (const { method, prepare, meddle } of repeats) {
    withMemory(`${method} sent many times as one attempt has its effect once`, async (t, memory, speak) => {
      const send = await prepare(memory, speak);
      const naming = { attemptId: randomUUID() };
      const replies = await Promise.all(Array.from({ length: 5 }, async () => plain(await send(naming))));
      const after = await seen(memory);
      for (const reply of [...replies, plain(await send(naming))]) t.deepEqual(reply, replies[0]);
      t.deepEqual(await seen(memory), after);
    });

    withMemory(`${method} sent again after another write leaves that write alone`, async (t, memory, speak) => {
      const send = await prepare(memory, speak);
      const naming = { attemptId: randomUUID() };
      const first = plain(await send(naming));
      await meddle(memory, speak);
      const after = await seen(memory);
      for (const _ of [1, 2]) t.deepEqual(plain(await send(naming)), first);
      t.deepEqual(await seen(memory), after);
    });

    withMemory(`${method} of one key is done once, whatever its attempts are called`, async (t, memory, speak) => {
      const send = await prepare(memory, speak);
      const onceKey = randomUUID();
      const first = plain(await send({ onceKey, attemptId: randomUUID() }));
      await meddle(memory, speak);
      const after = await seen(memory);
      t.deepEqual(plain(await send({ onceKey, attemptId: randomUUID() })), first);
      t.deepEqual(await seen(memory), after);
    });
  }

  test(`${name}: whatever changes are sent again, and whenever, the memories are as if each had come once`, async (t) => {
    t.timeout(120_000);
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

  withMemory('a list pages newest first, by offset and by cursor, and counts all', async (t, memory, { store }) => {
    for (let n = 0; n < 7; n += 1) await store(`note ${String(n)}`, { category: n === 3 ? 'other' : 'notes' });
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await memory.list(
        { owner, selection: { category: 'notes' }, limit: 4, offset: 0, ...(cursor && { cursor }) },
        call,
      );
      t.is(page.total, 6);
      pages.push(page.memories.map(({ content }) => content));
      cursor = page.cursor;
    } while (cursor !== undefined);
    t.deepEqual(pages, [
      ['note 6', 'note 5', 'note 4', 'note 2'],
      ['note 1', 'note 0'],
    ]);
    const second = await memory.list({ owner, selection: {}, limit: 2, offset: 1 }, call);
    t.deepEqual(
      second.memories.map(({ content, score }) => [content, score]),
      [
        ['note 5', 1],
        ['note 4', 1],
      ],
    );
    await refuses(t, memory.list({ owner, selection: {}, limit: 2, offset: 0, cursor: 'bogus' }, call), 'Invalid', [
      'cursor',
    ]);
    await refuses(t, memory.list({ owner, selection: {}, limit: 0, offset: 0 }, call), 'Invalid', ['limit']);
    await refuses(t, memory.list({ owner, selection: {}, limit: 2, offset: -1 }, call), 'Invalid', ['offset']);
  });

  withMemory(
    'forget removes what matches and says which; nothing that narrows is refused',
    async (t, memory, { store }) => {
      const keep = await store('keep', { category: 'a', metadata: { old: false } });
      const gone = [
        await store('x', { category: 'a', metadata: { old: true } }),
        await store('y', { category: 'a', metadata: { old: true } }),
      ];
      await store('not mine', { owner: 'u:bob', category: 'a', metadata: { old: true } });
      await refuses(t, memory.forget({ owner, selection: {}, all: false }, call), 'Invalid');
      await refuses(t, memory.forget({ owner, selection: { filtersJson: toJson({}) }, all: false }, call), 'Invalid');
      const selection = { category: 'a', filtersJson: toJson({ old: true }) };
      t.deepEqual([...(await memory.forget({ owner, selection, all: false }, call)).memoryIds].sort(), gone);
      t.deepEqual((await memory.forget({ owner, selection, all: false }, call)).memoryIds, []);
      await store('of a thread', { threadId: 't1' });
      t.is((await memory.forget({ owner, selection: { threadId: 't1' }, all: false }, call)).memoryIds.length, 1);
      t.deepEqual((await memory.forget({ owner, selection: {}, all: true }, call)).memoryIds, [keep]);
      t.is((await memory.list({ owner: 'u:bob', selection: {}, limit: 10, offset: 0 }, call)).total, 1);
    },
  );

  withMemory(
    'similarity finds and scores as a look at every vector does, with each metric',
    async (t, memory, { store, search, vectorOf }) => {
      const word = fc.constantFrom('river', 'stone', 'coffee', 'morning', 'piano', 'ünïcode', '北京', 'a', '!');
      const text = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '));
      const example = fc.record({
        contents: fc.array(text, { minLength: 1, maxLength: 12 }),
        query: text,
        limit: fc.integer({ min: 1, max: 15 }),
        metric: fc.constantFrom(...distanceMetrics),
      });
      await fc.assert(
        fc.asyncProperty(example, async ({ contents, query, limit, metric }) => {
          made += 1;
          const space = `u:${String(made)}`;
          for (const content of contents) await store(content, { owner: space });
          const wanted = await vectorOf(query);
          const all = (await memory.list({ owner: space, selection: {}, limit: 100, offset: 0 }, call)).memories;
          const scoreOf = (json: Uint8Array): number => oracle[metric](wanted, fromJson(json) as number[]);
          const expected = all
            .map(({ vectorJson }) => scoreOf(vectorJson))
            .sort((a, b) => b - a)
            .slice(0, limit);
          const results = await search(query, { owner: space, limit, distanceMetric: metric, maxTokens: 1e6 });
          t.is(results.length, expected.length);
          for (const [index, { score, vectorJson }] of results.entries()) {
            t.true(Math.abs(score - (expected[index] ?? NaN)) < 1e-3, `${String(score)} at ${String(index)}`);
            t.true(Math.abs(score - scoreOf(vectorJson)) < 1e-3);
          }
          const threshold = results[Math.floor(results.length / 2)]?.score ?? 0;
          const passing = await search(query, {
            owner: space,
            limit,
            distanceMetric: metric,
            maxTokens: 1e6,
            scoreThreshold: threshold,
          });
          t.deepEqual(
            passing.map(({ memoryId }) => memoryId),
            results.filter(({ score }) => score >= threshold).map(({ memoryId }) => memoryId),
          );
        }),
        { numRuns: 40 },
      );
    },
  );

  withMemory(
    'a fact is found by a question that shares only some of its words',
    async (t, _, { store, search, find }) => {
      for (const content of [
        'My favourite colour is teal',
        'The train to Lyon leaves at nine',
        'Grandmother baked rye bread',
      ])
        await store(content);
      for (const retrievalStrategy of retrievalStrategies) {
        t.is(
          (await find('which colour do I like?', { retrievalStrategy }))[0] ?? '',
          retrievalStrategy === 'temporal' ? 'Grandmother baked rye bread' : 'My favourite colour is teal',
        );
        const results = await search('when does the train leave', { retrievalStrategy });
        t.true(results.length > 0);
        for (const { score, metadataJson } of results) {
          t.true(score >= 0 && score <= 1);
          t.deepEqual(fromJson(metadataJson), {});
        }
      }
    },
  );

  withMemory('temporal is newest first among those that reach the threshold', async (t, _, { store, find, search }) => {
    for (const content of ['green tea', 'black tea', 'a long walk by the sea', 'tea with milk']) await store(content);
    t.deepEqual(await find('tea', { retrievalStrategy: 'temporal', limit: 2 }), [
      'tea with milk',
      'a long walk by the sea',
    ]);
    t.deepEqual(await find('tea', { retrievalStrategy: 'temporal', limit: 2, scoreThreshold: 0.6 }), [
      'tea with milk',
      'black tea',
    ]);
    const results = await search('tea', { retrievalStrategy: 'temporal', scoreThreshold: 0.6 });
    t.true(results.every(({ score }) => score >= 0.6));
  });

  withMemory('relevance weighs similarity, recency and importance as asked', async (t, _, { store, find }) => {
    await store('tea is important', { metadata: { importance: 1 } });
    await store('tea is trivial', { metadata: { importance: 0 } });
    await store('unrelated words entirely', { metadata: { importance: 0.9 } });
    t.deepEqual((await find('tea is', { retrievalStrategy: 'relevance' }))[0], 'tea is important');
    const weights = { similarity: 0, recency: 0, importance: 1 };
    t.deepEqual(await find('tea', { retrievalStrategy: 'relevance', options: { weights } }), [
      'tea is important',
      'unrelated words entirely',
      'tea is trivial',
    ]);
  });

  withMemory('hybrid puts words and vectors together', async (t, _, { store, search, find }) => {
    for (const content of [
      'error code E1234 in the boiler',
      'the boiler is warm',
      'codes of conduct',
      'a quiet evening',
    ])
      await store(content);
    t.is((await find('E1234', { retrievalStrategy: 'hybrid' }))[0], 'error code E1234 in the boiler');
    const words = await search('boiler', { retrievalStrategy: 'hybrid', options: { alpha: 0 }, scoreThreshold: 0.01 });
    t.deepEqual(words.map(({ content }) => content).sort(), ['error code E1234 in the boiler', 'the boiler is warm']);
    const vectors = await search('boiler', { retrievalStrategy: 'hybrid', options: { alpha: 1 } });
    const similar = await search('boiler');
    t.deepEqual(
      vectors.map(({ content, score }) => [content, score]),
      similar.map(({ content, score }) => [content, score]),
    );
    t.deepEqual(
      await find('" OR * NEAR(', { retrievalStrategy: 'hybrid', limit: 0 + 1 }).then((found) => found.length),
      1,
    );
  });

  withMemory(
    'graph_traversal goes along relationships, scores falling with each step, cycles and all',
    async (t, _, { store, search }) => {
      const entity = async (name: string, content: string) =>
        store(content, { memoryType: 'entity', metadata: { name } });
      await entity('Ada', 'Ada Lovelace wrote programs');
      await entity('Engine', 'machine of brass wheels');
      const museum = await store('big house full of old things', { memoryType: 'semantic' });
      await store('nothing to do with it');
      const relate = async (source: string, target: string) =>
        store(`${source} > ${target}`, { memoryType: 'relationship', metadata: { source, target } });
      await relate('ada', 'Engine');
      await relate('Engine', museum);
      await relate(museum, 'Ada');
      await relate('Engine', 'somewhere unknown');
      const walk = async (depth: number) =>
        search('Ada Lovelace programs', { retrievalStrategy: 'graph_traversal', options: { depth, seeds: 1 } });
      t.deepEqual(
        (await walk(0)).map(({ content }) => content),
        ['Ada Lovelace wrote programs'],
      );
      const two = new Map((await walk(2)).map(({ content, score }) => [content, score]));
      t.is(two.size, 7);
      const score = (content: string): number => two.get(content) ?? NaN;
      t.true(score('Ada Lovelace wrote programs') > score('machine of brass wheels'));
      t.true(score('machine of brass wheels') > score('Engine > somewhere unknown'));
      t.false(two.has('nothing to do with it'));
      t.deepEqual((await walk(10)).length, 7);
      const only = await search('Ada Lovelace programs', {
        retrievalStrategy: 'graph_traversal',
        memoryType: 'entity',
        options: { depth: 1, seeds: 1 },
      });
      t.deepEqual(
        only.map(({ content }) => content),
        ['Ada Lovelace wrote programs', 'machine of brass wheels'],
      );
    },
  );

  withMemory('filters match as written', async (t, _, { store, find }) => {
    await store('a', { metadata: { n: 1, s: 'x', tags: ['p', 'q'], ok: true }, threadId: 't1' });
    await store('b', { metadata: { n: 2, s: 'y', none: null } });
    await store('c', { metadata: { n: '2', deep: { k: [1] } }, category: 'other' });
    const cases: readonly [filters: unknown, found: string][] = [
      [{}, 'abc'],
      [{ n: 2 }, 'b'],
      [{ n: '2' }, 'c'],
      [{ ok: true }, 'a'],
      [{ s: null }, ''],
      [{ none: null }, 'b'],
      [{ none: { $in: [null] } }, 'b'],
      [{ tags: ['p', 'q'] }, 'a'],
      [{ deep: { k: [1] } }, 'c'],
      [{ n: { $gt: 1 } }, 'b'],
      [{ n: { $gte: 1, $lt: 2 } }, 'a'],
      [{ n: { $lte: 2 } }, 'ab'],
      [{ s: { $gt: 'x' } }, 'b'],
      [{ n: { $ne: 2 } }, 'ac'],
      [{ none: { $ne: null } }, 'ac'],
      [{ n: { $in: [1, '2'] } }, 'ac'],
      [{ n: { $in: [] } }, ''],
      [{ thread_id: 't1' }, 'a'],
      [{ category: { $in: ['other'] } }, 'c'],
      [{ memory_type: { $ne: 'semantic' } }, ''],
      [{ constructor: null }, ''],
      [{ __proto__: null, hasOwnProperty: { $ne: 1 } }, 'abc'],
      [JSON.parse('{"__proto__": {"x": 1}}'), ''],
      [{ n: 2, s: 'x' }, ''],
    ];
    for (const [filters, expected] of cases) {
      for (const retrievalStrategy of retrievalStrategies.slice(0, 4)) {
        const found = (await find('a b c', { filters, retrievalStrategy })).sort().join('');
        t.is(found, expected, `${JSON.stringify(filters)} ${retrievalStrategy}`);
      }
    }
  });

  withMemory('what filters name and ask for is never more than a text', async (t, memory, { store, find }) => {
    const texts = [
      '"}) { x } } }',
      'a" OR "1"="1',
      '\\',
      '*',
      'any',
      '$gt2',
      'path: ["owner"]',
      '\u0000',
      'a\nb',
      '__proto__x',
      '🧠',
      ' ',
      '',
    ];
    for (const [place, text] of texts.entries()) await store(`note ${String(place)}`, { metadata: { [text]: text } });
    await store('plain', { metadata: { other: 1 } });
    await store('hers', { owner: 'u:bob', metadata: { [texts[0] ?? '']: texts[0] } });
    for (const [place, text] of texts.entries()) {
      if (text.startsWith('$')) continue;
      t.deepEqual(await find('note', { filters: { [text]: text } }), [`note ${String(place)}`], JSON.stringify(text));
      t.deepEqual(await find('note', { filters: { [text]: { $in: [text] } } }), [`note ${String(place)}`]);
      t.deepEqual(await find('note', { filters: { other: text } }), []);
      t.deepEqual(await find('note', { category: text, filters: { owner: 'u:bob' } }), []);
    }
    t.is((await memory.list({ owner, selection: {}, limit: 1, offset: 0 }, call)).total, texts.length + 1);
  });

  withMemory('a memory with very many fields is found by each of them', async (t, _, { store, find }) => {
    await store('few', { metadata: { f7: 7, f8: 7 } });
    await store('many', {
      metadata: Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`f${String(n)}`, n])),
    });
    t.deepEqual((await find('x', { filters: { f7: 7 } })).sort(), ['few', 'many']);
    t.deepEqual(await find('x', { filters: { f8: 7 } }), ['few']);
    t.deepEqual(await find('x', { filters: { f399: 399 } }), ['many']);
  });

  withMemory('max_tokens leaves out what does not fit, but never the best', async (t, memory, { store, search }) => {
    const example = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
      maxTokens: fc.integer({ min: 0, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(example, async ({ sizes: words, maxTokens }) => {
        made += 1;
        const space = `u:${String(made)}`;
        for (const count of words) await store('é'.repeat(count), { owner: space });
        const all = await search('é', { owner: space, maxTokens: 1e6 });
        t.is(all.length, words.length);
        let left = maxTokens;
        const fitting = all.filter(({ content }, index) => {
          const tokens = Math.ceil(Buffer.byteLength(content) / 4);
          const fits = index === 0 || tokens <= left;
          if (fits) left -= tokens;
          return fits;
        });
        const found = await search('é', { owner: space, maxTokens });
        t.deepEqual(
          found.map(({ memoryId }) => memoryId),
          fitting.map(({ memoryId }) => memoryId),
        );
      }),
      { numRuns: 25 },
    );
    t.is((await memory.list({ owner, selection: {}, limit: 1, offset: 0 }, call)).total, 0);
  });

  withMemory('an empty query gives the newest that pass, each with score 1', async (t, _, { store, search }) => {
    for (const content of ['one', 'two', 'three']) await store(content, { category: content === 'two' ? 'x' : 'y' });
    t.deepEqual(
      (await search(' ', { category: 'y' })).map(({ content, score }) => [content, score]),
      [
        ['three', 1],
        ['one', 1],
      ],
    );
  });

  withMemory('a value that is not of its list is refused', async (t, _, { store, search }) => {
    await refuses(t, store('text', { memoryType: 'constructor' as never }), 'Invalid');
    await refuses(t, search('tea', { retrievalStrategy: 'toString' as never }), 'Invalid');
    await refuses(t, search('tea', { distanceMetric: 'hamming' as never }), 'Invalid');
    await refuses(t, search('tea', { memoryType: 'nope' as never }), 'Invalid');
  });

  withMemory('each field out of range is refused by its name', async (t, memory, { store, search }) => {
    await store('something');
    const stores: readonly [Note & { readonly content?: string }, readonly string[]][] = [
      [{ content: '' }, ['content']],
      [{ content: ' \n\t' }, ['content']],
      [{ content: 'é'.repeat(sizes.memory / 2) + '!' }, ['content']],
      [{ category: 'c'.repeat(257) }, ['category']],
      [{ metadata: [] as never }, ['metadata']],
      [{ metadata: { large: 'x'.repeat(sizes.memory) } }, ['metadata']],
      [{ content: 'x'.repeat(1024 * 1024) }, ['content']],
    ];
    for (const [{ content = 'text', ...note }, loc] of stores) await refuses(t, store(content, note), 'Invalid', loc);
    const searches: readonly [Query, readonly string[]][] = [
      [{ limit: 0 }, ['limit']],
      [{ maxTokens: -1 }, ['maxTokens']],
      [{ scoreThreshold: NaN }, ['scoreThreshold']],
      [{ filters: [] }, ['filters']],
      [{ filters: { a: { $regex: 'x' } } }, ['filters', 'a', '$regex']],
      [{ filters: { a: { $gt: 1, b: 2 } } }, ['filters', 'a', 'b']],
      [{ filters: { $or: [{ a: 1 }] } }, ['filters', '$or']],
      [{ filters: { a: { $not: { $gt: 1 } } } }, ['filters', 'a', '$not']],
      [{ filters: { a: { $ne: { $gt: 1 } } } }, ['filters', 'a', '$ne', '$gt']],
      [{ filters: { a: { b: { $gt: 1 } } } }, ['filters', 'a', '$gt']],
      [{ filters: { a: { $in: 1 } } }, ['filters', 'a', '$in']],
      [{ filters: { a: { $gt: [] } } }, ['filters', 'a', '$gt']],
      [{ options: { depth: 11 } }, ['options', 'depth']],
      [{ options: { alpha: '1' } }, ['options', 'alpha']],
      [{ options: { weights: { recency: -1 } } }, ['options', 'weights', 'recency']],
    ];
    for (const [query, loc] of searches) await refuses(t, search('text', query), 'Invalid', loc);
    await refuses(t, search('x'.repeat(sizes.memory + 1)), 'Invalid', ['query']);
    t.is((await memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call)).total, 1);
  });

  withMemory('a page too heavy for one reply goes on with its cursor', async (t, memory, { store }) => {
    const heavy = 'x '.repeat(sizes.memory / 2);
    const metadata = { large: 'y'.repeat(sizes.memory - 100) };
    for (let n = 0; n < 120; n += 1) await store(heavy.slice(n), { metadata });
    const ids = new Set<string>();
    let pages = 0;
    for (let cursor: string | undefined; ; pages += 1) {
      const page = { limit: 1000, offset: 0, ...(cursor !== undefined && { cursor }) };
      const reply = await memory.list({ owner, selection: {}, ...page }, call);
      for (const { memoryId } of reply.memories) ids.add(memoryId);
      const bytes = reply.memories.reduce(
        (sum, { content, metadataJson }) => sum + content.length + metadataJson.length,
        0,
      );
      t.true(bytes <= sizes.page, `${bytes} bytes on one page`);
      ({ cursor } = reply);
      if (cursor === undefined) break;
    }
    t.is(ids.size, 120);
    t.true(pages >= 3);
  });

  withMemory('a call whose deadline has passed does nothing', async (t, memory, { store }) => {
    const memoryId = await store('kept');
    await refuses(t, memory.delete({ owner, memoryId }, within(-1)), 'Timeout');
    t.is((await memory.get({ owner, memoryId }, call)).content, 'kept');
  });
}
