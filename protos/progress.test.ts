import fc from 'fast-check';
import test from 'ava';
import { heldMessages, iterationsIn } from './progress.ts';

test('the iterations of a run are the most times that one of its nodes ran', (t) => {
  t.is(iterationsIn(Buffer.from('{"visits":{"model":3,"tools":2}}')), 3);
  t.is(iterationsIn(Buffer.from('{"visits":{}}')), 0);
  t.is(iterationsIn(undefined), 0);
});

test('of what cannot be read there are none, so that the run can be ended', (t) => {
  const texts = ['', 'not json', 'null', '[]', '{"visits":null}', '{"visits":7}', '{"visits":{"a":"x","b":1e999}}'];
  for (const text of texts) t.is(iterationsIn(Buffer.from(text)), 0, text);
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => Number.isSafeInteger(iterationsIn(bytes)) && iterationsIn(bytes) >= 0),
  );
});

const message = (id: string): object => ({ message_id: id, role: 'assistant', content: [] });
const output = (mayReplace: boolean, ...ids: readonly string[]): object => ({
  ...{ node: 'n', fields: {}, mayReplace },
  messages: ids.map(message),
});
const heldIn = (continuation: object): unknown =>
  heldMessages(Buffer.from(JSON.stringify({ visits: {}, ['carry']: continuation })));

test('the messages that a step holds are found in its nodes, sub-graphs and branches, without those that may replace others', (t) => {
  const inner = { held: [{ node: 'a', done: true, outputs: [output(false, '3')] }] };
  const branches = {
    fan: [
      { index: 0, held: { done: true, outputs: [output(false, '4')] } },
      { index: 1, at: inner },
    ],
  };
  const held = [{ node: 'a', done: true, outputs: [output(false, '1', '2'), output(true, 'own')] }];
  t.deepEqual(
    heldIn({ held, graphs: { sub: { nodes: [], ['carry']: inner } }, branches }),
    ['1', '2', '3', '4', '3'].map(message),
  );
  t.deepEqual(heldIn({ held: [{ node: 'a', done: true, outputs: [] }] }), []);
  t.is(heldIn({ branches: { fan: [{ index: 0, input: { held: 1 } }] } }), undefined);
});

test('what a worker left on record that holds no messages is as nothing held', (t) => {
  t.is(heldMessages(undefined), undefined);
  for (const continuation of [
    { held: 1 },
    { held: [{ outputs: [output(false, '')] }] },
    { held: [], graphs: 'x', branches: 5 },
  ])
    t.is(heldIn(continuation), undefined, JSON.stringify(continuation));
  t.is(heldMessages(Buffer.from('{"held":')), undefined);
});
