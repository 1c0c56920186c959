import { field, interrupt, lastUserText, START, StateGraph } from '@agent-workflow/graph';

/** Refunds an order once a manager has agreed to it. The customer, whose run it is, can neither answer nor write what decides. */
export const graph = new StateGraph({
  amount: field({ type: 'number', default: 0, callers: 'read' }),
  isApproved: field({ type: 'boolean', default: false, callers: 'read' }),
})
  .addNode('read', (state) => ({ amount: Number(/\d+/.exec(lastUserText(state))?.[0] ?? 0) }))
  .addNode('approve', ({ amount }, { answeredBy, emit }) => {
    const question = { question: `Refund ${amount} EUR?`, schema: { type: 'boolean' } };
    const isApproved = interrupt(question, { to: ['manager'], notOwner: true }) === true;
    const who = answeredBy()
      .map(({ by }) => by)
      .join(', ');
    emit(isApproved ? `Refunded ${amount} EUR, approved by ${who}.` : `Nothing was refunded: ${who} refused.`);
    return { isApproved };
  })
  .addEdge(START, 'read')
  .addEdge('read', 'approve')
  .compile();
