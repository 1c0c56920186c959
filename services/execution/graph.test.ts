import test from 'ava';
import * as graph from '@agent-workflow/graph';
import * as alias from '@agent-workflow/execution/graph';

test('what agents import from the execution service is this very module', (t) => {
  t.deepEqual(Object.keys(alias).toSorted(), Object.keys(graph).toSorted());
  for (const name of Object.keys(graph)) {
    t.is((alias as Record<string, unknown>)[name], (graph as Record<string, unknown>)[name], name);
  }
});
