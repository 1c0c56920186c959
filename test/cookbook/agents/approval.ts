import { field, interrupt, lastUserText, START, StateGraph } from '@agent-workflow/graph';

/** Pays an amount, once a person has agreed to it. */
export const graph = new StateGraph({
  amount: field({ type: 'number', default: 0 }),
  isApproved: field({ type: 'boolean', default: false }),
})
  .addNode('read', (state) => ({ amount: Number(/\d+/.exec(lastUserText(state))?.[0] ?? 0) }))
  .addNode('approve', ({ amount }) => ({ isApproved: interrupt(`Pay ${amount} euros?`) === 'yes' }))
  .addNode('pay', ({ amount }, { emit }) => emit(`Paid ${amount} euros.`))
  .addNode('refuse', (_state, { emit }) => emit('Nothing was paid.'))
  .addEdge(START, 'read')
  .addEdge('read', 'approve')
  .addConditionalEdges('approve', ({ isApproved }) => (isApproved ? 'pay' : 'refuse'), ['pay', 'refuse'])
  .compile();
