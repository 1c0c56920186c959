import { END, field, interrupt, START, StateGraph } from '@agent-workflow/graph';

/** Asks a manager, and pays in a node of its own. */
export const graph = new StateGraph({
  approved: field<boolean>({ type: 'boolean', default: false, callers: 'read' }),
})
  .addNode('approve', () => ({ approved: interrupt('Pay?', { to: ['manager'], notOwner: true }) === true }))
  .addNode('pay', ({ approved }, { emit }) => emit(approved ? 'paid' : 'not paid'))
  .addEdge(START, 'approve')
  .addEdge('approve', 'pay')
  .addEdge('pay', END)
  .compile();
