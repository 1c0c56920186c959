import { END, START, StateGraph, field } from '@agent-workflow/graph';

/** The keys of visits that have failed in this process. */
const failed = new Set<string>();

/** Pays, then sends a receipt, which fails the first time that it is tried. */
export const graph = new StateGraph({
  payments: field<number>({
    type: 'number',
    description: 'How often was paid',
    default: 0,
    reducer: (sum, more) => sum + more,
  }),
})
  .addNode('pay', (_state, { emit }) => {
    emit('Paid.');
    return { payments: 1 };
  })
  .addNode('send_receipt', (_state, { emit, idempotencyKey }) => {
    if (!failed.has(idempotencyKey)) {
      failed.add(idempotencyKey);
      throw new Error('the mail server is away');
    }
    emit('The receipt is on its way.');
  })
  .addEdge(START, 'pay')
  .addEdge('pay', 'send_receipt')
  .addEdge('send_receipt', END)
  .compile();
