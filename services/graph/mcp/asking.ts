import type { ElicitRequestFormParams, ElicitResult } from '@modelcontextprotocol/client';
import type { ToolContext } from '../build/context.ts';
import { foreignSchemaFault } from '../state/schema.ts';

/** The answer to a question of a call, by the number of questions before it. @throws when it has none yet, or none that fits. */
type Answers = (index: number, question: ElicitRequestFormParams) => ElicitResult;

/**
 * The answers that the caller of the run gives to the questions of one call; each question interrupts the run with the tool's name. A call
 * that is sent again, for example over a new connection, asks the same questions and gets the same answers.
 */
export function createAnswers(tool: string, { interrupt }: Pick<ToolContext, 'interrupt'>): Answers {
  const given: ElicitResult[] = [];
  return (index, { message, requestedSchema: schema }) => {
    given[index] ??= readAnswer(interrupt({ type: 'elicitation', tool, message, schema }), schema);
    return given[index];
  };
}

const actions: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

/** Reads what the caller of the run answered. @throws Error that says how it is to answer. */
function readAnswer(answer: unknown, schema: ElicitRequestFormParams['requestedSchema']): ElicitResult {
  const { action, content } = (answer ?? {}) as { readonly action?: unknown; readonly content?: unknown };
  if (!actions.has(action))
    throw new Error('an elicitation is answered with { action, content }; action is accept, decline or cancel');
  if (action !== 'accept') return { action: action as 'decline' | 'cancel' };
  const fault = foreignSchemaFault(schema, content ?? {}, 'content');
  if (fault !== undefined) throw new Error(`the answer to the elicitation breaks its schema: ${fault}`);
  return { action, content: (content ?? {}) as NonNullable<ElicitResult['content']> };
}

/** A call that was sent and whose server may ask. */
export interface SentCall {
  /** The answer to its next question. @throws when there is none; the call is then ended. */
  readonly answer: (question: ElicitRequestFormParams) => ElicitResult;
  /** Ends the call, because a question may be its own or that of another. */
  readonly confuse: () => void;
  /** Ends the call, because its reply was cut off. */
  readonly lose: () => void;
  readonly isLost: () => boolean;
  /** Fires when one of these has ended the call. */
  readonly signal: AbortSignal;
}

/** Thrown out of a call that has to be sent again while no other is under way. */
export const confused = Symbol('a question that may be that of several calls');

/** Begins a call. `onEnd` gets what the run of the tool throws when a question ends the call. */
export function beginCall(answers: Answers, onEnd: (error: unknown) => void): SentCall {
  const controller = new AbortController();
  let asked = 0;
  let lost = false;
  const end = (error: unknown): void => {
    if (controller.signal.aborted) return;
    onEnd(error);
    controller.abort(new Error('ended by a question'));
  };
  return {
    signal: controller.signal,
    answer: (question) => {
      try {
        return answers(asked++, question);
      } catch (error) {
        end(error);
        // The server gets this message when it is still there.
        throw new Error('the question cannot be answered within this call', { cause: error });
      }
    },
    confuse: () => end(confused),
    lose: () => {
      if (controller.signal.aborted) return;
      lost = true;
      controller.abort(new Error('the reply was cut off'));
    },
    isLost: () => lost,
  };
}
