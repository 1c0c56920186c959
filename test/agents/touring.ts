import { END, field, START, StateGraph, textOf, userError, type Message } from '@agent-workflow/graph';

/** The user's last message: an order and its operand. */
function orderOf({ context }: { readonly context: readonly Message[] }): readonly [order: string, operand: string] {
  const last = context.findLast(({ role }) => role === 'user');
  const [order = '', operand = ''] = last ? textOf(last).split(' ') : [];
  return [order, operand];
}

const report = new StateGraph({})
  .addNode('write', (_, { emit }) => emit('the report'))
  .addEdge(START, 'write')
  .addEdge('write', END)
  .compile();

const stumbled = new Set<string>();

/**
 * Goes where the message says and then reports: `plan 3` plans three times, `talk 5000` says as many chunks, `wait` waits at the address
 * in `config.gate`, `nap 1000` sleeps as many milliseconds, `ask` asks, `stumble` fails once and `fall` always.
 */
export const graph = new StateGraph({
  rounds: field<number>({ type: 'integer', default: 0, reducer: (before, more) => before + more }),
})
  .addNode('plan', (_, { usage }) => {
    usage({ model: 'planner', inputTokens: 10, outputTokens: 1 });
    return { rounds: 1 };
  })
  .addNode('talk', (state, { emit }) => {
    for (let count = Number(orderOf(state)[1]); count > 0; count--) emit(`chunk ${String(count)} `);
  })
  .addNode('wait', async (_, { config, signal, emit }) => {
    emit('waiting');
    await fetch(String(config['gate']), { signal });
  })
  .addNode('nap', (state, { sleep }) => sleep(Number(orderOf(state)[1])))
  .addNode('ask', (_, { interrupt, emit }) => emit(String(interrupt('Shall it go on?'))))
  .addNode(
    'stumble',
    (state, { idempotencyKey }) => {
      if (orderOf(state)[0] !== 'fall' && stumbled.has(idempotencyKey)) return;
      stumbled.add(idempotencyKey);
      throw userError('the stone lay there');
    },
    { retry: { maxAttempts: 2, initialDelayMs: 1 } },
  )
  .addNode('report', report)
  .addEdge(START, 'plan')
  .addConditionalEdges(
    'plan',
    (state) => {
      const [order, operand] = orderOf(state);
      if (order === 'plan') return state.rounds < Number(operand) ? 'plan' : 'report';
      return order === 'fall' ? 'stumble' : order;
    },
    ['plan', 'talk', 'wait', 'nap', 'ask', 'stumble', 'report'],
  )
  .addEdge('talk', 'report')
  .addEdge('wait', 'report')
  .addEdge('nap', 'report')
  .addEdge('ask', 'report')
  .addEdge('stumble', 'report')
  .addEdge('report', END)
  .compile();
