import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, callsTools, field, interrupt, textOf, tool, toolNode } from '@agent-workflow/graph';

const press = tool(
  {
    name: 'press',
    description: 'Asks the gate, once and never again.',
    parameters: { type: 'object', properties: { gate: { type: 'string' } }, required: ['gate'] },
    replay: 'once',
  },
  async ({ gate }, { signal }) => (await fetch(gate, { signal })).status,
);

const inner = new StateGraph({})
  .addNode('deep', (_state, { emit }) => emit(`inside: ${String(interrupt('Go on?'))}`))
  .addEdge(START, 'deep')
  .compile();

/**
 * Says which process it is in, and says so again at its end. Between the two it says a number ten times a second until
 * the address in `config.gate` answers, or, with `config.once`, asks that address by a tool that is called once at most.
 * Without a gate it goes through at once. The words `ask` and `ask inside` have it ask a person instead, the second in a sub-graph.
 */
export const graph = new StateGraph({
  steps: field<number>({
    type: 'number',
    description: 'Steps committed',
    default: 0,
    reducer: (sum, more) => sum + more,
  }),
})
  .addNode('before', (_state, { config, emit }) => {
    emit(String(process.pid));
    if (config['once'] === true)
      emit({ type: 'tool_call', id: 'call', name: 'press', args: { gate: String(config['gate']) } });
    return { steps: 1 };
  })
  .addNode('press', toolNode([press]))
  .addNode('ask', (_state, { emit }) => emit(`outside: ${String(interrupt('Go on?'))}`))
  .addNode('inner', inner)
  .addNode('wait', async (_state, { config, signal, emit }) => {
    const { gate } = config;
    if (typeof gate !== 'string') return { steps: 1 };
    const opened = fetch(gate, { signal }).then(() => 'open');
    for (let tick = 0; ; tick++) {
      emit(`${String(tick)} `);
      if ((await Promise.race([opened, delay(100, 'closed', { signal })])) === 'open') return { steps: 1 };
    }
  })
  .addNode('after', (_state, { emit }) => {
    emit(String(process.pid));
    return { steps: 1 };
  })
  .addEdge(START, 'before')
  .addConditionalEdges('before', (state) => {
    if (callsTools(state)) return 'press';
    const asked = state.context.findLast(({ role }) => role === 'user');
    const text = asked ? textOf(asked) : '';
    return text === 'ask' ? 'ask' : text === 'ask inside' ? 'inner' : 'wait';
  })
  .addEdge('press', 'after')
  .addEdge('ask', 'after')
  .addEdge('inner', 'after')
  .addEdge('wait', 'after')
  .addEdge('after', END)
  .compile();
