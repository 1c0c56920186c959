import type { Json } from './json.ts';
import type { Page, Paged } from './lists.ts';

/** An open question of a run that others than its owner answer. */
export interface Question {
  readonly question_id: string;
  /** The owner of the run; `null` where nobody signs in. */
  readonly asked_for: string | null;
  readonly thread_id: string;
  /** The run that asks; `null` in a fork, which asks what a run of another thread has asked. */
  readonly run_id: string | null;
  readonly agent: string;
  readonly node: string;
  readonly value: Json;
  /** The caller finds it as an admin alone: `value` is `null`. */
  readonly masked?: true;
  /** The roles that it is addressed to. */
  readonly to: readonly string[];
  readonly not_owner: boolean;
  /** How many callers must give the same answer. */
  readonly quorum: number;
  /** How many have given it so far. */
  readonly answers: number;
  /** Whether the caller is one of them. */
  readonly answered: boolean;
  readonly asked_at: string;
  /** When the run goes on without an answer. */
  readonly deadline?: string;
  /** The answer that counts then. */
  readonly default?: Json;
}

export interface QuestionsQuery extends Pick<Page, 'limit' | 'cursor'> {
  /** Questions of this agent alone. */
  readonly agent?: string;
  /** Those that wait longest come first, unless it is `deadline`. */
  readonly sort?: 'asked' | 'deadline';
}

export interface Questions extends Paged {
  readonly questions: readonly Question[];
  /** There are more than 10,000, or more than 500 of one owner. */
  readonly at_least?: true;
}

/** What an answer has come to: it takes more, the run goes on with it, or the answers differ and the run goes on without any. */
export interface AnsweredQuestion {
  readonly question_id: string;
  readonly status: 'waiting' | 'answered' | 'differs';
  readonly answers: number;
  readonly quorum: number;
}
