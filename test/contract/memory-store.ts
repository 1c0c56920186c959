import type { ExecutionContext, TestFn } from 'ava';
import type { MemoryHead, MemoryRecord } from '@agent-workflow/memory/ports/memory';
import type { IdempotentRequest, UpdatedMemory } from '@agent-workflow/memory/ports/records';
import type { VectorQuery } from '@agent-workflow/memory/ports/search';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { dialogues } from './memory-languages/dialogue.ts';

/** The dimension that stores are opened with for this suite. */
export const storeDimension = 4;

type Parts = Partial<Omit<MemoryRecord, 'metadataJson' | 'vector'>> & {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly vector?: readonly number[];
};

const owner = 'u:ada';

const toMemory = ({ metadata = {}, vector = [1, 0, 0, 0], ...parts }: Parts & { memoryId: string }): MemoryRecord => ({
  content: 'a note',
  memoryType: 'semantic',
  category: 'notes',
  threadId: '',
  timestamp: 1000,
  vectorJson: Buffer.from(JSON.stringify(vector)),
  ...parts,
  metadataJson: Buffer.from(JSON.stringify(metadata)),
  vector: Float32Array.from(vector),
});

const sentAt = Date.now();

/** Ways to write, each with a text, and queries that find it. */
const writings: readonly (readonly [way: string, content: string, ...queries: string[]])[] = [
  ['Chinese', '我对花生过敏', '花生', '过敏', '对花生过敏吗'],
  ['a Chinese word of one letter', '家里有一只猫很可爱', '猫'],
  ['Japanese', '毎朝コーヒーを飲みます', 'コーヒー', '毎朝飲む', 'ｺｰﾋｰ'],
  ['Thai', 'ฉันแพ้กุ้งและปู', 'กุ้ง', 'แพ้'],
  ['Lao and Khmer', 'ຂ້ອຍມັກກິນເຂົ້າ ខ្ញុំចូលចិត្តកាហ្វេ', 'ເຂົ້າ', 'កាហ្វេ'],
  ['Korean with particles', '나는 커피를 좋아하고 차에서 쉰다', '커피가', '커피', '차'],
  ['German compounds', 'Die Krankenversicherung kostet mehr', 'Versicherung', 'Krankenkasse', 'versicherungen'],
  ['German with sharp s', 'Die Straße ist gesperrt', 'STRASSE', 'strasse'],
  ['full-width letters', '部品番号はＡＢＣ１２３です', 'ABC123', 'abc123', 'ＡＢＣ１２３'],
  ['Latin letters beside Chinese ones', '我用Python写脚本', 'python', 'Python 脚本'],
  ['decomposed letters', 'le cafe\u0301 du coin', 'café', 'CAFÉ', 'cafe'],
  ['composed letters', 'le café du coin', 'cafe\u0301'],
  ['Turkish with dotted and dotless i', 'İSTANBUL ılıman', 'istanbul', 'Istanbul', 'ıstanbul', 'ILIMAN', 'ilıman'],
  ['Turkish endings', 'evlerimizden çıktık', 'evlerin'],
  ['Russian endings', 'ключи лежат у соседки', 'ключ', 'соседка'],
  ['Greek capitals', 'ο δρόμος είναι κλειστός', 'ΔΡΟΜΟΣ'],
  ['Arabic with vowel points and an article', 'القَهْوَةُ بلا سكر', 'القهوة', 'قهوة'],
  ['Persian with joiners', 'می\u200cروم خانه', 'میروم', 'خانه'],
  ['Hindi, whose vowel signs count', 'मुझे मूंगफली से एलर्जी है', 'मूंगफली', 'एलर्जी'],
  ['ligatures', 'the ﬁle oﬀice', 'file', 'office'],
];

const plainUpdate = ({ metadataJson, ...updated }: UpdatedMemory): unknown => ({
  ...updated,
  metadata: JSON.parse(Buffer.from(metadataJson).toString()) as unknown,
});

/** What any memory store must promise, whatever keeps the memories. `open` gives an empty store of its own each time. */
export function memoryStoreContract(test: TestFn, name: string, open: () => Promise<MemoryStore>): void {
  const withStore = (title: string, run: (t: ExecutionContext, store: MemoryStore) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using store = await open();
      await run(t, store);
    });
  };
  const idsOf = (items: readonly { readonly memoryId: string }[]): string[] => items.map(({ memoryId }) => memoryId);
  const near = (query: Partial<VectorQuery>): VectorQuery => ({
    owner,
    narrowing: {},
    limit: 10,
    vector: Float32Array.from([1, 0, 0, 0]),
    measure: 'dot',
    order: 'nearest',
    ...query,
  });

  withStore('a memory comes back as it was put, byte for byte', async (t, store) => {
    const memory = toMemory({
      memoryId: 'm/1 ä',
      content: 'nul \0, quote ", emoji 🧠',
      category: '',
      threadId: 't1',
      metadata: { deep: { list: [1, null, 'x'] } },
      vector: [0.5, -0.5, 0.5, -0.5],
    });
    t.true(await store.put(owner, memory));
    const [found] = await store.get(owner, ['m/1 ä']);
    const plain = ({ vector: _, ...stored }: Partial<MemoryRecord>): unknown => ({
      ...stored,
      metadataJson: Buffer.from(stored.metadataJson ?? []).toString(),
      vectorJson: Buffer.from(stored.vectorJson ?? []).toString(),
    });
    t.deepEqual(plain(found ?? {}), plain(memory));
  });

  withStore('putting an id again changes nothing', async (t, store) => {
    t.true(await store.put(owner, toMemory({ memoryId: 'a', content: 'first' })));
    t.false(await store.put(owner, toMemory({ memoryId: 'a', content: 'second' })));
    t.is((await store.get(owner, ['a']))[0]?.content, 'first');
    t.deepEqual(await store.findByKeywords({ owner, text: 'second', narrowing: {}, limit: 10 }), []);
  });

  withStore('one id put by many at once is put once', async (t, store) => {
    const puts = Array.from({ length: 20 }, async (_, n) =>
      store.put(owner, toMemory({ memoryId: 'a', content: String(n) })),
    );
    t.is((await Promise.all(puts)).filter(Boolean).length, 1);
    t.is((await store.findByVector(near({}))).length, 1);
  });

  withStore('owners share nothing, not even ids', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: 'mine' }));
    await store.put('u:bob', toMemory({ memoryId: 'a', content: 'his' }));
    t.deepEqual(
      (await store.get('u:bob', ['a'])).map(({ content }) => content),
      ['his'],
    );
    t.deepEqual(await store.remove('u:eve', ['a']), { memoryIds: [], count: 0 });
    t.is(await store.update('u:eve', 'a', () => t.fail()), undefined);
    t.is((await store.list({ owner: 'u:eve', narrowing: {}, limit: 10 })).total, 0);
    t.deepEqual(await store.findByVector(near({ owner: 'u:eve' })), []);
    t.deepEqual(await store.findByKeywords({ owner: 'u:bob', text: 'mine', narrowing: {}, limit: 10 }), []);
  });

  withStore('get keeps the order asked for and leaves out what is absent', async (t, store) => {
    for (const memoryId of ['a', 'b', 'c']) await store.put(owner, toMemory({ memoryId }));
    t.deepEqual(idsOf(await store.get(owner, ['c', 'x', 'a'])), ['c', 'a']);
  });

  withStore('what is removed is found by nothing', async (t, store) => {
    for (const memoryId of ['a', 'b', 'c']) await store.put(owner, toMemory({ memoryId, content: `note ${memoryId}` }));
    t.is((await store.findByVector(near({}))).length, 3);
    t.deepEqual(await store.remove(owner, ['a', 'x', 'c']), { memoryIds: ['a', 'c'], count: 2 });
    t.deepEqual(await store.remove(owner, ['a']), { memoryIds: [], count: 0 });
    t.deepEqual(idsOf((await store.list({ owner, narrowing: {}, limit: 10 })).heads), ['b']);
    t.deepEqual(idsOf((await store.findByVector(near({}))).map(({ head }) => head)), ['b']);
    t.deepEqual(
      idsOf((await store.findByKeywords({ owner, text: 'note', narrowing: {}, limit: 10 })).map(({ head }) => head)),
      ['b'],
    );
  });

  withStore('an update is seen by every query, and the old content by none', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: 'tea', vector: [1, 0, 0, 0] }));
    await store.findByVector(near({}));
    const updated = await store.update(owner, 'a', ({ content }) =>
      toMemory({
        memoryId: 'a',
        content: `no ${content} but coffee`,
        vector: [0, 1, 0, 0],
        timestamp: 2000,
        metadata: { hot: true },
      }),
    );
    t.is(updated?.timestamp, 2000);
    t.is((await store.get(owner, ['a']))[0]?.content, 'no tea but coffee');
    t.is((await store.findByVector(near({})))[0]?.distance, 0);
    t.deepEqual((await store.list({ owner, narrowing: {}, limit: 1 })).heads[0]?.metadata, { hot: true });
    t.is((await store.findByKeywords({ owner, text: 'coffee', narrowing: {}, limit: 10 })).length, 1);
    t.is(await store.update(owner, 'x', () => t.fail()), undefined);
  });

  withStore('an update that throws changes nothing', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: 'kept' }));
    const refuse = (): never => {
      throw new RangeError('no');
    };
    await t.throwsAsync(store.update(owner, 'a', refuse));
    t.is((await store.get(owner, ['a']))[0]?.content, 'kept');
    t.is((await store.findByVector(near({}))).length, 1);
  });

  const sent = (id: string, ageMs = 0): IdempotentRequest => ({ id, at: sentAt + ageMs, keptMs: 600_000 });

  withStore('an update that is sent again is applied once, and gives what it left', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: '' }));
    const add = async (word: string, request: IdempotentRequest): Promise<unknown> => {
      const updated = await store.update(
        owner,
        'a',
        ({ content, timestamp }) =>
          toMemory({
            memoryId: 'a',
            content: `${content}${word}`,
            timestamp: timestamp + 1,
            category: word,
            metadata: { word },
          }),
        request,
      );
      return updated && plainUpdate(updated);
    };
    const left = (word: string, timestamp: number): unknown => ({
      memoryId: 'a',
      memoryType: 'semantic',
      category: word,
      threadId: '',
      timestamp,
      metadata: { word },
    });
    t.deepEqual(await add('x', sent('1')), left('x', 1001));
    t.deepEqual(await add('x', sent('1')), left('x', 1001));
    t.is(await store.findUpdated('u:eve', sent('1')), undefined);
    t.deepEqual(await add('y', sent('2')), left('y', 1002));
    for (const _ of [1, 2]) t.deepEqual(await add('x', sent('1')), left('x', 1001));
    t.deepEqual(await add('z', sent('3')), left('z', 1003));
    t.is((await store.get(owner, ['a']))[0]?.content, 'xyz');
    await store.remove(owner, ['a']);
    for (const [id, word, at] of [['1', 'x', 1001] as const, ['2', 'y', 1002] as const, ['3', 'z', 1003] as const]) {
      const found = await store.findUpdated(owner, sent(id));
      t.deepEqual(found && plainUpdate(found), left(word, at));
      t.deepEqual(await add(word, sent(id)), left(word, at));
    }
    t.is(await add('w', sent('4')), undefined);
    t.deepEqual(await store.get(owner, ['a']), []);
  });

  withStore('an update that is sent many times at once is applied once', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: '' }));
    const add = async (n: number): Promise<unknown> => {
      const change = ({ content }: { readonly content: string }): MemoryRecord =>
        toMemory({ memoryId: 'a', content: `${content}${String(n % 3)}` });
      return store.update(owner, 'a', change, sent(String(n % 3)));
    };
    await Promise.all(Array.from({ length: 12 }, (_, n) => add(n)));
    t.deepEqual(Array.from((await store.get(owner, ['a']))[0]?.content ?? '').sort(), ['0', '1', '2']);
  });

  withStore('an update that was refused or found nothing may succeed when it is sent again', async (t, store) => {
    const change = (): MemoryRecord => toMemory({ memoryId: 'a', content: 'changed' });
    t.is(await store.update(owner, 'a', change, sent('1')), undefined);
    await store.put(owner, toMemory({ memoryId: 'a' }));
    const refuse = (): never => {
      throw new RangeError('no');
    };
    await t.throwsAsync(store.update(owner, 'a', refuse, sent('1')));
    t.truthy(await store.update(owner, 'a', change, sent('1')));
    t.is((await store.get(owner, ['a']))[0]?.content, 'changed');
  });

  withStore('a removal that is sent again removes nothing that came since, and says the same', async (t, store) => {
    for (const memoryId of ['a', 'b', 'c']) await store.put(owner, toMemory({ memoryId }));
    const first = await store.remove(owner, ['a', 'x', 'b'], sent('1'));
    t.deepEqual(first, { memoryIds: ['a', 'b'], count: 2 });
    for (const memoryId of ['a', 'd']) await store.put(owner, toMemory({ memoryId }));
    t.deepEqual(await store.remove(owner, ['a', 'c', 'd'], sent('1')), first);
    t.deepEqual(idsOf(await store.get(owner, ['a', 'b', 'c', 'd'])), ['a', 'c', 'd']);
    await store.put('u:eve', toMemory({ memoryId: 'e' }));
    t.deepEqual(await store.remove('u:eve', ['e'], sent('1')), { memoryIds: ['e'], count: 1 });
  });

  withStore('a removal that found nothing stays one that found nothing', async (t, store) => {
    t.deepEqual(await store.remove(owner, [], sent('1')), { memoryIds: [], count: 0 });
    await store.put(owner, toMemory({ memoryId: 'a' }));
    t.deepEqual(await store.remove(owner, ['a'], sent('1')), { memoryIds: [], count: 0 });
    t.is((await store.get(owner, ['a'])).length, 1);
  });

  withStore('removals that are sent many times at once remove each memory for one request', async (t, store) => {
    const ids = Array.from({ length: 6 }, (_, n) => String(n));
    for (const memoryId of ids) await store.put(owner, toMemory({ memoryId }));
    const replies = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => ({
        request: n % 3,
        ...(await store.remove(owner, ids, sent(String(n % 3)))),
      })),
    );
    const counts = [0, 1, 2].map(
      (request) => new Set(replies.filter((r) => r.request === request).map((r) => r.count)),
    );
    t.deepEqual(
      counts.map((each) => each.size),
      [1, 1, 1],
    );
    t.is(
      counts.flatMap((each) => [...each]).reduce((sum, count) => sum + count, 0),
      6,
    );
  });

  withStore('a request is known for its time, and no longer', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: '' }));
    const add = async (ageMs: number): Promise<unknown> => {
      const change = ({ content }: { readonly content: string }): MemoryRecord =>
        toMemory({ memoryId: 'a', content: `${content}x` });
      return store.update(owner, 'a', change, sent('1', ageMs));
    };
    for (const ageMs of [0, 599_000]) await add(ageMs);
    t.is((await store.get(owner, ['a']))[0]?.content, 'x');
    await add(601_000);
    t.is((await store.get(owner, ['a']))[0]?.content, 'xx');
    t.is((await store.remove(owner, ['a'], sent('2'))).count, 1);
    t.is((await store.remove(owner, ['a'], sent('2', 599_000))).count, 1);
    t.is((await store.remove(owner, ['a'], sent('2', 601_000))).count, 0);
  });

  withStore('a removal of more than fits into a page is whole when it is sent again', async (t, store) => {
    const ids = Array.from({ length: 6000 }, (_, n) => `${String(n).padStart(6, '0')}${'é'.repeat(400)}`);
    await store.load(ids.map((memoryId) => ({ owner, memory: toMemory({ memoryId }) })));
    const first = await store.remove(owner, ids, sent('1'));
    t.is(first.count, 6000);
    t.true(first.memoryIds.length > 4000 && first.memoryIds.length < 6000);
    t.deepEqual(await store.remove(owner, [], sent('1')), first);
    t.is((await store.list({ owner, narrowing: {}, limit: 1 })).total, 0);
  });

  withStore('updates of one memory at once all count', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: '' }));
    const add = async (): Promise<unknown> =>
      store.update(owner, 'a', ({ content }) => toMemory({ memoryId: 'a', content: `${content}x` }));
    await Promise.all(Array.from({ length: 10 }, add));
    t.is((await store.get(owner, ['a']))[0]?.content, 'xxxxxxxxxx');
  });

  withStore('a list is newest first, then the greater id, and counts all that pass', async (t, store) => {
    for (const [memoryId, timestamp] of [
      ['a', 5],
      ['b', 7],
      ['c', 5],
      ['d', 9],
    ] as const) {
      await store.put(owner, toMemory({ memoryId, timestamp }));
    }
    const list = async (page: { offset?: number; limit: number; after?: { timestamp: number; memoryId: string } }) => {
      const { heads, total } = await store.list({ owner, narrowing: {}, ...page });
      return [idsOf(heads).join(''), total];
    };
    t.deepEqual(await list({ limit: Infinity }), ['dbca', 4]);
    t.deepEqual(await list({ limit: 2, offset: 1 }), ['bc', 4]);
    t.deepEqual(await list({ limit: 2, after: { timestamp: 5, memoryId: 'c' } }), ['a', 4]);
    t.deepEqual(await list({ limit: 1, offset: 1, after: { timestamp: 9, memoryId: 'd' } }), ['c', 4]);
  });

  withStore('a list without metadata leaves it out, and filters by it all the same', async (t, store) => {
    for (let n = 0; n < 150; n += 1)
      await store.put(owner, toMemory({ memoryId: `m${String(n).padStart(3, '0')}`, timestamp: n, metadata: { n } }));
    const isOdd = ({ metadata }: { readonly metadata: Readonly<Record<string, unknown>> }): boolean =>
      Number(metadata['n']) % 2 === 1;
    const brief = { owner, without: 'metadata' } as const;
    const named = { memoryIds: new Set(['m007', 'm008', 'm009']) };
    const lists = [
      await store.list({ ...brief, narrowing: {}, limit: Infinity }),
      await store.list({ ...brief, narrowing: {}, limit: 3, offset: 100, accepts: undefined }),
      await store.list({ ...brief, narrowing: {}, limit: 3, offset: 1, accepts: isOdd }),
      await store.list({ ...brief, narrowing: named, limit: Infinity, accepts: isOdd }),
    ];
    t.deepEqual(
      lists.map(({ heads, total }) => [heads.length, idsOf(heads.slice(0, 2)), total]),
      [
        [150, ['m149', 'm148'], 150],
        [3, ['m049', 'm048'], 150],
        [3, ['m147', 'm145'], 75],
        [2, ['m009', 'm007'], 2],
      ],
    );
    for (const { heads } of lists) t.true(heads.every(({ metadata }) => Object.keys(metadata).length === 0));
  });

  withStore('narrowing and the last word hold before the limit, in every query', async (t, store) => {
    for (let n = 0; n < 40; n += 1) {
      await store.put(
        owner,
        toMemory({
          memoryId: `m${String(n).padStart(2, '0')}`,
          memoryType: n % 2 ? 'semantic' : 'episodic',
          category: n % 3 ? 'x' : 'y',
          threadId: n % 5 ? '' : 't',
          timestamp: n,
          metadata: { n },
          vector: [Math.cos(n), Math.sin(n), 0, 0],
        }),
      );
    }
    const narrowing = { memoryType: 'episodic', category: 'x' } as const;
    const expected = Array.from({ length: 40 }, (_, n) => n)
      .filter((n) => n % 2 === 0 && n % 3 !== 0 && n > 5)
      .reverse();
    const passes = (head: { readonly metadata: Readonly<Record<string, unknown>> }): boolean =>
      Number(head.metadata['n']) > 5;
    const numbers = (heads: readonly { readonly metadata: Readonly<Record<string, unknown>> }[]): unknown[] =>
      heads.map(({ metadata }) => metadata['n']);

    const list = await store.list({ owner, narrowing, accepts: passes, limit: 3, offset: 1 });
    t.deepEqual(numbers(list.heads), expected.slice(1, 4));
    t.is(list.total, expected.length);
    const newest = await store.findByVector(near({ narrowing, accepts: passes, limit: 3, order: 'newest' }));
    t.deepEqual(numbers(newest.map(({ head }) => head)), expected.slice(0, 3));
    const nearest = await store.findByVector(near({ narrowing, accepts: passes, limit: 2 }));
    const byCosine = expected.toSorted((a, b) => Math.cos(b) - Math.cos(a));
    t.deepEqual(numbers(nearest.map(({ head }) => head)), byCosine.slice(0, 2));
    for (const measure of ['dot', 'euclidean', 'manhattan'] as const) {
      const all = await store.findByVector(near({ narrowing, measure, limit: 100 }));
      const maxDistance = all[4]?.distance ?? NaN;
      const bounded = await store.findByVector(near({ narrowing, measure, maxDistance, limit: 100 }));
      t.deepEqual(bounded, all.slice(0, 5), measure);
      const latest = await store.findByVector(near({ narrowing, measure, maxDistance, limit: 100, order: 'newest' }));
      t.deepEqual(
        latest,
        bounded.toSorted((a, b) => b.head.timestamp - a.head.timestamp),
        measure,
      );
      const bounds = { narrowing, measure, maxDistance, accepts: passes, order: 'newest' } as const;
      t.deepEqual(
        await store.findByVector(near({ ...bounds, limit: 2 })),
        latest.filter(({ head }) => passes(head)).slice(0, 2),
        measure,
      );
    }
    const some = { ...narrowing, metadata: [{ field: 'n', anyOf: [8, 14, 'x'] }] };
    const isSome = (head: { readonly metadata: Readonly<Record<string, unknown>> }): boolean =>
      head.metadata['n'] === 8 || head.metadata['n'] === 14;
    t.deepEqual(numbers((await store.list({ owner, narrowing: some, accepts: isSome, limit: 5 })).heads), [14, 8]);
    const words = await store.findByKeywords({ owner, text: 'note', narrowing, accepts: passes, limit: 3 });
    t.deepEqual(numbers(words.map(({ head }) => head)), expected.slice(0, 3));
    t.is((await store.list({ owner, narrowing: { threadId: 't' }, limit: 1 })).total, 8);
    t.is((await store.list({ owner, narrowing: { threadId: '' }, limit: 1 })).total, 32);
    const named = { memoryIds: new Set(['m01', 'm02', 'gone']), memoryType: 'semantic' } as const;
    t.deepEqual(numbers((await store.list({ owner, narrowing: named, limit: 5 })).heads), [1]);
    t.deepEqual(numbers((await store.findByVector(near({ narrowing: named }))).map(({ head }) => head)), [1]);
  });

  withStore('everything can be read, and put into another store, where what stands stays', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: 'mine', metadata: { n: 1 } }));
    for (let n = 0; n < 250; n += 1) {
      await store.put('u:bob', toMemory({ memoryId: `b${String(n)}`, content: 'his', threadId: 't', timestamp: n }));
    }
    const everything = await Array.fromAsync(store.scan());
    t.is(everything.length, 251);
    const mine = everything.find(({ owner: whose }) => whose === owner)?.memory;
    t.deepEqual([mine?.content, mine?.vector], ['mine', Float32Array.from([1, 0, 0, 0])]);

    await using other = await open();
    await other.put('u:bob', toMemory({ memoryId: 'b7', content: 'changed' }));
    t.is(await other.load(everything), 250);
    t.is(await other.load(everything), 0);
    t.is((await other.list({ owner: 'u:bob', narrowing: { threadId: 't' }, limit: 1 })).total, 249);
    t.is((await other.get('u:bob', ['b7']))[0]?.content, 'changed');
    t.is((await other.findByVector(near({}))).length, 1);
    t.is((await other.findByKeywords({ owner: 'u:bob', text: 'his', narrowing: {}, limit: 1000 })).length, 249);
  });

  withStore('memories of one moment are listed in the order of their ids, however many', async (t, store) => {
    const ids = Array.from({ length: 60 }, (_, n) => (n % 2 ? `A${String(n)}` : `a${String(n)}`));
    const memories = ids.map((memoryId, n) => toMemory({ memoryId, timestamp: n < 50 ? 7 : n }));
    await store.load(memories.map((memory) => ({ owner, memory })));
    const expected = memories
      .toSorted((a, b) => b.timestamp - a.timestamp || (a.memoryId < b.memoryId ? 1 : -1))
      .map(({ memoryId }) => memoryId);
    const seen: string[] = [];
    for (let after: MemoryHead | undefined; seen.length < 60;) {
      const { heads } = await store.list({ owner, narrowing: {}, limit: 7, after });
      after = heads.at(-1);
      seen.push(...idsOf(heads));
    }
    t.deepEqual(seen, expected);
  });

  withStore('each measure gives its own distance', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', vector: [0.6, 0.8, 0, 0] }));
    const distance = async (measure: VectorQuery['measure']): Promise<number> =>
      (await store.findByVector(near({ measure })))[0]?.distance ?? NaN;
    t.true(Math.abs((await distance('dot')) + 0.6) < 1e-6);
    t.true(Math.abs((await distance('euclidean')) - Math.sqrt(0.8)) < 1e-6);
    t.true(Math.abs((await distance('manhattan')) - 1.2) < 1e-6);
  });

  withStore('the memory with more of the rarer words comes first', async (t, store) => {
    const contents = {
      a: 'the cat sat',
      b: 'the dog sat',
      c: 'the cat and the dog',
      d: 'the bird',
      e: 'the fish',
      f: 'the fox',
    };
    for (const [memoryId, content] of Object.entries(contents)) await store.put(owner, toMemory({ memoryId, content }));
    const hits = await store.findByKeywords({ owner, text: 'Cat, DOG?', narrowing: {}, limit: 10 });
    t.is(hits[0]?.head.memoryId, 'c');
    t.is(hits.length, 3);
    t.true(hits.every(({ score }) => score > 0));
  });

  for (const [way, content, ...queries] of writings)
    withStore(`keywords are found in ${way}`, async (t, store) => {
      for (const [place, decoy] of ['an old boat', '今天下雨', 'ฝนตกหนักมาก', '비가 온다', 'дождь идёт'].entries())
        await store.put(owner, toMemory({ memoryId: `d${String(place)}`, content: decoy }));
      await store.put(owner, toMemory({ memoryId: 'it', content }));
      for (const text of queries) {
        const hits = await store.findByKeywords({ owner, text, narrowing: {}, limit: 10 });
        t.is(hits[0]?.head.memoryId, 'it', text);
      }
    });

  withStore('a word of one of 41 Chinese facts finds that fact first', async (t, store) => {
    const facts = dialogues['chinese']?.facts ?? [];
    const others = facts.map((fact) => fact.replaceAll('我', '他').replace('。', '吗？'));
    const all = [...facts, ...others, '周六在体育馆打羽毛球'];
    for (const [place, content] of all.entries())
      await store.put(owner, toMemory({ memoryId: `f${String(place)}`, content }));
    const hits = await store.findByKeywords({ owner, text: '羽毛球', narrowing: {}, limit: 10 });
    t.is(all.length, 41);
    t.is(hits[0]?.head.memoryId, 'f40');
  });

  // Weaviate before 1.38.6 finds only those that were stored before its list of the best was full (weaviate/weaviate#11780).
  withStore('a word that one of many memories has finds it, whatever else they share', async (t, store) => {
    const words = Array.from({ length: 60 }, (_, place) => `parcel${String(place)}x`);
    for (const word of words)
      await store.put(owner, toMemory({ memoryId: word, content: `the harbour keeps ${word} for you` }));
    for (const word of words) {
      const [hit] = await store.findByKeywords({ owner, text: `harbour ${word}`, narrowing: {}, limit: 1 });
      t.is(hit?.head.memoryId, word);
    }
  });

  withStore('what has expired is within no narrowing, and is removed with what others let expire', async (t, store) => {
    const put = async (whose: string, memoryId: string, expiresAt?: number): Promise<boolean> =>
      store.put(whose, toMemory({ memoryId, timestamp: 10, ...(expiresAt !== undefined && { expiresAt }) }));
    for (const [memoryId, expiresAt] of [['old', 100], ['soon', 300], ['never']] as const)
      await put(owner, memoryId, expiresAt);
    for (let place = 0; place < 5; place += 1) await put('u:bob', `old${String(place)}`, 100);
    const narrowing = { aliveAt: 200 };
    const page = { owner, narrowing, limit: 10 };
    const listed = await store.list({ ...page, without: 'metadata' });
    t.deepEqual([idsOf(listed.heads), listed.total], [['soon', 'never'], 2]);
    const filtered = await store.list({ ...page, accepts: () => true });
    t.deepEqual([idsOf(filtered.heads), filtered.total], [['soon', 'never'], 2]);
    t.deepEqual((await store.list({ ...page, limit: 1, offset: 1 })).heads.length, 1);
    for (const order of ['nearest', 'newest'] as const)
      t.deepEqual(idsOf((await store.findByVector(near({ narrowing, order }))).map(({ head }) => head)).sort(), [
        'never',
        'soon',
      ]);
    t.is((await store.findByKeywords({ ...page, text: 'note' })).length, 2);
    const later = await store.update(owner, 'soon', (stored) => toMemory({ ...stored, expiresAt: 400, metadata: {} }));
    t.is(later?.expiresAt, 400);

    await Promise.all([1, 2, 3].map(async () => store.removeExpired(200, (error) => t.fail(String(error)))));
    t.deepEqual(idsOf(await store.get(owner, ['old', 'soon', 'never'])), ['soon', 'never']);
    t.is((await store.list({ owner: 'u:bob', narrowing: {}, limit: 10 })).total, 0);
    await store.removeExpired(350, (error) => t.fail(String(error)));
    t.is((await store.get(owner, ['soon'])).length, 1);
    await store.removeExpired(400, (error) => t.fail(String(error)));
    t.deepEqual(idsOf(await store.get(owner, ['soon', 'never'])), ['never']);
  });

  withStore(
    'the newest are those that tell of the latest time, and a list is in the order of changes',
    async (t, store) => {
      const times = { a: 50, b: undefined, c: 900, d: undefined, e: 10, f: 900 };
      for (const [place, [memoryId, happenedAt]] of Object.entries(times).entries())
        await store.put(
          owner,
          toMemory({ memoryId, timestamp: 100 + place, ...(happenedAt !== undefined && { happenedAt }) }),
        );
      t.deepEqual(idsOf((await store.list({ owner, narrowing: {}, limit: 10 })).heads), ['f', 'e', 'd', 'c', 'b', 'a']);
      const newest = async (query: Partial<VectorQuery>): Promise<string[]> =>
        idsOf((await store.findByVector(near({ order: 'newest', ...query }))).map(({ head }) => head));
      const expected = ['f', 'c', 'd', 'b', 'a', 'e'];
      for (const limit of [1, 2, 3, 5, 10]) {
        t.deepEqual(await newest({ limit }), expected.slice(0, limit));
        t.deepEqual(await newest({ limit, maxDistance: 0 }), expected.slice(0, limit));
        t.deepEqual(
          await newest({ limit, measure: 'manhattan', maxDistance: 1, accepts: () => true }),
          expected.slice(0, limit),
        );
      }
      t.is((await store.get(owner, ['e']))[0]?.happenedAt, 10);
    },
  );

  withStore('no text is a syntax error', async (t, store) => {
    await store.put(owner, toMemory({ memoryId: 'a', content: 'near the café AND "quoted"' }));
    const find = async (text: string): Promise<number> =>
      (await store.findByKeywords({ owner, text, narrowing: {}, limit: 10 })).length;
    for (const text of [
      '"',
      'a" OR "b',
      'NEAR(',
      '* ^',
      'content : x',
      '-',
      "';--",
      '\0',
      '{a}',
      '+',
      '',
      '   ',
      '\ud800',
    ]) {
      await t.notThrowsAsync(find(text), JSON.stringify(text));
    }
    t.is(await find('AND'), 1);
    t.is(await find('CAFE'), 1);
    t.is(await find('"quoted'), 1);
    t.is(await find('!?'), 0);
    t.is(await find(Array.from({ length: 5000 }, (_, n) => `word${String(n)}`).join(' ')), 0);
  });
}
