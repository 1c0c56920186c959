import test from 'ava';
import OpenAI from 'openai';
import { serveOpenai } from './service.ts';

const service = serveOpenai(test);

/** A conversation whose items have these texts. */
async function conversationOf(texts: readonly string[]): Promise<string> {
  const client = service.client();
  const { id } = await client.conversations.create({});
  for (let start = 0; start < texts.length; start += 20)
    await client.conversations.items.create(id, {
      items: texts.slice(start, start + 20).map((content) => ({ type: 'message', role: 'user', content })),
    });
  return id;
}

interface Page {
  readonly data: readonly {
    readonly id: string;
    readonly type: string;
    readonly content?: readonly { text: string }[];
  }[];
  readonly has_more: boolean;
  readonly last_id: string | null;
}

const pageOf = async (id: string, query: Readonly<Record<string, string>>): Promise<Page> => {
  const text = new URLSearchParams(query).toString();
  return (await (await fetch(`${service.url()}/openai/v1/conversations/${id}/items?${text}`)).json()) as Page;
};

const textsOf = ({ data }: Page): (string | undefined)[] => data.map(({ content }) => content?.[0]?.text);

test('items are paged in both orders, and each page begins behind the item that it names', async (t) => {
  const texts = Array.from({ length: 25 }, (_, index) => String(index));
  const id = await conversationOf(texts);
  for (const [order, expected] of [
    ['asc', texts],
    ['desc', texts.toReversed()],
  ] as const) {
    const seen: (string | undefined)[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < 9; pages += 1) {
      const page: Page = await pageOf(id, { order, limit: '10', ...(after !== null && { after }) });
      seen.push(...textsOf(page));
      after = page.last_id;
      t.is(page.has_more, seen.length < texts.length);
      if (!page.has_more) break;
    }
    t.deepEqual(seen, expected);
  }
  t.deepEqual(textsOf(await pageOf(id, { limit: '1' })), ['24']);
});

test('a page behind an item that is none of the conversation is refused', async (t) => {
  const client = service.client();
  const [id, other] = [await conversationOf(['a']), await conversationOf(['b'])];
  const elsewhere = (await pageOf(other, {})).last_id ?? '';
  const asked = await client.responses.create({ model: 'obedient', input: 'hello' });
  for (const after of [
    elsewhere,
    'nonsense',
    id,
    `msg_${'0'.repeat(32)}`,
    `${(await pageOf(id, {})).last_id ?? ''}.7`,
  ]) {
    const error = await t.throwsAsync(async () => client.conversations.items.list(id, { after }), undefined, after);
    t.like(error, { status: 400, code: 'invalid_value', param: 'after' }, after);
  }
  const error = await t.throwsAsync(async () => client.responses.inputItems.list(asked.id, { after: 'msg_other' }));
  t.like(error, { status: 400, param: 'after' });
});

test('a page of large items ends where its bytes do, and the next one goes on', async (t) => {
  const large = 'x'.repeat(1024 * 1024);
  const client = service.client();
  const { id } = await client.conversations.create({});
  for (const mark of ['a', 'b', 'c', 'd', 'e', 'f'])
    await client.conversations.items.create(id, {
      items: [{ type: 'message', role: 'user', content: `${mark}${large}` }],
    });
  const marks: (string | undefined)[] = [];
  let after: string | null = null;
  let pages = 0;
  for (let hasMore = true; hasMore; pages += 1) {
    const page: Page = await pageOf(id, { order: 'asc', limit: '100', ...(after !== null && { after }) });
    t.true(JSON.stringify(page).length < 4.5 * 1024 * 1024);
    marks.push(...textsOf(page).map((text) => text?.[0]));
    ({ has_more: hasMore, last_id: after } = page);
  }
  t.deepEqual(marks, ['a', 'b', 'c', 'd', 'e', 'f']);
  t.true(pages > 1);
});

test('calls and results are read by the ids under which they are listed, and deleted with their message only', async (t) => {
  const client = service.client();
  const { id } = await client.conversations.create({
    items: [
      { type: 'message', role: 'user', content: 'look' },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'I look.', annotations: [] }] as never,
      },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"noon"}' },
      { type: 'function_call', call_id: 'c2', name: 'listen', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'a cat' },
    ],
  });
  const { data } = await pageOf(id, { order: 'asc' });
  t.deepEqual(
    data.map(({ type }) => type),
    ['message', 'message', 'function_call', 'function_call', 'function_call_output'],
  );
  for (const item of data)
    t.deepEqual((await client.conversations.items.retrieve(item.id, { conversation_id: id })) as unknown, item);
  for (const item of data.slice(0, -1)) {
    const rest = await pageOf(id, { order: 'asc', after: item.id });
    t.deepEqual(rest.data, data.slice(data.indexOf(item) + 1));
  }
  const [, spoken, call, , result] = data;
  for (const item of [spoken, call])
    t.like(await t.throwsAsync(client.conversations.items.delete(item?.id ?? '', { conversation_id: id })), {
      status: 400,
      code: 'item_of_message',
    });
  await client.conversations.items.delete(result?.id ?? '', { conversation_id: id });
  t.is((await pageOf(id, {})).data.length, 4);
  const gone = { instanceOf: OpenAI.NotFoundError };
  await t.throwsAsync(client.conversations.items.retrieve(result?.id ?? '', { conversation_id: id }), gone);
  await t.throwsAsync(client.conversations.items.retrieve(`${call?.id ?? ''}9`, { conversation_id: id }), gone);
});
