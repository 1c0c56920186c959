import { AIMessage, HumanMessage } from '@langchain/core/messages';
import test from 'ava';
import fc from 'fast-check';
import { fold, unfold } from './folded.ts';
import { placesOf } from './message-ranges.ts';

const messages = Array.from(
  { length: 20 },
  (_, index) => new HumanMessage({ id: `m${index}`, content: 'x'.repeat(100) }),
);
const ids = messages.map(({ id = '' }) => id);
const notes = ['some', 'notes'];
const options = {
  idOf: (message: { id?: string | undefined }) => (messages.some((one) => one === message) ? message.id : undefined),
  places: placesOf(ids),
  channels: new Map<object, string>([[notes, 'notes']]),
};
const back = {
  places: placesOf(ids),
  isStrict: true,
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
    messages: [{ 'agent-workflow:messages': [['m0', 'm19', null, null, 'm18']] }, fresh],
    notes: { 'agent-workflow:channel': 'notes' },
  });
});

test('of a list are left the messages that the thread still has, whichever others have left', (t) => {
  for (const [from, to] of [
    [0, 20],
    [3, 9],
    [18, 20],
    [7, 8],
  ] as const)
    for (const gone of ids) {
      const later = { ...back, places: placesOf([...ids.filter((id) => id !== gone), 'newer']) };
      const left = messages.slice(from, to).filter(({ id }) => id !== gone);
      t.deepEqual(unfold(fold([...messages.slice(from, to), notes], options), later), [...left, notes]);
    }
});

test('a list of which nobody can say what is left is an error, where it counts', (t) => {
  const folded = fold([...messages.slice(3, 9), ...messages.slice(10, 12)], options);
  const later = { ...back, places: placesOf(ids.filter((id) => id !== 'm2' && id !== 'm3')) };
  t.throws(() => unfold(folded, later), { message: /from "m3" to "m8"/ });
  t.deepEqual(unfold(folded, { ...later, isStrict: false }), messages.slice(10, 12));
});
