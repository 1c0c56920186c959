import test from 'ava';
import { field } from '../state/field.ts';
import { AnswersDiffer, disputed } from '../state/answers-differ.ts';
import { START } from '../build/names.ts';
import { StateGraph, type CompiledGraph, type NodeFunction } from '../build/graph.ts';
import { walk } from '../testing.ts';
import { givenTo } from './continuation.ts';
import { createInterruptScope, interrupt } from './interrupt.ts';

const fields = { seen: field<unknown[]>({ type: 'array', default: [] }) };

const one = (node: NodeFunction<typeof fields>): CompiledGraph =>
  new StateGraph(fields).addNode('n', node).addEdge(START, 'n').compile();

const manager = { by: 'boris', at: '2026-11-30T12:00:00.000Z', client: 'v1' };

test('a question shows who may answer it, and the node sees who did', async (t) => {
  const graph = one((_state, { answeredBy }) => {
    const before = answeredBy();
    const answer = interrupt('Pay?', { to: ['approver', 'approver'], notOwner: true, quorum: 2 });
    return { seen: [before, answer, answeredBy()] };
  });
  const asked = await walk(graph);
  t.deepEqual(asked.interrupts, [
    { id: 'run/1/n/0', node: 'n', value: 'Pay?', to: ['approver'], not_owner: true, quorum: 2 },
  ]);
  const done = await walk(graph, { from: asked, answer: 'yes', answeredBy: [manager] });
  t.deepEqual(done.state.values['seen'], [[], 'yes', [manager]]);
});

test('answers that differ are thrown, and the node sees who gave them', (t) => {
  const asking = { place: 'run/1/n', node: 'n', at: 0, now: () => 0 };
  const options = { to: ['approver'], quorum: 2 };
  const scope = createInterruptScope({ ...asking, earlier: { answers: [] } });
  t.throws(() => scope.interrupt('Pay?', options));
  const open = scope.open();
  if (!open) throw new Error('the scope asks nothing');
  const continuation = { asking: [{ node: 'n', answers: [], ...open }] };
  const given = givenTo(
    { node: 'n' },
    { continuation, answers: { [open.open.id]: disputed }, answeredBy: [manager], at: 0 },
  );
  if (!('earlier' in given)) throw new Error('the node waits');
  const again = createInterruptScope({ ...asking, earlier: given.earlier });
  t.throws(() => again.interrupt('Pay?', options), { instanceOf: AnswersDiffer });
  t.deepEqual(again.answeredBy(), [manager]);
});

const refused: readonly (readonly [options: object, message: RegExp])[] = [
  [{ to: 'approver' }, /"to" of interrupt\(\) must be a list of 1 to 16 roles, not string/],
  [{ to: [] }, /"to" of interrupt\(\) must be a list of 1 to 16 roles, not one of 0/],
  [{ to: Array.from({ length: 17 }, (_, index) => `r${String(index)}`) }, /not one of 17/],
  [{ to: [''] }, /a role in "to" of interrupt\(\) must be a text of 1 to 64 characters, not one of 0/],
  [{ to: [1] }, /a role in "to" of interrupt\(\) must be a text of 1 to 64 characters, not number/],
  [{ to: ['a'], notOwner: 'yes' }, /"notOwner" of interrupt\(\) must be a boolean, not string/],
  [{ to: ['a'], quorum: 0 }, /"quorum" of interrupt\(\) must be an integer from 1 to 20, not 0/],
  [{ to: ['a'], quorum: 21 }, /"quorum" of interrupt\(\) must be an integer from 1 to 20, not 21/],
  [{ to: ['a'], quorum: 1.5 }, /"quorum" of interrupt\(\) must be an integer from 1 to 20, not 1.5/],
  [{ notOwner: true }, /interrupt\(\) is given "notOwner" without "to"/],
  [{ quorum: 2 }, /interrupt\(\) is given "quorum" without "to"/],
];

for (const [options, message] of refused)
  test(`a question with ${JSON.stringify(options).slice(0, 60)} fails its node`, async (t) => {
    const graph = one(() => ({ seen: [interrupt('?', options)] }));
    await t.throwsAsync(walk(graph), { message });
  });
