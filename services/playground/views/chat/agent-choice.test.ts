import test from 'ava';
import type { AgentItem } from '@agent-workflow/client';
import { chooseAgent, reasonToChoose } from './agent-choice.ts';

const agent = (name: string, isDefault = false): AgentItem => ({
  ...{ name, is_default: isDefault },
  ...{ description: null, tools: [] },
});
const several = { list: [agent('support', true), agent('billing')] };
const equals = { list: [agent('billing'), agent('support')] };
const anew = { ofThread: null, asked: undefined };

test('where there is one agent, or none, nothing is chosen or named, whatever the address says', (t) => {
  for (const list of [[], [agent('default', true)]])
    for (const ofThread of [null, undefined, 'default'])
      t.deepEqual(chooseAgent({ known: { list }, ofThread, asked: 'billing' }), { kind: 'none' });
});

test('a new chat goes to the agent of the address, else to the default', (t) => {
  t.like(chooseAgent({ ...anew, known: several }), { kind: 'open', name: 'support' });
  const choice = chooseAgent({ ...anew, known: several, asked: 'billing' });
  t.like(choice, { kind: 'open', name: 'billing' });
  t.is(reasonToChoose(choice), undefined);
});

test('without a default, or with a name that no agent has, the reader is told to choose', (t) => {
  const open = chooseAgent({ ...anew, known: equals });
  t.is(open.name, undefined);
  t.regex(reasonToChoose(open) ?? '', /^Choose the agent/);
  const unknown = chooseAgent({ ...anew, known: several, asked: 'nobody' });
  t.like(unknown, { name: undefined, unknown: 'nobody' });
  t.regex(reasonToChoose(unknown) ?? '', /no agent “nobody”/);
});

test('a thread stays with its agent, also one that the service has no more', (t) => {
  const choice = chooseAgent({ known: several, ofThread: 'former', asked: 'billing' });
  t.deepEqual(choice, { kind: 'fixed', name: 'former' });
  t.is(reasonToChoose(choice), undefined);
});

test('nothing is said while the agents, or the thread, are being read', (t) => {
  for (const choice of [
    chooseAgent({ ...anew, known: {} }),
    chooseAgent({ known: several, ofThread: undefined, asked: undefined }),
  ]) {
    t.deepEqual(choice, { kind: 'unread' });
    t.is(reasonToChoose(choice), undefined);
  }
});

test('while the agents cannot be read a new chat goes where the address says, and a thread where it belongs', (t) => {
  const known = { error: new Error('away') };
  t.deepEqual(chooseAgent({ known, ofThread: null, asked: 'billing' }), { kind: 'none', name: 'billing' });
  t.deepEqual(chooseAgent({ known, ofThread: 'support', asked: 'billing' }), { kind: 'none', name: undefined });
});
