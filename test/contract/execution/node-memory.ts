import type { TestFn } from 'ava';
import { textOf } from '@agent-workflow/graph';
import { invoke } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { remembering } from './graphs.ts';
import { user } from './messages.ts';

/** The memories of nodes. */
export function nodeMemoryTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check("a node's memories belong to the owner and are found by him alone", remembering, async (t, { execution }) => {
    await invoke(execution, { messages: [user('remember green tea')] });
    const mine = await invoke(execution, { messages: [user('recall tea')] });
    t.deepEqual(mine.messages.map(textOf), ['green tea']);
    const theirs = await invoke(execution, { owner: 'u:bob', messages: [user('recall tea')] });
    t.deepEqual(theirs.messages.map(textOf), ['nothing']);
  });
}
