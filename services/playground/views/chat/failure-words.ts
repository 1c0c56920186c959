import type { FailureReason, RunError } from '@agent-workflow/client';
import { causeOf, type Thrown } from '../runs/trace/cause.ts';

/** What a reader can make of each reason, beside the message of the service; nothing where the message says it. */
const meanings: Readonly<Record<FailureReason, string>> = {
  user_error: '',
  context_too_long: 'The conversation is larger than the model takes.',
  answer_too_long: 'The answer reached the length limit of the model.',
  content_filtered: 'The provider of the model refused the content.',
  refused_by_provider: 'The provider of the model refused the request.',
  credentials_refused: 'The provider refused the key of the agent. Whoever runs the service has to mend that.',
  not_found: 'The model, or what the agent asked for, is not there.',
  rate_limited: 'The provider of the model is busy, or its quota is used up. Later it may do.',
  provider_error: 'The provider of the model failed. Later it may do.',
  unreachable: 'A server that the agent needs cannot be reached. Later it may do.',
  cut_off: 'A connection was cut off. It may do when it is tried again.',
  timed_out: 'A step or a server took too long. It may do when it is tried again.',
  unreadable: 'An answer could not be read.',
  unexpected: '',
};

interface FailureWords {
  /** What failed: `The step “pay” failed`. */
  readonly what: string;
  /** What the service says. */
  readonly message: string;
  /** What that means, where the service says of which kind it is. */
  readonly meaning: string;
}

/** Why a run failed, in words. @param thrown by the code of its node, where the reader may see it */
export const failureWords = (error: RunError, thrown?: Thrown): FailureWords => ({
  what: error.node === undefined ? 'The run failed' : `The step “${error.node}” failed`,
  message: thrown ? causeOf(error, thrown) : asSentence(causeOf(error)),
  meaning: error.reason === undefined ? '' : meanings[error.reason],
});

const asSentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
