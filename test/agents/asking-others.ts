import {
  AnswersDiffer,
  END,
  field,
  interrupt,
  lastUserText,
  START,
  StateGraph,
  type InterruptOptions,
} from '@agent-workflow/graph';

/** Asks with the options that the last message of a user has as JSON, and says what came of it, and who answered. */
export const graph = new StateGraph({
  decision: field<unknown>({ type: 'any', callers: 'read' }),
  user: field<unknown>({ type: 'any' }),
})
  .addNode('approve', (state, { answeredBy, emit, user }) => {
    const options = JSON.parse(lastUserText(state)) as InterruptOptions;
    const whoAnswered = (): string =>
      answeredBy()
        .map(({ by, client }) => `${by} (${client})`)
        .join(', ');
    try {
      const decision = interrupt({ question: 'Pay?', schema: { type: 'boolean' } }, options);
      emit(`answer ${JSON.stringify(decision)} by ${whoAnswered()}`);
      return { decision, user: user['user_id'] };
    } catch (error) {
      if (!(error instanceof AnswersDiffer)) throw error;
      emit(`${whoAnswered()} differ`);
      return { user: user['user_id'] };
    }
  })
  .addEdge(START, 'approve')
  .addEdge('approve', END)
  .compile();
