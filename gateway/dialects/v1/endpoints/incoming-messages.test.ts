import { ServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Message } from '@agent-workflow/protos/message';
import test from 'ava';
import type { NewMessage } from '../../common/run-order.ts';
import { toWireError } from '../replies/fields.ts';
import { toEntries } from '../../common/incoming-messages.ts';

const now = new Date('2026-01-02T03:04:05.678Z');
const normalised = (given: NewMessage): Message =>
  JSON.parse(Buffer.from(toEntries([given], newId, now)[0]?.json ?? []).toString()) as Message;

test('a text becomes one text block, and the time of arrival its timestamp', (t) => {
  const { message_id, ...message } = normalised({ role: 'user', content: 'hello' });
  t.deepEqual(message, { role: 'user', content: [{ type: 'text', text: 'hello' }], timestamp: now.toISOString() });
  t.regex(message_id, /^[0-9a-f-]{36}$/);
});

test('an id that is absent, null, empty or 0 is given anew, each its own', (t) => {
  const ids = [{}, { message_id: null }, { message_id: '' }, { message_id: '0' }, { message_id: 0 }].map(
    (id) => normalised({ role: 'user', content: '', ...id }).message_id,
  );
  t.is(new Set(ids).size, ids.length);
  for (const id of ids) t.regex(id, /^[0-9a-f-]{36}$/);
});

test('a given id is kept, a number as its decimal text', (t) => {
  t.is(normalised({ role: 'user', content: '', message_id: 'mine' }).message_id, 'mine');
  t.is(normalised({ role: 'user', content: '', message_id: 42 }).message_id, '42');
});

test('a number that JSON rounds is refused as an id, and so is the id of another message of the same request', (t) => {
  const message = { role: 'user', content: '' } as const;
  const refused = (messages: readonly NewMessage[]) =>
    t.throws<ServiceError>(() => toEntries(messages, newId, now), { name: 'Invalid' });
  const rounded = refused([message, { ...message, message_id: 2 ** 53 }]);
  t.deepEqual(toWireError(rounded).details[0]?.loc, ['body', 'messages', 1, 'message_id']);
  const twice = refused([
    { ...message, message_id: 'a' },
    { ...message, message_id: 'b' },
    { ...message, message_id: 'a' },
  ]);
  t.is(twice.message, 'body.messages.2.message_id: is that of message 0, too');
});

test('a second result for one call is refused at its place, unless the call was made again in between', (t) => {
  const result = (id: string) => ({ type: 'tool_result', call_id: id, output: 1 });
  const answers = (...ids: string[]): NewMessage => ({ role: 'tool', content: ids.map(result) });
  const calls: NewMessage = {
    role: 'assistant',
    content: [{ type: 'tool_call', id: 'a', name: 'look', args: {} }],
  };
  const placeOf = (...messages: NewMessage[]) =>
    toWireError(t.throws<ServiceError>(() => toEntries(messages, newId, now), { name: 'Invalid' })).details[0]?.loc;
  t.deepEqual(placeOf(answers('a', 'b', 'a')), ['body', 'messages', 0, 'content', 2, 'call_id']);
  t.deepEqual(placeOf(answers('a'), { role: 'user', content: 'hi' }, answers('b', 'a')), [
    'body',
    'messages',
    2,
    'content',
    1,
    'call_id',
  ]);
  t.is(toEntries([calls, answers('a'), calls, answers('a')], newId, now).length, 4);
  t.is(toEntries([answers('a', 'b'), answers('c')], newId, now).length, 2);
});

test('fields and blocks that nobody knows are kept', (t) => {
  const given = { role: 'user', content: [{ type: 'hologram', depth: 3 }], metadata: { a: 1 }, mood: 'good' } as const;
  const { content, metadata, ...rest } = normalised({ ...given, content: [...given.content] });
  t.deepEqual(content, [{ type: 'hologram', depth: 3 }]);
  t.deepEqual(metadata, { a: 1 });
  t.is(rest['mood'], 'good');
});

test('a given time is told in UTC, one that is none is refused by name', (t) => {
  t.is(
    normalised({ role: 'user', content: '', timestamp: '2026-01-02T05:00:00+02:00' }).timestamp,
    '2026-01-02T03:00:00.000Z',
  );
  const error = t.throws(() => normalised({ role: 'user', content: '', timestamp: 'soon' }), {
    instanceOf: ServiceError,
  });
  t.deepEqual(toWireError(error).details[0]?.loc, ['body', 'messages', 0, 'timestamp']);
});

test('a message of more than its bound is refused by name', (t) => {
  const error = t.throws(
    () =>
      toEntries(
        [
          { role: 'user', content: 'a' },
          { role: 'user', content: 'ä'.repeat(sizes.message / 2) },
        ],
        newId,
      ),
    { instanceOf: ServiceError },
  );
  t.is(error.code, 'Invalid');
  t.deepEqual(toWireError(error).details[0]?.loc, ['body', 'messages', 1]);
});
