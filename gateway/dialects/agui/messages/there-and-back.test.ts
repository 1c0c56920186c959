import { isCall, type Message } from '@agent-workflow/protos/message';
import test from 'ava';
import fc from 'fast-check';
import type { AguiMessage } from '../schemas/run-input.ts';
import { fromAgui } from './from-agui.ts';
import { resultId, thoughtId, toAgui, wholeOf } from './to-agui.ts';

const timestamp = '2026-01-01T00:00:00.000Z';
const text = fc.string({ minLength: 1 }).map((value) => ({ type: 'text', text: value }));
const thought = fc.string({ minLength: 1 }).map((value) => ({ type: 'reasoning', text: value }));
/** JSON in a request has no member of this name: it is refused. */
const args = fc.dictionary(fc.string(), fc.jsonValue()).filter((made) => !JSON.stringify(made).includes('"__proto__"'));
const call = fc
  .record({ id: fc.uuid(), name: fc.string({ minLength: 1 }), args })
  .map((made) => ({ type: 'tool_call', tool_type: 'function', ...made }));

const assistant = fc.record({ message_id: fc.uuid(), content: fc.array(fc.oneof(text, thought, call)) });

test('what an assistant wrote and called goes to the page and back', (t) => {
  fc.assert(
    fc.property(assistant, ({ message_id, content }) => {
      const message: Message = { message_id, role: 'assistant', content, timestamp };
      const shown = toAgui(message) as readonly AguiMessage[];
      const back = shown.flatMap((each, index) => fromAgui(each, ['body', 'messages', index]) ?? []);
      t.is(back.length, 1);
      const blocks = (back[0]?.content ?? []) as Message['content'];
      const texts = (of: Message['content']): string =>
        of.map((block) => (block.type === 'text' ? String(block['text']) : '')).join('');
      t.is(texts(blocks), texts(content));
      t.deepEqual(JSON.stringify(blocks.filter(isCall)), JSON.stringify(content.filter(isCall).map(inOrder)));
      for (const { id } of shown) t.true(id === message_id || wholeOf(id) === message_id);
    }),
  );
});

const inOrder = ({ type, id, name, tool_type, args }: Readonly<Record<string, unknown>>): object => ({
  ...{ type, id, name, tool_type, args },
});

test('each result of a tool is a message of its own, and comes back as it was', (t) => {
  const results = fc.array(fc.record({ call_id: fc.uuid(), output: fc.string() }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.uuid(), results, (message_id, given) => {
      const content = given.map((result) => ({ type: 'tool_result', ...result }));
      const shown = toAgui({ message_id, role: 'tool', content, timestamp }) as readonly AguiMessage[];
      t.is(new Set(shown.map(({ id }) => id)).size, given.length);
      t.deepEqual(
        shown.map((each) => fromAgui(each, [])?.content),
        content.map((block) => [block]),
      );
    }),
  );
});

test('an id that was made here names its message, and no other text does', (t) => {
  fc.assert(
    fc.property(fc.uuid(), fc.nat(999), (id, index) => {
      t.is(wholeOf(thoughtId(id, index)), id);
      t.is(wholeOf(resultId(id, index + 1)), id);
      t.is(wholeOf(id), undefined);
    }),
  );
  for (const other of ['', ':', ':1', 'a:', 'a:b', 'a:1234567']) t.is(wholeOf(other), undefined, other);
});
