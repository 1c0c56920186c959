import test from 'ava';
import { knowledgeOf, mayUse, type Knowledge } from './knowledge.ts';
import { isScope, scopeOfAgent } from './scopes.ts';

const knowledge: Knowledge = {
  'shared:handbook': { read: true, write: ['loader'] },
  'shared:prices': { read: ['refunds'] },
  'agent:loader': { write: true },
  'shared:closed': {},
};

test("a run uses what is its owner's and its agent's, and of the rest what is for its owner or its agent", (t) => {
  const used = (agent: string, action: 'read' | 'write', given?: Knowledge): string[] =>
    [
      'own',
      'agent:refunds',
      'agent:loader',
      ...Object.keys(knowledge).slice(0, 2),
      'shared:closed',
      'shared:none',
      'toString',
    ].filter((scope) => mayUse({ agent, knowledge: given }, scope, action));
  t.deepEqual(used('refunds', 'read'), ['own', 'agent:refunds']);
  t.deepEqual(used('refunds', 'read', knowledge), [
    'own',
    'agent:refunds',
    'agent:loader',
    'shared:handbook',
    'shared:prices',
  ]);
  t.deepEqual(used('refunds', 'write', knowledge), ['own', 'agent:refunds', 'agent:loader']);
  t.deepEqual(used('loader', 'write', knowledge), ['own', 'agent:loader', 'shared:handbook']);
  for (const agent of ['refunds', 'loader', 'other'])
    for (const action of ['read', 'write'] as const)
      t.deepEqual(used(agent, action, knowledgeOf({ knowledge, agent })), used(agent, action, knowledge));
});

test('a scope is own, or of an agent or shared with a name as agents have it', (t) => {
  for (const scope of ['own', scopeOfAgent('a'), `shared:${'a'.repeat(63)}`, 'agent:a-1'])
    t.true(isScope(scope), scope);
  for (const scope of [
    '',
    'Own',
    'shared:',
    'shared:1',
    `agent:${'a'.repeat(64)}`,
    'shared:a ',
    'x:a',
    'shared:a:b',
    'own\n',
  ])
    t.false(isScope(scope), scope);
});
