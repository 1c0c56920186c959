import { END, START, StateGraph, callsTools, field, textOf, tool, toolNode } from '@agent-workflow/graph';

const because = (what: string): Error =>
  new Error(`${what} gave up`, { cause: new RangeError(`${what} was asked too much`) });

const breaking = tool({ name: 'breaking', description: 'Throws.', parameters: { type: 'object' } }, () => {
  throw because('the tool');
});

const lingering = tool(
  { name: 'lingering', description: 'Publishes late.', parameters: { type: 'object' } },
  (_args, { progress }) => {
    for (const word of ['secret', 'words']) setImmediate(() => progress(word));
    return 'done';
  },
);

/**
 * Throws where the last message says: `node`, `retry`, `tool`, `reducer`, `route`; `mutate` and `push` change the state, `late` emits and
 * publishes progress, both twice, after the node has returned, `late tool` has a tool do the latter.
 */
export const graph = new StateGraph({
  total: field<number>({
    type: 'number',
    default: 0,
    reducer: (total, more) => {
      if (more < 0) throw because('the reducer');
      return total + more;
    },
  }),
  list: field<string[]>({ type: 'array', default: [] }),
})
  .addNode(
    'obey',
    (state, { emit, progress }) => {
      const last = state.context.at(-1);
      const order = last?.role === 'user' ? textOf(last) : '';
      if (order === 'node' || order === 'retry') throw because('the node');
      if (order === 'reducer') return { total: -1 };
      if (order === 'mutate') state.list.push('one');
      if (order === 'push') (state.context as unknown[]).push(last);
      if (order === 'late')
        for (const word of ['secret', 'words'])
          for (const publish of [emit, progress]) setImmediate(() => publish(word));
      const called = { tool: 'breaking', 'late tool': 'lingering' }[order];
      if (called) emit({ type: 'tool_call', id: 'call-1', name: called, args: {}, tool_type: 'function' });
      return {};
    },
    { retry: { maxAttempts: 2, initialDelayMs: 1 } },
  )
  .addNode('tools', toolNode([breaking, lingering]))
  .addEdge(START, 'obey')
  .addConditionalEdges('obey', (state) => {
    const last = state.context.at(-1);
    if (last?.role === 'user' && textOf(last) === 'route') throw because('the route');
    return callsTools(state) ? 'tools' : END;
  })
  .addEdge('tools', END)
  .compile();
