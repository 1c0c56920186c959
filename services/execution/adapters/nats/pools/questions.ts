/*
 * What a worker of a pool may not do itself on NATS, replicas of the role `api` do for it: they create its consumers, read the logs
 * of its agents' runs and enqueue runs of its agents. The subject of a question names the agent by its hash, so that the server lets
 * a pool ask for its own agents alone; the process that answers takes the agent from there.
 */

/** What can be asked for: `lanes` creates the consumers of a pool, `log` reads frames of a log, `put` enqueues a run. */
export const questions = ['lanes', 'log', 'put'] as const;

export type Question = (typeof questions)[number];

export const questionSubject = (helpSubject: string, agentHash: string, question: Question): string =>
  `${helpSubject}.${agentHash}.${question}`;

/** Frames of a log: the last one, the next one from a sequence on, or a page of them, which a message without content ends. */
export type LogQuestion = { readonly runId: string } & (
  | { readonly read: 'last' }
  | { readonly read: 'next'; readonly from: number }
  | { readonly read: 'page'; readonly from: number; readonly maxBytes: number }
);

/** The header of an answer: what became of the question. */
export const outcomeHeader = 'help-outcome';

/** The header of an answer that says where a log ends: the sequence of the last message of its subject, which need not be a frame. */
export const lastSequenceHeader = 'help-last-sequence';

/** `done`; `none`: there is no such frame; `refused`: it is not the pool's to ask; `failed`: it may be asked again. */
export type Outcome = 'done' | 'none' | 'refused' | 'failed';

/** Subjects of replies begin with it. An answer goes nowhere else: the process that answers may publish more than the one that asks. */
export const inboxRoot = '_INBOX';
