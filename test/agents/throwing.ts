import { END, START, StateGraph, callsTools, field, textOf, tool, toolNode, userError } from '@agent-workflow/graph';

const because = (what: string): Error =>
  new Error(`${what} gave up`, { cause: new RangeError(`${what} was asked too much`) });

const breaking = tool({ name: 'breaking', description: 'Throws.', parameters: { type: 'object' } }, () => {
  throw because('the tool');
});

/** An address at which nobody listens. */
const unreached = 'http://127.0.0.1:65533/private';

const reaching = tool({ name: 'reaching', description: 'Asks nobody.', parameters: { type: 'object' } }, async () => {
  await fetch(unreached);
});

const refusing = tool({ name: 'refusing', description: 'Refuses.', parameters: { type: 'object' } }, () => {
  throw userError('The order has been sent already.');
});

const correcting = tool({ name: 'correcting', description: 'Corrects.', parameters: { type: 'object' } }, () => {
  throw new Error('give the city in English');
});

const lingering = tool(
  { name: 'lingering', description: 'Publishes late.', parameters: { type: 'object' } },
  (_args, { progress }) => {
    for (const word of ['secret', 'words']) setImmediate(() => progress(word));
    return 'done';
  },
);

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable(new Error('hidden'), {});
  revoke();
  return proxy;
}

const proxying = tool({ name: 'proxying', description: 'Throws.', parameters: { type: 'object' } }, () => {
  throw revoked();
});

const toolOf: Readonly<Record<string, string>> = {
  ...{ tool: 'breaking', 'late tool': 'lingering', 'reach tool': 'reaching', 'refuse tool': 'refusing' },
  ...{ 'correct tool': 'correcting', 'revoked tool': 'proxying' },
};

/**
 * Throws where the last message says: `node`, `retry`, `tool`, `reducer`, `route`; `mutate` and `push` change the state, `late` emits and
 * publishes progress, both twice, after the node has returned, `late tool` has a tool do the latter. `reach` and
 * `repeat` fail by a server that is not there, `refuse` says so on purpose, `revoked` throws what nobody can read; each is also a tool.
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
    async (state, { emit, progress }) => {
      const last = state.context.at(-1);
      const order = last?.role === 'user' ? textOf(last) : '';
      if (order === 'node' || order === 'retry') throw because('the node');
      if (order === 'reducer') return { total: -1 };
      if (order === 'mutate') state.list.push('one');
      if (order === 'push') (state.context as unknown[]).push(last);
      if (order === 'late')
        for (const word of ['secret', 'words'])
          for (const publish of [emit, progress]) setImmediate(() => publish(word));
      if (order === 'reach') await fetch(unreached);
      if (order === 'repeat') throw new Error('the shop says: connect ECONNREFUSED 10.1.2.3:5432');
      if (order === 'several')
        throw new AggregateError([Object.assign(new Error('10.1.2.3'), { code: 'ETIMEDOUT' })], 'all');
      if (order === 'refuse') throw userError('The order has been sent already.');
      if (order === 'revoked') throw revoked();
      const called = toolOf[order];
      if (called) emit({ type: 'tool_call', id: 'call-1', name: called, args: {}, tool_type: 'function' });
      return {};
    },
    { retry: { maxAttempts: 2, initialDelayMs: 1 } },
  )
  .addNode('tools', toolNode([breaking, lingering, reaching, refusing, correcting, proxying]))
  .addEdge(START, 'obey')
  .addConditionalEdges('obey', (state) => {
    const last = state.context.at(-1);
    if (last?.role === 'user' && textOf(last) === 'route') throw because('the route');
    return callsTools(state) ? 'tools' : END;
  })
  .addEdge('tools', END)
  .compile();
