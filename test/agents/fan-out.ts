import { END, field, send, START, StateGraph, textOf, type NodeContext } from '@agent-workflow/graph';

const fields = {
  done: field<number[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};

/** Has its effect at the address that `config.effects` names. One that is answered with an error has not taken place. */
async function work(
  _state: unknown,
  { input, config, idempotencyKey, signal }: NodeContext,
): Promise<{ done: number[] }> {
  const { item } = input as { readonly item: number };
  const headers = { 'idempotency-key': idempotencyKey };
  const url = `${String(config['effects'])}/${String(item)}`;
  const response = await fetch(url, { method: 'POST', headers, signal });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`the effect of ${String(item)} failed`);
  return { done: [item] };
}

/** Fans out to as many branches as the user's message says. */
export const graph = new StateGraph(fields)
  .addNode('plan', () => ({}))
  .addNode('work', work, { retry: { maxAttempts: 3, initialDelayMs: 10 } })
  .addNode('join', (state, { emit }) => emit(`joined ${String(state.done.length)}`))
  .addEdge(START, 'plan')
  .addConditionalEdges(
    'plan',
    ({ context }) => {
      const last = context.at(-1);
      return Array.from({ length: Number(last ? textOf(last) : 0) }, (_, item) => send('work', { item }));
    },
    ['work'],
  )
  .addEdge('work', 'join')
  .addEdge('join', END)
  .compile();
