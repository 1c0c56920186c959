import { isServiceError } from '@agent-workflow/kit/errors';
import { readMessage, textOf, type Message } from '@agent-workflow/protos/message';
import test from 'ava';
import fc from 'fast-check';
import { itemsOf } from '../out/items.ts';
import { addedBy, pendingIn, toGiven, type ReadMessage } from './conversation.ts';
import { fromChat } from './from-chat.ts';
import { fromItems } from './from-items.ts';

const defaults = { newId: () => 'm', now: new Date(0) };
/** A message as the service stores it. */
const stored = ({ result: _, ...message }: ReadMessage): Message => readMessage(message, ['message'], defaults);

const word = fc.string({ minLength: 1, maxLength: 12 });
const text = fc.oneof(
  word,
  fc.array(
    word.map((given) => ({ type: 'text', text: given })),
    { minLength: 1, maxLength: 3 },
  ),
);
const call = fc.record({
  id: word,
  type: fc.constant('function'),
  function: fc.record({
    name: word,
    arguments: fc
      .dictionary(word, fc.jsonValue())
      .map((args) => JSON.stringify(args))
      .filter((json) => !json.includes('__proto__')),
  }),
});
const chatMessage = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'developer', 'user'), content: text }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(text, fc.constant(null)),
    tool_calls: fc.array(call, { maxLength: 2 }),
  }),
  fc.record({ role: fc.constant('tool'), tool_call_id: word, content: text }),
);

const wordsIn = (content: unknown): string =>
  typeof content === 'string' ? content : ((content ?? []) as { text: string }[]).map((part) => part.text).join('');

test('every text, call and result of a chat stands in a message that the service stores', (t) => {
  fc.assert(
    fc.property(fc.array(chatMessage, { maxLength: 6 }), (messages) => {
      const read = fromChat(messages).map(stored);
      t.is(read.length, messages.length);
      for (const [index, given] of messages.entries()) {
        const message = read[index];
        if (!message) return false;
        if (given.role === 'tool') {
          const [block] = message.content;
          if (!('tool_call_id' in given)) return false;
          t.like(block, { type: 'tool_result', call_id: given.tool_call_id });
          continue;
        }
        t.is(textOf(message), wordsIn(given.content));
        if (!('tool_calls' in given)) continue;
        const calls = message.content.filter(({ type }) => type === 'remote_tool_call');
        t.deepEqual(
          calls.map(({ id, name, args }) => [id, name, JSON.stringify(args)]),
          given.tool_calls.map((each) => [
            each.id,
            each.function.name,
            JSON.stringify(JSON.parse(each.function.arguments)),
          ]),
        );
      }
      return true;
    }),
  );
});

test('what is no chat and no input is refused and breaks nothing', (t) => {
  const tries = (act: () => unknown): boolean => {
    try {
      act();
      return true;
    } catch (error) {
      return isServiceError(error, 'Invalid') || isServiceError(error, 'BadRequest');
    }
  };
  const almost = fc.record(
    {
      role: fc.oneof(fc.constantFrom('user', 'assistant', 'tool', 'function', '__proto__'), fc.jsonValue()),
      type: fc.oneof(fc.constantFrom('message', 'function_call', 'function_call_output', 'reasoning'), fc.jsonValue()),
      content: fc.jsonValue(),
      tool_calls: fc.jsonValue(),
      call_id: fc.jsonValue(),
      output: fc.jsonValue(),
      arguments: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const list = fc.array(fc.oneof(almost, fc.jsonValue()), { maxLength: 4 });
  fc.assert(fc.property(list, (given) => tries(() => fromChat(given)) && tries(() => fromItems(given))));
  t.pass();
});

test('items of a thread, sent back as input, are the messages that they were made of', (t) => {
  const id = fc.uuid();
  const block = word.map((given) => ({ type: 'text', text: given }));
  const callBlock = fc.record({
    ...{
      type: fc.constant('remote_tool_call'),
      id: word,
      name: word,
      args: fc.dictionary(
        word.filter((name) => name !== '__proto__'),
        fc.string(),
      ),
    },
    tool_type: fc.constant('remote'),
  });
  const resultBlock = fc.record({
    ...{ type: fc.constant('tool_result'), call_id: word, output: word, status: fc.constant('completed') },
    is_error: fc.constant(false),
  });
  const message = fc.oneof(
    fc.record({ message_id: id, role: fc.constant('user'), content: fc.array(block, { minLength: 1, maxLength: 2 }) }),
    fc.record({
      ...{ message_id: id, role: fc.constant('assistant') },
      content: fc.tuple(block, fc.array(callBlock, { maxLength: 2 })).map(([first, calls]) => [first, ...calls]),
    }),
    fc.record({ message_id: id, role: fc.constant('tool'), content: resultBlock.map((one) => [one]) }),
  );
  fc.assert(
    fc.property(message, (given) => {
      const whole = { ...given, timestamp: '' } as Message;
      const [read, ...more] = fromItems(itemsOf(whole));
      t.deepEqual(more, []);
      t.is(read?.role, given.role);
      const own = stored(read as ReadMessage).content;
      t.deepEqual(JSON.stringify(own), JSON.stringify(given.content));
    }),
  );
});

const run = '0190a5b2-0000-7000-8000-000000000001';
const shown = (callId: string): string => `${run.replaceAll('-', '')}_${callId}`;

test('what stands behind the last answer is added, and its results name the run that waits', (t) => {
  const question = `${run}/2/gate/0`;
  const messages = fromChat([
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'tool', tool_call_id: shown(question), content: '{"yes":true}' },
    { role: 'tool', tool_call_id: shown('c1'), content: 'a cat' },
    { role: 'user', content: 'and?' },
  ]);
  t.deepEqual(pendingIn(messages), { runId: run });
  const added = addedBy(messages);
  t.is(added.length, 3);
  const waiting = toGiven(added, true);
  t.deepEqual(waiting.resume, { [question]: { yes: true } });
  t.deepEqual(
    waiting.messages.map(({ role }) => role),
    ['tool', 'user'],
  );
  t.is(toGiven(added, false).messages.length, 3);
  t.is(pendingIn(fromChat([{ role: 'tool', tool_call_id: 'call_1', content: '' }])), undefined);
});
