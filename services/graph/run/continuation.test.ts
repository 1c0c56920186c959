import test from 'ava';
import { StateGraph } from '../build/graph.ts';
import { START } from '../build/names.ts';
import { walk } from '../testing.ts';
import { innerNodes, openInterrupts } from './continuation.ts';
import { interrupt } from './interrupt.ts';

test('a continuation is stored under keys that releases agree on', async (t) => {
  const inner = new StateGraph({})
    .addNode('ask', () => void interrupt('Sure?'))
    .addEdge(START, 'ask')
    .compile();
  const graph = new StateGraph({}).addNode('sub', inner).addEdge(START, 'sub').compile();
  const { continuation } = await walk(graph);
  const open = { id: 'run/1/sub/1/ask/0', node: 'ask', value: 'Sure?' };
  const shown = { what: '833b46f7-9768-892a-908b-0933fe55911e', number: 0 };
  t.deepEqual(JSON.parse(JSON.stringify(continuation)), {
    graphs: {
      sub: {
        nodes: ['ask'],
        number: 2,
        values: {},
        carry: { asking: [{ node: 'ask', answers: [], key: 'run/1/sub/1/ask', open, shown }] },
        key: 'run/1/sub',
      },
    },
  });
  t.deepEqual(openInterrupts(continuation), [{ ...open, node: 'sub' }]);
  t.deepEqual(innerNodes(continuation), ['sub/ask']);
});
