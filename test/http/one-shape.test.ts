import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import test from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, serve } from './service.ts';

const { send, refused, thread, data, url } = serve(test);

type Loc = readonly (string | number)[];

interface Entrance {
  readonly path: string;
  readonly body: (message: unknown) => Readonly<Record<string, unknown>>;
  readonly loc: Loc;
}

const run = { body: (message: unknown) => ({ messages: [message] }), loc: ['body', 'messages', 0] };

/** Wherever a caller's message enters. */
const entrances: readonly Entrance[] = [
  { path: '/v1/threads/shaped/messages', ...run },
  {
    path: '/v1/threads/shaped/state',
    body: (message) => ({ config: {}, state: { context: [message] } }),
    loc: ['body', 'state', 'context', 0],
  },
  { path: '/v1/graph/invoke', ...run },
  { path: '/v1/graph/stream', ...run },
  { path: '/v1/runs', ...run },
  {
    path: '/v1/graph/invoke',
    body: (message) => ({ messages: [user('hello')], initial_state: { context: [message] } }),
    loc: ['body', 'initial_state', 'context', 0],
  },
];

const good = { role: 'user', content: 'hello' };
const withBlock = (block: unknown): unknown => ({ role: 'assistant', content: [block] });

const bad: readonly (readonly [what: string, message: unknown, at: Loc])[] = [
  ['no message', 5, []],
  ['null', null, []],
  ['a list', [], []],
  ['an id that is a number which JSON rounds', { ...good, message_id: 4e21 }, ['message_id']],
  ['a role that is a number', { ...good, role: 42 }, ['role']],
  ['an unknown role', { ...good, role: 'robot' }, ['role']],
  ['no role', { content: 'hello' }, ['role']],
  ['no content', { role: 'user' }, ['content']],
  ['content that is a number', { ...good, content: 5 }, ['content']],
  ['content that is null', { ...good, content: null }, ['content']],
  ['content that is an object', { ...good, content: { type: 'text', text: 'x' } }, ['content']],
  ['a block that is a number', withBlock(5), ['content', 0]],
  ['a block that is a list', withBlock([]), ['content', 0]],
  ['a block without a type', withBlock({}), ['content', 0, 'type']],
  ['a block whose type is a number', withBlock({ type: 1 }), ['content', 0, 'type']],
  ['a text block without text', withBlock({ type: 'text' }), ['content', 0, 'text']],
  ['a text block whose text is null', withBlock({ type: 'text', text: null }), ['content', 0, 'text']],
  ['a call without an id', withBlock({ type: 'tool_call', name: 'x', args: {} }), ['content', 0, 'id']],
  ['a call with an empty id', withBlock({ type: 'tool_call', id: '', name: 'x', args: {} }), ['content', 0, 'id']],
  [
    'a call whose arguments are text',
    withBlock({ type: 'remote_tool_call', id: 'a', name: 'x', args: '{}' }),
    ['content', 0, 'args'],
  ],
  ['a result of no call', withBlock({ type: 'tool_result' }), ['content', 0, 'call_id']],
  [
    'a result whose error mark is text',
    withBlock({ type: 'tool_result', call_id: 'a', is_error: 'no' }),
    ['content', 0, 'is_error'],
  ],
  ['reasoning of nothing', withBlock({ type: 'reasoning' }), ['content', 0, 'text']],
  [
    'more blocks than a message may have',
    { ...good, content: Array.from({ length: 1001 }, () => ({ type: 'x' })) },
    ['content'],
  ],
  ['an id with a slash', { ...good, message_id: 'a/b' }, ['message_id']],
  ['an id with a control character', { ...good, message_id: 'a\u0000' }, ['message_id']],
  ['the id "."', { ...good, message_id: '.' }, ['message_id']],
  ['the id ".."', { ...good, message_id: '..' }, ['message_id']],
  ['half a surrogate pair for an id', { ...good, message_id: '\ud800' }, ['message_id']],
  ['an id that is too long', { ...good, message_id: 'x'.repeat(257) }, ['message_id']],
  ['an id that is an object', { ...good, message_id: {} }, ['message_id']],
  ['metadata that is text', { ...good, metadata: 'x' }, ['metadata']],
  ['tool calls that are an object', { ...good, tools_calls: {} }, ['tools_calls']],
  ['a time that is none', { ...good, timestamp: 'soon' }, ['timestamp']],
  ['a time of a day that is none', { ...good, timestamp: '2026-13-01T00:00:00Z' }, ['timestamp']],
  ['30 February', { ...good, timestamp: '2026-02-30T00:00:00Z' }, ['timestamp']],
  ['a time of day that is none', { ...good, timestamp: '2026-01-02T24:00:00+01:00' }, ['timestamp']],
  ['a time before 1970', { ...good, timestamp: -1 }, ['timestamp']],
  ['a time after 9999', { ...good, timestamp: 253_402_300_800_000 }, ['timestamp']],
  ['a time that is true', { ...good, timestamp: true }, ['timestamp']],
];

test.before(async () => thread('shaped'));

for (const [what, message, at] of bad) {
  test(`${what} is refused wherever a message enters, by the same name`, async (t) => {
    for (const { path, body, loc } of entrances) {
      const [place] = await refused(t, send('POST', path, body(message)), 422, codeOf(422));
      t.deepEqual(place, [...loc, ...at], path);
    }
  });
}

const odd: readonly (readonly [what: string, given: object, stored: object])[] = [
  ['a number for an id', { ...good, message_id: 2 ** 53 - 1 }, { message_id: '9007199254740991' }],
  ['seconds for a time', { ...good, timestamp: 1_767_323_045 }, { timestamp: '2026-01-02T03:04:05.000Z' }],
  ['milliseconds for a time', { ...good, timestamp: 1_767_323_045_678 }, { timestamp: '2026-01-02T03:04:05.678Z' }],
  [
    'a time with an offset',
    { ...good, timestamp: '2026-01-02T05:04:05+02:00' },
    { timestamp: '2026-01-02T03:04:05.000Z' },
  ],
  [
    'a time without an offset',
    { ...good, timestamp: '2026-01-02T03:04:05' },
    { timestamp: '2026-01-02T03:04:05.000Z' },
  ],
  [
    'reasoning without a text',
    withBlock({ type: 'reasoning', summary: 'short', details: ['one'] }) as object,
    { content: [{ type: 'reasoning', summary: 'short', details: ['one'] }] },
  ],
  [
    'null for what may be absent',
    { ...good, message_id: null, metadata: null, tools_calls: null, timestamp: null },
    { content: [{ type: 'text', text: 'hello' }] },
  ],
  [
    'null for what a block may lack',
    withBlock({ type: 'tool_result', call_id: 'x', output: null, status: null, is_error: null }) as object,
    { content: [{ type: 'tool_result', call_id: 'x', output: null }] },
  ],
  ['fields that no rule names', { ...good, delta: false, raw: { a: null } }, { delta: false, raw: { a: null } }],
];

for (const [what, given, stored] of odd) {
  test(`${what} is stored alike, whether it comes as a message or in a state`, async (t) => {
    const id = `odd ${what}`;
    await thread(id);
    const path = `/v1/threads/${encodeURIComponent(id)}`;
    await data(t, 'addMessages', send('POST', `${path}/messages`, { messages: [given] }));
    await data(t, 'updateState', send('POST', `${path}/state`, { config: {}, state: { context: [given] } }));
    const { messages } = (await data(t, 'listMessages', send('GET', `${path}/messages?offset=2`))) as {
      messages: Record<string, unknown>[];
    };
    t.true(messages.length > 0);
    for (const message of messages) {
      t.like(message, stored);
      for (const field of ['metadata', 'tools_calls']) t.false(message[field] === null, field);
    }
  });
}

test('an id of an initial state, a thread and a run is refused when no path can name it', async (t) => {
  for (const id of ['.', '..']) {
    const config = { thread_id: id };
    const bodies: [string, object, Loc][] = [
      ['/v1/graph/invoke', { messages: [good], config }, ['body', 'config', 'thread_id']],
      ['/v1/graph/stream', { messages: [good], config }, ['body', 'config', 'thread_id']],
      ['/v1/runs', { messages: [good], config }, ['body', 'config', 'thread_id']],
      ['/v1/graph/stop', { thread_id: id }, ['body', 'thread_id']],
      ['/v1/graph/stop', { config }, ['body', 'config', 'thread_id']],
      ['/v1/graph/fix', { thread_id: id }, ['body', 'thread_id']],
      ['/v1/threads/shaped/state', { config, state: {} }, ['body', 'config', 'thread_id']],
      ['/v1/threads/shaped/fork', { checkpoint_id: id }, ['body', 'checkpoint_id']],
      [
        '/v1/store/memories',
        { content: 'x', memory_type: 'semantic', category: '', config },
        ['body', 'config', 'thread_id'],
      ],
      ['/v1/store/search', { query: 'x', config }, ['body', 'config', 'thread_id']],
      ['/v1/store/memories/forget', { config }, ['body', 'config', 'thread_id']],
    ];
    for (const [path, body, loc] of bodies) {
      t.deepEqual(await refused(t, send('POST', path, body), 422, codeOf(422)), [loc], path);
    }
  }
});

test('a path that names an id "." or ".." is 422, however it is written', async (t) => {
  for (const id of ['.', '..', '%2e', '%2E%2e']) {
    for (const path of [
      `/v1/threads/${id}/state`,
      `/v1/threads/shaped/messages/${id}`,
      `/v1/store/memories/${id}`,
      `/v1/runs/${id}/wait`,
    ]) {
      // A client of the web standard would resolve the path before it sends it.
      const asked = request(url(), { path, method: 'GET' }).end();
      const [reply] = (await once(asked, 'response')) as [IncomingMessage];
      reply.resume();
      t.is(reply.statusCode, 422, path);
    }
  }
});
