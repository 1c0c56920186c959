import { AIMessage, HumanMessage } from '@langchain/core/messages';
import test from 'ava';
import fc from 'fast-check';
import { fold, unfold } from './folded.ts';
import { positionsOf } from './message-ranges.ts';

const messages = Array.from(
  { length: 20 },
  (_, index) => new HumanMessage({ id: `m${index}`, content: 'x'.repeat(100) }),
);
const ids = messages.map(({ id = '' }) => id);
const notes = ['some', 'notes'];
const options = {
  idOf: (message: { id?: string | undefined }) => (messages.some((one) => one === message) ? message.id : undefined),
  positions: positionsOf(ids),
  channels: new Map<object, string>([[notes, 'notes']]),
};
const back = {
  ids,
  messagesOf: (id: string) => messages.filter((message) => message.id === id),
  channels: { notes },
};

const name = fc.constantFrom('a', 'agent-workflow:messages', 'agent-workflow:channel', 'agent-workflow:', '__proto__');
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, 1, 'text', notes, ...messages.slice(0, 3)),
    fc.tuple(fc.nat(19), fc.nat(19)).map(([from, to]) => messages.slice(from, to)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

test('what is folded is the same when it is unfolded, whatever names it holds', (t) => {
  fc.assert(
    fc.property(value, (given) => {
      t.deepEqual(unfold(fold(given, options), back), given);
    }),
  );
});

test('a list of the thread is two ids, whatever its length, and what is new in it stands in place', (t) => {
  const fresh = new AIMessage({ id: 'new', content: 'New' });
  const folded = fold({ messages: [...messages, fresh], notes }, options);
  t.deepEqual(folded, {
    messages: [{ 'agent-workflow:messages': [['m0', 'm19']] }, fresh],
    notes: { 'agent-workflow:channel': 'notes' },
  });
  const later = { ...back, ids: ids.slice(0, 5), messagesOf: back.messagesOf };
  t.deepEqual(unfold(folded, later), { messages: [fresh], notes }, 'a message that has left ends the range');
});
