import test from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, replyText, serve } from './service.ts';

const { send, data, refused, thread } = serve(test);

interface Message {
  readonly checkpoint_id?: string;
  readonly message_id: string;
  readonly role: string;
  readonly content: { readonly type: string; readonly text?: string }[];
}
interface Page {
  readonly messages: Message[];
  readonly cursor?: string;
}

const pathOf = (id: string): string => `/v1/threads/${id}/messages`;

/** A thread with one turn and these messages after it. */
async function threadWith(id: string, ...texts: string[]): Promise<void> {
  await thread(id, 'hello');
  if (texts.length > 0) await send('POST', pathOf(id), { messages: texts.map(user) });
}

test('messages are listed, oldest first', async (t) => {
  await threadWith('listed', 'one');
  const { messages }: Page = await data(t, 'listMessages', send('GET', pathOf('listed')));
  t.deepEqual(messages.map(replyText), ['hello', 'you said hello', 'one']);
});

test('pages by offset and by cursor hold every message once', async (t) => {
  await threadWith('paged', 'one', 'two', 'three');
  const page = (query: string): Promise<Page> => data(t, 'listMessages', send('GET', `${pathOf('paged')}${query}`));
  t.deepEqual((await page('?offset=1&limit=2')).messages.map(replyText), ['you said hello', 'one']);
  const seen: string[] = [];
  let cursor = '';
  do {
    const next = await page(`?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    seen.push(...next.messages.map(replyText));
    cursor = next.cursor ?? '';
  } while (cursor !== '');
  t.deepEqual(seen, ['hello', 'you said hello', 'one', 'two', 'three']);
});

test('?order=desc lists the newest first, page by page', async (t) => {
  await threadWith('reversed', 'one', 'two');
  const page = (query: string): Promise<Page> => data(t, 'listMessages', send('GET', `${pathOf('reversed')}${query}`));
  const first = await page('?order=desc&limit=3');
  t.deepEqual(first.messages.map(replyText), ['two', 'one', 'you said hello']);
  const rest = await page(`?order=desc&limit=3&cursor=${first.cursor ?? ''}`);
  t.deepEqual(rest.messages.map(replyText), ['hello']);
  t.is(rest.cursor, undefined);
});

test('a search matches the text, whatever the case', async (t) => {
  await threadWith('searched', 'The Harbour', 'the hill');
  const { messages }: Page = await data(t, 'listMessages', send('GET', `${pathOf('searched')}?search=HARBOUR`));
  t.deepEqual(messages.map(replyText), ['The Harbour']);
});

test('a search of messages finds composed and decomposed, full-width and ordinary letters alike', async (t) => {
  await threadWith('accents', 'un cafe\u0301 noir', 'Ｒｅｐｏｒｔ');
  for (const [search, text] of [
    ['café', 'un cafe\u0301 noir'],
    ['report', 'Ｒｅｐｏｒｔ'],
  ] as const) {
    const path = `${pathOf('accents')}?search=${encodeURIComponent(search)}`;
    const { messages }: Page = await data(t, 'listMessages', send('GET', path));
    t.deepEqual(messages.map(replyText), [text]);
  }
});

test('added messages come back as they are stored', async (t) => {
  await thread('added');
  const given = [
    { role: 'user', content: 'a text', message_id: 'mine', mood: 'good' },
    { role: 'assistant', content: [{ type: 'hologram', depth: 3 }], message_id: '0' },
  ];
  const added = (await data(
    t,
    'addMessages',
    send('POST', pathOf('added'), { messages: given, metadata: { by: 'test' } }),
  )) as Page & {
    success: boolean;
  };
  t.true(added.success);
  t.like(added.messages[0], { message_id: 'mine', content: [{ type: 'text', text: 'a text' }], mood: 'good' });
  t.deepEqual(added.messages[1]?.content as unknown, [{ type: 'hologram', depth: 3 }]);
  t.regex(added.messages[1]?.message_id ?? '', /^[0-9a-f-]{36}$/);
  const { messages }: Page = await data(t, 'listMessages', send('GET', `${pathOf('added')}?offset=2`));
  t.deepEqual(
    messages.map(({ checkpoint_id: _, ...message }) => message),
    added.messages,
  );
});

test('a message whose id stands in the thread replaces it in place', async (t) => {
  await thread('replaced');
  const put = (content: string) =>
    send('POST', pathOf('replaced'), { messages: [{ ...user(content), message_id: 7 }] });
  await put('first');
  await send('POST', pathOf('replaced'), { messages: [user('after')] });
  await put('second');
  const { messages }: Page = await data(t, 'listMessages', send('GET', pathOf('replaced')));
  t.deepEqual(messages.map(replyText), ['hello', 'you said hello', 'second', 'after']);
  const { message } = (await data(t, 'getMessage', send('GET', `${pathOf('replaced')}/7`))) as { message: Message };
  t.is(replyText(message), 'second');
});

test('a deleted message is gone from log and context', async (t) => {
  await threadWith('trimmed');
  await send('POST', pathOf('trimmed'), { messages: [{ ...user('x'), message_id: 'x y' }] });
  const path = `${pathOf('trimmed')}/x%20y`;
  t.deepEqual(await data(t, 'deleteMessage', send('DELETE', path)), { success: true } as never);
  await refused(t, send('GET', path), 404, codeOf(404));
  await refused(t, send('DELETE', path), 404, codeOf(404));
  const { state } = (await data(t, 'getState', send('GET', '/v1/threads/trimmed/state'))) as {
    state: { context: unknown[] };
  };
  t.is(state.context.length, 2);
});

test('what is not there is 404', async (t) => {
  await thread('there');
  await refused(t, send('GET', pathOf('nowhere')), 404, codeOf(404));
  await refused(t, send('POST', pathOf('nowhere'), { messages: [user('x')] }), 404, codeOf(404));
  await refused(t, send('GET', `${pathOf('nowhere')}/1`), 404, codeOf(404));
  await refused(t, send('DELETE', `${pathOf('nowhere')}/1`), 404, codeOf(404));
  await refused(t, send('GET', `${pathOf('there')}/1`), 404, codeOf(404));
});

for (const [what, body, loc] of [
  ['no messages', {}, ['body', 'messages']],
  ['an empty list', { messages: [] }, ['body', 'messages']],
  ['a message that is a text', { messages: ['x'] }, ['body', 'messages', 0]],
  ['a message without content', { messages: [{ role: 'user' }] }, ['body', 'messages', 0, 'content']],
  [
    'a message id with a slash',
    { messages: [{ ...user('x'), message_id: 'a/b' }] },
    ['body', 'messages', 0, 'message_id'],
  ],
  [
    'a result without its call',
    { messages: [{ role: 'tool', content: [{ type: 'tool_result' }] }] },
    ['body', 'messages', 0, 'content', 0, 'call_id'],
  ],
  ['a message that is too large', { messages: [user('x'.repeat(2 * 1024 * 1024))] }, ['body', 'messages', 0]],
  ['metadata that is a text', { messages: [user('x')], metadata: 'x' }, ['body', 'metadata']],
] as const) {
  test(`${what} is 422 and named`, async (t) => {
    await thread('misfits');
    t.deepEqual(await refused(t, send('POST', pathOf('misfits'), body), 422, codeOf(422)), [loc]);
  });
}

test('a cursor of another thread, of another search or of the list of runs is refused by name', async (t) => {
  for (const id of ['given', 'other']) await threadWith(id, 'one');
  const { cursor = '' }: Page = await data(t, 'listMessages', send('GET', `${pathOf('given')}?limit=1`));
  const paths = [
    pathOf('other'),
    `${pathOf('given')}?search=one`,
    `${pathOf('given')}?order=desc`,
    '/v1/threads/given/runs',
    '/v1/threads',
  ];
  for (const path of paths) {
    const asked = send('GET', `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`);
    t.deepEqual(await refused(t, asked, 422, 'VALIDATION_ERROR'), [['query', 'cursor']], path);
  }
});

for (const query of ['limit=0', 'limit=ten', 'offset=-1', 'cursor=nonsense', 'order=newest']) {
  test(`?${query} is 422 and named`, async (t) => {
    await thread('asked');
    const reply = send('GET', `${pathOf('asked')}?${query}`);
    t.deepEqual(await refused(t, reply, 422, codeOf(422)), [['query', query.split('=')[0]]]);
  });
}
