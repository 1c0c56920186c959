import { DeadlinePassed, END, field, interrupt, START, StateGraph, textOf, type Message } from '@agent-workflow/graph';

interface Question {
  /** In milliseconds. */
  readonly deadline?: number;
  readonly default?: unknown;
}

/** Asks as the last message of a user says, in JSON. */
interface Asking extends Question {
  /** What a node beside it asks. */
  readonly beside?: Question;
  /** The node after both fails until this time, in milliseconds since 1970. */
  readonly failsUntil?: number;
}

function askingOf(context: readonly Message[]): Asking {
  const last = context.findLast(({ role }) => role === 'user');
  return JSON.parse(last ? textOf(last) : '{}') as Asking;
}

export const graph = new StateGraph({
  answers: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
  question: field<string>({ type: 'string', default: 'Send it?' }),
})
  .addNode('ask', ({ context, question }, { emit }) => {
    const { beside: _beside, failsUntil: _until, ...options } = askingOf(context);
    try {
      const answer = interrupt(question, options);
      emit(`answer: ${JSON.stringify(answer)}`);
      return { answers: [answer] };
    } catch (error) {
      if (!(error instanceof DeadlinePassed)) throw error;
      emit('nobody answered');
      return { answers: [] };
    }
  })
  .addNode('beside', ({ context }) => {
    const { beside } = askingOf(context);
    return beside ? { answers: [interrupt('This, too?', beside)] } : {};
  })
  .addNode('after', ({ context }) => {
    const { failsUntil = 0 } = askingOf(context);
    if (Date.now() < failsUntil) throw new Error('not yet');
    return {};
  })
  .addEdge(START, 'ask')
  .addEdge(START, 'beside')
  .addEdge(['ask', 'beside'], 'after')
  .addEdge('after', END)
  .compile();
